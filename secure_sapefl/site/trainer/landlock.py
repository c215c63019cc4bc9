"""Landlock: a process gives up all files but those it names, for good. Three system calls, from <linux/landlock.h>.

Written out because no kept library does it; the kernel's own documentation (userspace-api/landlock) has these steps.
Rights a kernel does not know are left out of what it is asked for: it refuses what it does not know, and what is not
asked for is not restricted. `confinement` therefore tries what holds and does not believe this file.
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_FILE_RIGHTS: Final = ((1, 13), (2, 14), (3, 15), (5, 16))
"""Since which version of the interface, how many rights on files there are: the lowest bits."""
_NETWORK_RIGHTS: Final = 0b11  # to bind and to connect TCP, since version 4
_SCOPES: Final = 0b11  # abstract sockets and signals to processes outside, since version 6
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Of the kernel's interface; 0 where there is none, or it was not switched on."""
    found: int = _LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    return max(found, 0)


def leave_only(readable: Iterable[Path]) -> None:
    """From now on this thread, and all it starts, reads what is ``readable``, and writes and executes nothing.

    Call it before there are other threads, and after `no_new_privileges`.
    """
    known = version()
    if not known:
        raise OSError("this kernel has no Landlock")
    rules = _Ruleset(
        files=(1 << max(count for since, count in _FILE_RIGHTS if since <= known)) - 1,
        network=_NETWORK_RIGHTS if known >= 4 else 0,
        scopes=_SCOPES if known >= 6 else 0,
    )
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    ruleset = _checked(_LIBC.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0))
    try:
        for path in readable:
            _allow(ruleset, path)
        _checked(_LIBC.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there cannot be read either
    try:
        rights = _READ_FILE | (_READ_DIR if path.is_dir() else 0)
        beneath = _Beneath(allowed=rights, folder=folder)
        _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0))
    finally:
        os.close(folder)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {os.strerror(number)}")
    return result
