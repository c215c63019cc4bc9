"""What a process gives up by ordinary means: privileges, memory, files it could write, other programs' company."""

import ctypes
import os
import resource
import signal
from typing import Final

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_PARENT_DEATH_SIGNAL, _DUMPABLE, _NO_NEW_PRIVILEGES = 1, 4, 38  # <linux/prctl.h>
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000  # <linux/sched.h>
_CAPABILITIES_VERSION: Final = 0x20080522
_LEAST_MEMORY: Final = 6 << 30  # of addresses; torch alone takes about two


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def end_with(parent: int) -> None:
    """The kernel ends this process with the one that started it."""
    _checked(_LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL))
    if os.getppid() != parent:
        raise SystemExit  # it ended before we asked


def not_looked_into() -> None:
    """No process of the same user can read or write this one's memory."""
    _checked(_LIBC.prctl(_DUMPABLE, 0, 0, 0, 0))


def no_core() -> None:
    """What is in memory alone, such as keys of a round, is not written to a file when the process fails."""
    _limit(resource.RLIMIT_CORE, 0)


def no_new_privileges() -> None:
    _checked(_LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def no_capabilities() -> None:
    """Root is then a user like any other."""
    header, none = _Header(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capset(ctypes.byref(header), ctypes.byref(none)))


def own_network() -> None:
    """A network with nobody in it; a user's namespace of its own where only that may make one."""
    if _LIBC.unshare(_NEW_NETWORK | _NEW_IPC) < 0:
        _checked(_LIBC.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC))


def bounded(*, own_user: bool) -> None:
    """Nothing written to files, memory for half the machine; few threads, where the user is nobody else's."""
    memory = max(_LEAST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    _limit(resource.RLIMIT_AS, memory)
    for nothing in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE):
        _limit(nothing, 0)
    _limit(resource.RLIMIT_NOFILE, 256)
    if own_user:
        _limit(resource.RLIMIT_NPROC, 256)


def look_into(process: int) -> None:
    """Read nothing out of another's memory, to see whether that is allowed."""
    _checked(_LIBC.process_vm_readv(process, None, 0, None, 0, 0))


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (most, most))


def _checked(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
