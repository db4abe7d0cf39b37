"""Child processes that never outlive their parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from playmolt_core.ops.children import die_with, log_of

PYTHON: Final = (sys.executable, "-P")
"""Runs a module without the working directory on sys.path: a user's `queue.py` or `mcp.py` would shadow a library."""

UTF8: Final = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8:replace"}
"""Files and logs are UTF-8, whatever the locale."""


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
