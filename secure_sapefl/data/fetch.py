"""Downloading what publishers offer: retried, resumed, checked, and only then given its name.

A file is received into ``<name>.part`` and renamed when its checksum fits, so a file under its own name is whole.
Where the publisher states no checksum, that of the first download is remembered beside the folder and any later
download must have the same.
"""

import errno
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from secure_sapefl.errors import BadInput, DataUnavailable, OutputFailed

ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.5  # seconds; doubles with every attempt
CHUNK: Final = 1 << 16
TIMEOUT: Final = 30.0
DISK_FAULTS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.ENOTDIR})
WORTH_RETRYING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})

Progress = Callable[[str, int, int | None], None]  # file name, bytes so far, bytes in all if known


class _Transient(Exception):
    """A failure that another attempt may cure."""


def no_progress(name: str, received: int, total: int | None) -> None:
    """For callers with nobody watching."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """Downloads into one folder."""

    folder: Path
    progress: Progress = no_progress
    pause: Callable[[float], None] = time.sleep

    def file(self, url: str, name: str, checksum: str | None) -> Path:
        """The verified file; ``checksum`` reads ``md5:…`` or ``sha256:…``, or None where none is published."""
        if not url.startswith(("http://", "https://")):
            raise BadInput(f"{name}: {url} is not an http or https address.")
        target = self.folder / name
        if target.exists() and _fits(target, checksum or _remembered(target)):
            return target
        part = target.with_name(f"{name}.part")
        for attempt in range(ATTEMPTS):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._receive(url, name, part)
                _verify(part, target, checksum)
                break
            except (_Transient, OSError, http.client.HTTPException) as error:
                if getattr(error, "errno", None) in DISK_FAULTS:
                    raise OutputFailed(
                        f"{part} cannot be written ({error}). Free space or set SAPEFL_CACHE."
                    ) from error
                if attempt == ATTEMPTS - 1 or not _curable(error):
                    raise DataUnavailable(f"{name} could not be downloaded from {url}: {_reason(error)}.") from error
                self.pause(FIRST_PAUSE * 2**attempt)
        part.replace(target)
        return target

    def _receive(self, url: str, name: str, part: Path) -> None:
        """Append what is missing to the partial file, from where the last attempt stopped if the server can."""
        have = part.stat().st_size if part.exists() else 0
        request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310 (as below)
        with _open(request, part) as reply:
            resumed = reply.status == http.HTTPStatus.PARTIAL_CONTENT
            received = have if resumed else 0
            length = reply.headers.get("Content-Length")
            total = None if length is None else received + int(length)
            with part.open("ab" if resumed else "wb") as file:
                while chunk := reply.read(CHUNK):
                    file.write(chunk)
                    received += len(chunk)
                    self.progress(name, received, total)
        if total is not None and received < total:
            raise _Transient(f"the connection ended after {received:,} of {total:,} bytes")


def _open(request: urllib.request.Request, part: Path) -> Any:
    try:
        return urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310 (the scheme is checked in `file`)
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        part.unlink(missing_ok=True)
        raise _Transient("the partial file did not fit and was dropped") from error


def _verify(part: Path, target: Path, checksum: str | None) -> None:
    expected = checksum or _remembered(target)
    if expected is None:
        _pin(target).write_text(_digest(part, "sha256"))
    elif not _fits(part, expected):
        kind = expected.partition(":")[0]
        found = _digest(part, kind)
        part.unlink()
        hint = "" if checksum else f"; it differs from the first download, delete {_pin(target)} if that is meant"
        raise _Transient(f"its checksum is {found}, expected {expected}{hint}")


def _pin(target: Path) -> Path:
    return target.parent.with_name(f"{target.name}.sha256")


def _remembered(target: Path) -> str | None:
    pin = _pin(target)
    return pin.read_text().strip() if pin.exists() else None


def _fits(path: Path, checksum: str | None) -> bool:
    return checksum is not None and _digest(path, checksum.partition(":")[0]) == checksum


def _digest(path: Path, kind: str) -> str:
    with path.open("rb") as file:
        return f"{kind}:{hashlib.file_digest(file, kind).hexdigest()}"


def _curable(error: Exception) -> bool:
    return not isinstance(error, urllib.error.HTTPError) or error.code in WORTH_RETRYING


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"no connection ({error.reason})"
    return str(error) or type(error).__name__
