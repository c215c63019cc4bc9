"""The Flower ClientApp at a site: carries parts to the agent's socket and its answer back. It holds no key and no data.

Flower ships app code to nodes and runs it as the relay's user. So this file, or whatever is sent in its place, can do
no more than its user can: knock on the socket.
"""

from pathlib import Path

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from secure_sapefl.transport.agent_socket import ask
from secure_sapefl.transport.flower_message import content_of, parts_of

app = ClientApp()


@app.query()
def forward(message: Message, context: Context) -> Message:
    """The agent's answer; an empty message where there is no agent, or it refuses."""
    parts = parts_of(message)
    answer = None if parts is None else _asked(Path(str(context.node_config["socket"])), parts)
    return Message(RecordDict() if answer is None else content_of(answer), reply_to=message)


def _asked(socket: Path, parts: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
    try:
        return ask(socket, parts)
    except OSError:
        return None
