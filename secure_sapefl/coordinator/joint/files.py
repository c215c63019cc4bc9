"""What the server keeps on disk of an open round with joint keys. Nothing of it can be opened here.

open/attempt.json     the round, and the last attempt at it that was begun
open/frames/SITE      what came; memory holds one at a time
open/shares/A/B       what A sealed for B
open/claim            the round's sum and claim, from the moment the committee is asked to sign it
open/able.json        which members hold all shares of it

An attempt is counted before its first message goes out: after a crash there is another one. Once there is a claim there
is none: members sign one claim a round, so the server goes on with the one it has.
"""

import json
import shutil
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from secure_sapefl.protocol.joint.adder import FrameStore
from secure_sapefl.protocol.joint.legs import ShareStore
from secure_sapefl.protocol.messages import RoundOutcome, SiteId
from secure_sapefl.storage.files import make_private_folder, write_private
from secure_sapefl.storage.parts import from_bytes, to_bytes
from secure_sapefl.transport.heads.rounds import outcome_of, outcome_parts

Key = TypeVar("Key")


class Blobs(MutableMapping[Key, bytes]):
    """Bytes in files of a folder, by the path that follows from their key."""

    def __init__(self, folder: Path, place: Callable[[Key], str]) -> None:
        self._folder, self._place = folder, place
        self._keys: dict[Key, None] = {}

    def __getitem__(self, key: Key) -> bytes:
        if key not in self._keys:
            raise KeyError(key)
        return self._path(key).read_bytes()

    def __setitem__(self, key: Key, content: bytes) -> None:
        path = self._path(key)
        make_private_folder(path.parent)
        write_private(path, content)
        self._keys[key] = None

    def __delitem__(self, key: Key) -> None:
        del self._keys[key]
        self._path(key).unlink()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def _path(self, key: Key) -> Path:
        return self._folder / self._place(key)


def _in_turn(key: tuple[SiteId, SiteId]) -> str:
    return "/".join(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingClaim:
    """A sum that the committee was asked to open before the server was started anew."""

    summed: RoundOutcome
    attempt: int
    able: tuple[SiteId, ...]


class OpenRoundFiles:
    """``folder`` is of the server's state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "open"

    def next_attempt(self, round_index: int) -> int:
        """Counted on disk before this returns; what came in the attempt before goes."""
        last = self._last()
        attempt = last["attempt"] + 1 if last["round"] == round_index else 0
        self.clear()
        make_private_folder(self._folder)
        self._write("attempt.json", json.dumps({"round": round_index, "attempt": attempt}).encode())
        return attempt

    def stores(self, round_index: int) -> tuple[FrameStore, ShareStore]:  # noqa: ARG002 - one round is open at a time
        return Blobs(self._folder / "frames", str), Blobs(self._folder / "shares", _in_turn)

    def keep_claim(self, summed: RoundOutcome, able: tuple[SiteId, ...]) -> None:
        """Before the first member sees it."""
        self._write("able.json", json.dumps(able).encode())
        self._write("claim", to_bytes(outcome_parts(summed)))

    def pending(self, round_index: int) -> PendingClaim | None:
        last, path = self._last(), self._folder / "claim"
        if last["round"] != round_index or not path.exists():
            return None
        able = tuple(json.loads((self._folder / "able.json").read_bytes()))
        summed = outcome_of(from_bytes(path.read_bytes()))
        return PendingClaim(summed=summed, attempt=last["attempt"], able=able)

    def clear(self) -> None:
        """What came goes; the number of the last attempt stays until there is another."""
        for name in ("claim", "able.json"):
            (self._folder / name).unlink(missing_ok=True)
        for name in ("frames", "shares"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _last(self) -> dict[str, Any]:
        path = self._folder / "attempt.json"
        return dict(json.loads(path.read_bytes())) if path.exists() else {"round": -1, "attempt": -1}

    def _write(self, name: str, content: bytes) -> None:
        write_private(self._folder / name, content)
