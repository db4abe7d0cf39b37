"""Child processes that never outlive their parent."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, Protocol

PYTHON: Final = (sys.executable, "-P")
"""Runs a module without the working directory on sys.path: a user's `queue.py` or `mcp.py` would shadow a library."""

UTF8: Final = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:replace"}
"""Files and logs are UTF-8, whatever the locale."""

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


def log_of(path: Path) -> BinaryIO:
    """Open a log for appending, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "ab", opener=_for_its_owner)


def _for_its_owner(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)  # an existing file may be readable by others
    return descriptor


def spawn(
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    fds: Sequence[int] = (),
    death_signal: int = signal.SIGKILL,
    user: int | None = None,
    group: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child whose output is appended to `log` and that gets `death_signal` when this process dies (Linux).

    Call it from a thread that outlives the child: the kernel watches the thread, not the process. The child has its own
    session, so that Ctrl-C reaches only the supervisor, which stops the children in order.
    """
    with log_of(log) as out:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**(os.environ if environment is None else environment), **UTF8},
            pass_fds=tuple(fds),
            cwd="/" if user is not None else None,
            user=user,
            group=group,
            extra_groups=[] if user is not None else None,
            start_new_session=True,
            preexec_fn=die_with(os.getpid(), death_signal),  # noqa: PLW1509 -- PDEATHSIG has to be set after setuid
        )


class Child(Protocol):
    """The interface shared by Popen and Fork."""

    def poll(self) -> int | None: ...
    def send_signal(self, signum: int, /) -> None: ...
    def kill(self) -> None: ...
    def wait(self, seconds: float, /) -> int: ...


def end(process: Child, signum: int, seconds: float) -> bool:
    """Send a signal and wait for the child to end; kill it after `seconds`. False if it was killed."""
    if process.poll() is not None:
        return True
    process.send_signal(signum)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(seconds)
        return False
    return True
