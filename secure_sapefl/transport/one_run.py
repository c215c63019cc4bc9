"""Becomes the ServerApp of one run of Flower's, and of no other.

Flower's own SuperExec executes whatever was submitted to the SuperLink. It is not started; this takes its place. Tasks
of other runs are taken off the list and left to lie. What Flower's program needs is imported before: a task that was
taken and gives no sign of life for half a minute is lost.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from flwr.proto.runtime_pb2 import AcquireTaskRequest
from flwr.supercore.constant import TaskType
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor, SuperExecAuthHttpInterceptor
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.superlink.cli.flwr_serverapp import flwr_serverapp

_PATIENCE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.3
_ACQUIRE: Final = "/flwr.proto.Runtime/AcquireTask"


def token_of(client: RuntimeHttpClient, run: int, seconds: float = _PATIENCE_SECONDS) -> str | None:
    """What lets a ServerApp speak for the run; None where its task does not turn up."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = client.AcquireTask(AcquireTaskRequest(supported_task_types=[TaskType.SERVER_APP]))
        if not found.HasField("task"):
            time.sleep(_PAUSE_SECONDS)
        elif found.task.run_id == run:
            return str(found.token)
    return None


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    authority = None if options.authority is None else options.authority.read_bytes()
    signing = SuperExecAuthHttpInterceptor(master_secret=options.secret.read_bytes(), protected_methods={_ACQUIRE})
    client = RuntimeHttpClient.from_server_address(
        server_address=options.superlink,
        insecure=authority is None,
        root_certificates=authority,
        interceptors=[RuntimeVersionHttpInterceptor(component_name="SuperExec"), signing],
    )
    token = token_of(client, options.run)
    client.close()
    if token is None:
        sys.exit(f"The SuperLink has no task of run {options.run}.")
    line = ["--insecure"] if authority is None else ["--root-certificates", str(options.authority)]
    sys.argv = ["flwr-serverapp", "--runtime-api-address", options.superlink, "--token", token, *line]
    flwr_serverapp()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="secure_sapefl.transport.one_run", description="Becomes the ServerApp of one run."
    )
    parser.add_argument("--run", type=int, required=True)
    parser.add_argument("--superlink", required=True)
    parser.add_argument("--secret", type=Path, required=True)
    parser.add_argument("--authority", type=Path)
    return parser


if __name__ == "__main__":
    main()
