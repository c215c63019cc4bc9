"""The relay beside a site's agent: Flower's SuperNode, whom it runs as, and the folder that is all it has of the site.

The folder holds the socket, the relay's own key and a copy of the server's authority; no key of a study and no record.
"""

from dataclasses import dataclass
from pathlib import Path

from sapefl_crypto.keys.certificates import make_node_key
from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.transport.flower import Child, Tls, free_port, relay_command
from secure_sapefl.transport.users import OtherUser


@dataclass(frozen=True, slots=True)
class RelayFolder:
    """``path`` is what ``user`` may enter; others do not even see the socket."""

    path: Path
    user: OtherUser

    @property
    def socket(self) -> Path:
        return self.path.absolute() / "agent.sock"

    def prepare(self) -> None:
        try:
            (self.path / "flower").mkdir(mode=0o700, parents=True, exist_ok=True)
            self.user.let_into(self.path)
            self.user.give(self.path / "flower")
        except OSError as error:
            raise OutputFailed(f"{self.path} cannot be made ready for the relay: {error.strerror}.") from None

    def relay(self, server: str, tls: Tls | None) -> Child:
        """The process with the SuperNode that connects to ``server``; not started yet."""
        near = None if tls is None else Tls(ca=self._authority(tls.ca))
        node_key = None if tls is None else self._node_key()
        command = relay_command(server, free_port(), self.socket, near, node_key)
        flower, log = self.path / "flower", self.path / "relay.log"
        return Child(command, flower, log, user=self.user.uid, group=self.user.gid)

    def _node_key(self) -> Path:
        """The relay's own key, made once; its public half, beside it, is for the coordinator to admit."""
        path = self.path / "node.key"
        if not path.exists():
            make_node_key(path)
        self.user.give(path)
        return path

    def _authority(self, ca: Path) -> Path:
        """A copy of the server's authority: where the site's owner keeps it, the relay may not be able to look."""
        copy = self.path / "ca.pem"
        try:
            copy.write_bytes(ca.read_bytes())
            copy.chmod(0o644)
        except OSError as error:
            raise BadInput(f"The authority {ca} cannot be read or copied to {copy}: {error.strerror}.") from None
        return copy
