"""Seccomp: a process gives up all system calls but those it names, for good. Through libseccomp, which knows their
numbers on each architecture and comes with Debian, Ubuntu and Fedora.

What is not on the list is answered with "operation not permitted": no socket of any kind, no other process, no program,
no look into or signal to another process, no mount, no key ring, no asynchronous rings that go around the list.
"""

import ctypes
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_EQUAL, _MASKED_EQUAL = 4, 7
_ALL_THREADS: Final = 4  # SCMP_FLTATR_CTL_TSYNC
_CLONE_THREAD: Final = 0x00010000
_NAME_OF_LIBRARY: Final = "libseccomp.so.2"
_NO_SUCH: Final = -1  # __NR_SCMP_ERROR

MEMORY: Final = "brk madvise mincore mlock mlock2 mmap mprotect mremap msync munlock munmap"
FILES: Final = (
    "access close close_range dup dup2 dup3 faccessat faccessat2 fadvise64 fstat fstatfs getcwd getdents "
    "getdents64 lseek lstat newfstatat open openat pipe pipe2 poll ppoll pread64 preadv pselect6 read readlink "
    "readlinkat readv select stat statfs statx umask write writev"
)
TIME: Final = "clock_getres clock_gettime clock_nanosleep gettimeofday nanosleep time times"
ITSELF: Final = (
    "arch_prctl exit exit_group futex futex_waitv get_mempolicy get_robust_list getcpu getegid geteuid getgid "
    "getgroups getpgid getpgrp getpid getppid getpriority getrandom getrlimit getrusage getsid gettid getuid "
    "membarrier restart_syscall riscv_flush_icache rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn "
    "rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler "
    "sched_yield set_robust_list set_tid_address sigaltstack sysinfo uname"
)


@dataclass(frozen=True, slots=True)
class _When:
    """A call is allowed where its argument has this value, of the bits in ``mask`` where one is given."""

    argument: int
    value: int
    mask: int | None = None


class _Comparison(ctypes.Structure):
    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def _conditions() -> Mapping[str, tuple[_When, ...]]:
    """Calls that are harmless with some arguments only; each condition is enough by itself."""
    me = os.getpid()
    names = (15, 16, 0x53564D41)  # a thread's name, and that of a piece of memory
    on_files = (0, 1, 2, 3, 4, 1030)  # copies and flags of open files, never whom they send signals to
    return {
        "clone": (_When(0, _CLONE_THREAD, _CLONE_THREAD),),  # a thread, never a process
        "prctl": tuple(_When(0, what) for what in names),
        "fcntl": tuple(_When(1, what) for what in on_files),
        "prlimit64": (_When(0, 0), _When(0, me)),
        "kill": (_When(0, me),),
        "tgkill": (_When(0, me),),
        "ioctl": (_When(1, 0x5401), _When(1, 0x5413)),  # is it a terminal, and how wide
    }


def is_here() -> bool:
    try:
        return bool(_library())
    except OSError:
        return False


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(_NAME_OF_LIBRARY)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = (ctypes.c_uint32,)
    library.seccomp_load.argtypes = library.seccomp_release.argtypes = (ctypes.c_void_p,)
    library.seccomp_attr_set.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32)
    library.seccomp_rule_add_array.argtypes = (
        *(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint),
        ctypes.POINTER(_Comparison),
    )
    library.seccomp_syscall_resolve_name.argtypes = (ctypes.c_char_p,)
    return library


def leave_only_these() -> None:
    """From now on this process makes the system calls above and no others. After `no_new_privileges`."""
    library = _library()
    context = library.seccomp_init(_ERRNO | errno.EPERM)
    if not context:
        raise OSError("libseccomp cannot begin a filter")
    try:
        _checked(library.seccomp_attr_set(context, _ALL_THREADS, 1))
        for name in f"{MEMORY} {FILES} {TIME} {ITSELF}".split():
            _add(library, context, _ALLOW, name)
        for name, conditions in _conditions().items():
            for condition in conditions:
                _add(library, context, _ALLOW, name, condition)
        _add(library, context, _ERRNO | errno.ENOSYS, "clone3")  # its flags cannot be seen; libc then asks for clone
        _checked(library.seccomp_load(context))
    finally:
        library.seccomp_release(context)


def _add(library: ctypes.CDLL, context: int, action: int, name: str, when: _When | None = None) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number == _NO_SUCH:
        return  # not of this architecture, or newer than the library
    comparison = None if when is None else _compared(when)
    count = 0 if comparison is None else 1
    _checked(library.seccomp_rule_add_array(context, action, number, count, comparison))


def _compared(when: _When) -> _Comparison:
    if when.mask is None:
        return _Comparison(when.argument, _EQUAL, when.value, 0)
    return _Comparison(when.argument, _MASKED_EQUAL, when.mask, when.value)


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(-result, f"seccomp: {os.strerror(-result)}")
