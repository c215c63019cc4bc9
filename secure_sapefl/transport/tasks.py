"""Taking tasks from Flower, as its SuperExec does: whoever takes one proves with a secret that it may."""

from typing import Final

from flwr.proto.runtime_pb2 import AcquireTaskRequest, AcquireTaskResponse
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient

_ACQUIRE: Final = "/flwr.proto.Runtime/AcquireTask"
PAUSE_SECONDS: Final = 0.3  # between two looks at an empty list


def task_list(address: str, secret: bytes, authority: bytes | None = None) -> RuntimeHttpClient:
    """The list of tasks that a SuperLink or SuperNode keeps; over TLS where there is an authority."""
    proof = SuperExecAuthHttpInterceptor(master_secret=secret, protected_methods={_ACQUIRE})
    return RuntimeHttpClient.from_server_address(
        server_address=address,
        insecure=authority is None,
        root_certificates=authority,
        interceptors=[RuntimeVersionHttpInterceptor(component_name="SuperExec"), proof],
    )


def next_task(client: RuntimeHttpClient, kind: TaskType) -> AcquireTaskResponse | None:
    """Taken off the list, with the token that lets an app speak for it."""
    found = client.AcquireTask(AcquireTaskRequest(supported_task_types=[kind]))
    return found if found.HasField("task") else None
