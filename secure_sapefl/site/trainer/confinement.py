"""What keeps carried code in its process. Everything the system has is asked for; then it is tried what really holds.

Nothing here imports more than the standard library: a process confines itself before it has other threads, and
before it reads a line of code or a record.
"""

import os
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from secure_sapefl.site.trainer import landlock, limits, seccomp

NEEDED: Final = ("files", "network", "processes", "memory of others")
"""What must hold before carried code runs at a site whose policy says no more about it."""

MEANS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "files": "no file can be read but Python's own libraries, and none written",
        "network": "no socket can be opened",
        "processes": "no process or program can be started",
        "memory of others": "no other process can be read, written or signalled",
        "own network": "a network of its own with nobody in it",
        "no privileges": "no privilege of root, and none to be gained",
        "limits": "bounds on memory, and nothing written to files",
        "other user": "a user of its own",
    }
)
_LOADER: Final = ("/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_MACHINE: Final = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu", "/dev/null", "/dev/urandom")


def missing_here() -> tuple[str, ...]:
    """What the system lacks for `NEEDED`, in words, before any process is started."""
    lacks = ("Landlock, in the kernel since 5.13",) if not landlock.version() else ()
    return lacks if seccomp.is_here() else (*lacks, "libseccomp")


def readable() -> tuple[Path, ...]:
    """What the interpreter and its libraries consist of."""
    import sapefl_crypto
    import secure_sapefl

    ours = [Path(str(package.__file__)).parent for package in (secure_sapefl, sapefl_crypto)]
    installed = [Path(path) for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    standard = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    return tuple(dict.fromkeys((*ours, *installed, *standard, *map(Path, (*_LOADER, *_MACHINE)))))


def within_reach(path: Path) -> Path | None:
    """Which of the folders that carried code can read ``path`` lies in; None where that is none."""
    whole = path.resolve()
    return next((folder for folder in readable() if whole.is_relative_to(folder.resolve())), None)


def confine(kept: Path, *, own_user: bool) -> tuple[str, ...]:
    """Ask for everything; the names of what holds now, as keys of `MEANS`. This process is never free again.

    ``kept`` is what must not be read any more: the site's folder.
    """
    held, paths = ["other user"] if own_user else [], readable()
    steps: tuple[tuple[str | None, Callable[[], None]], ...] = (
        ("own network", limits.own_network),
        ("limits", lambda: limits.bounded(own_user=own_user)),
        (None, limits.no_new_privileges),
        ("no privileges", limits.no_capabilities),
        (None, lambda: landlock.leave_only(paths)),
        (None, seccomp.leave_only_these),
    )
    for name, step in steps:
        with suppress(OSError):  # what the system lacks; the trials below say what follows
            step()
            held += [] if name is None else [name]
    return (*_tried(kept), *held)


def _tried(kept: Path) -> Iterator[str]:
    trials: Mapping[str, tuple[Callable[[], object], ...]] = {
        "files": (lambda: os.scandir(kept).close(),),
        "network": (lambda: socket.socket(socket.AF_UNIX).close(), lambda: socket.socket(socket.AF_INET).close()),
        "processes": (_start_a_process,),
        "memory of others": (lambda: os.kill(os.getppid(), 0), lambda: limits.look_into(os.getppid())),
    }
    for name, attempts in trials.items():
        if all(map(_refused, attempts)):
            yield name


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (PermissionError, FileNotFoundError):
        return True
    return False


def _start_a_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)  # not an exception: nothing of this process may go on twice
    os.waitpid(child, 0)
