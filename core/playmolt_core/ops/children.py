"""Child processes that never outlive their parent, and forks that look and end like programs of their own."""

import atexit
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
# Loaded before any fork: avoid imports and allocations between fork and exec.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with(parent: int, signum: int) -> Callable[[], None]:
    """A function for the new process to call: it then gets `signum` when its parent dies (Linux)."""

    def arm() -> None:
        if _libc is None:
            return
        _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # the parent died between fork and prctl, so no signal would come
            os._exit(1)

    return arm


def log_of(path: Path) -> BinaryIO:
    """Open a log for appending, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "ab", opener=_for_its_owner)


def _for_its_owner(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)  # an existing file may be readable by others
    return descriptor


def show_as(name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Make `top`, `ps` and /proc show this process by its own name, command and environment (Linux).

    They read the memory where the kernel placed the original command and environment; nothing else may use it.
    """
    if _libc is None:
        return
    _libc.prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
    fields = Path("/proc/self/stat").read_text("ascii").rpartition(") ")[2].split()
    command_from, command_to, environment_from, environment_to = map(int, fields[45:49])
    _overwrite(command_from, command_to, command)
    _overwrite(environment_from, environment_to, [f"{key}={value}" for key, value in environment.items()])


def _overwrite(first: int, last: int, texts: Iterable[str]) -> None:
    room = last - first
    written = b"".join(text.encode() + b"\0" for text in texts)[: room - 1]
    ctypes.memmove(first, written.ljust(room, b"\0"), room)


def leave(status: int) -> NoReturn:
    """End the process as the interpreter would, but without freeing everything that was imported.

    Freeing was most of the cost of ending.
    """
    threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 -- as multiprocessing ends its forks
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
