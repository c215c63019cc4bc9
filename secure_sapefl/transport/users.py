"""Another user of the machine, for a process that is to have nothing of ours."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from secure_sapefl.errors import BadInput


@dataclass(frozen=True, slots=True)
class OtherUser:
    """Whom a process runs as: another user where one is named, else this one."""

    uid: int | None = None
    gid: int | None = None

    @classmethod
    def named(cls, name: str | None, what: str = "the relay") -> "OtherUser":
        """``what`` stands in errors."""
        if name is None:
            return cls()
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise BadInput(f"There is no user {name!r} here to run {what} as; make one, or leave it out.") from None
        if os.geteuid() != 0:
            raise BadInput(f"Only root can start {what} as another user; see the systemd units for another way.")
        return cls(found.pw_uid, found.pw_gid)

    def give(self, path: Path) -> None:
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def let_into(self, folder: Path) -> None:
        """Past a folder that stays ours. One that was given away would shut out a root without its powers over files,
        as units and containers have it."""
        folder.chmod(0o700 if self.gid is None else 0o710)
        if self.gid is not None:
            os.chown(folder, -1, self.gid)
