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
"""How a child runs a module of ours: without the folder that the command was given in, where a `queue.py` or `mcp.py`
of a person's own would be taken for the library of that name."""

UTF8: Final = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:replace"}
"""Files and logs are UTF-8 whatever the machine's locale says."""

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
# Loaded before any fork: between fork and exec nothing may be imported or allocated without need.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def die_with(parent: int, signum: int) -> Callable[[], None]:
    """What a new process calls, so that it gets a signal when its parent dies (Linux)."""

    def arm() -> None:
        if _libc is None:
            return
        _libc.prctl(_PR_SET_PDEATHSIG, signum, 0, 0, 0)
        if os.getppid() != parent:  # the parent died between fork and prctl: nobody would send the signal any more
            os._exit(1)

    return arm


def show_as(name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Have `top`, `ps` and /proc show this process as what it is and not as what it was forked of (Linux).

    They read the memory that the kernel wrote command and environment to. Nothing may look there any more.
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
    """A log to append to, for its owner's eyes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return open(path, "ab", opener=_for_its_owner)


def _for_its_owner(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)  # one of before may be open to all
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

    Call it from a thread that lives as long as the child shall: the kernel watches the thread, not the process. The
    child has a session of its own, so that Ctrl-C reaches the supervisor alone and it decides the order of stopping.
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
    """What a Popen and a fork have in common."""

    def poll(self) -> int | None: ...
    def send_signal(self, signum: int, /) -> None: ...
    def kill(self) -> None: ...
    def wait(self, seconds: float, /) -> int: ...


def end(process: Child, signum: int, seconds: float) -> bool:
    """Signal a child and wait for its end; kill it after `seconds`. False when it had to be killed."""
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
