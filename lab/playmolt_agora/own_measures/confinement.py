"""A filter of system calls for the process of a measure: no new file, no connection, no process, by the kernel's word.

Native code of a library writes and connects without Python hearing of it. Where the kernel or the machine knows no such
filter, only the guard in Python and the limits remain.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Mapping
from typing import Any

Line = tuple[int, int, int, int]

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_THREAD = 0x00010000
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2

# socket, execve, execveat, ptrace, io_uring_setup, and whatever changes what a folder holds
_NUMBERS: Mapping[str, Mapping[str, object]] = {
    "x86_64": {
        "arch": 0xC000003E, "openat": 257, "open": 2, "clone": 56, "unknown": (435, 437),
        "refused": (41, 57, 58, 59, 322, 101, 425, 76, 82, 83, 84, 85, 86, 87, 88, 258, 263, 264, 265, 266, 316),
    },
    "aarch64": {
        "arch": 0xC00000B7, "openat": 56, "open": None, "clone": 220, "unknown": (435, 437),
        "refused": (198, 221, 281, 117, 425, 34, 35, 36, 37, 38, 45, 276),
    },
}  # fmt: skip


def confine() -> bool:
    """Let the kernel refuse what a measure may not do; gives whether it does."""
    numbers = _NUMBERS.get(platform.machine())
    if numbers is None or sys.platform != "linux":
        return False
    program = b"".join(struct.pack("HBBI", *line) for line in _program(numbers))
    held = ctypes.create_string_buffer(program)

    class _Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    given = _Program(len(program) // 8, ctypes.cast(held, ctypes.c_void_p))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return int(prctl(_SET_SECCOMP, _FILTER, ctypes.byref(given), 0, 0)) == 0


def _program(numbers: Mapping[str, Any]) -> list[Line]:
    """The filter, a line an instruction: operation, steps if true, steps if false, value."""
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, numbers["arch"]), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    for number in numbers["refused"]:
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in numbers["unknown"]:
        # A caller that finds them missing falls back to the call whose arguments a filter can read.
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    for number, flags in ((numbers["openat"], 2), (numbers["open"], 1)):
        if number is not None:
            lines += _refused_if(number, flags, WRITING, wanted=True)
    lines += _refused_if(numbers["clone"], 0, _THREAD, wanted=False)
    return [*lines, (_RETURN, 0, 0, _ALLOW)]


def _refused_if(number: int, argument: int, bits: int, *, wanted: bool) -> list[Line]:
    """Refuse a call by whether one of the bits of an argument is set."""
    hit, miss = (0, 1) if wanted else (1, 0)
    return [
        (_EQUAL, 0, 4, number),
        (_LOAD, 0, 0, 16 + 8 * argument),
        (_SET, hit, miss, bits),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
