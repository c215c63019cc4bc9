"""The relay beside a site's agent: Flower's SuperNode, whom it runs as, and the folder that is all it has of the site.

The folder holds the socket, the relay's own key and a copy of the server's authority; no key of a study and no record.
"""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from sapefl_crypto.keys.certificates import make_node_key
from secure_sapefl.errors import BadInput, OutputFailed
from secure_sapefl.transport.flower import Child, Tls, free_port, supernode_command


@dataclass(frozen=True, slots=True)
class RelayUser:
    """Whom the relay runs as: another user where one is named, else this one."""

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def named(cls, name: str | None) -> "RelayUser":
        if name is None:
            return cls()
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise BadInput(f"There is no user {name!r} here to run the relay as; make one, or leave it out.") from None
        if os.geteuid() != 0:
            raise BadInput("Only root can start the relay as another user; see the systemd units for another way.")
        return cls(found.pw_uid, found.pw_gid)

    def give(self, path: Path) -> None:
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


@dataclass(frozen=True, slots=True)
class RelayFolder:
    """``path`` is what ``user`` may enter; others do not even see the socket."""

    path: Path
    user: RelayUser

    @property
    def socket(self) -> Path:
        return self.path.absolute() / "agent.sock"

    def prepare(self) -> None:
        gid = self.user.gid
        try:
            (self.path / "flower").mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700 if gid is None else 0o710)
            if gid is not None:
                os.chown(self.path, -1, gid)
            self.user.give(self.path / "flower")
        except OSError as error:
            raise OutputFailed(f"{self.path} cannot be made ready for the relay: {error.strerror}.") from None

    def relay(self, server: str, tls: Tls | None) -> Child:
        """The SuperNode that connects to ``server``; not started yet."""
        near = None if tls is None else Tls(ca=self._authority(tls.ca))
        node_key = None if tls is None else self._node_key()
        command = supernode_command(server, free_port(), self.socket, near, node_key)
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
