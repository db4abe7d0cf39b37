"""The folder for temporary files of tests, and the folder that the workers of one run share."""

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 -- only folders with names of their own are made there
_ENOUGH = 6 << 30
_GIVEN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
RUN = _GIVEN or uuid.uuid4().hex


def _use_memory() -> None:
    """Keep temporary files in memory if there is room: tests create many small databases and soon delete them.

    If TMPDIR is set, it is used instead.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir():
        return
    status = os.statvfs(_MEMORY)
    if status.f_bavail * status.f_frsize >= _ENOUGH and not status.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)


_use_memory()
at_end = ExitStack()
"""Callbacks at the end of a worker's run."""
SHARED = Path(tempfile.gettempdir()) / f"playmolt-run-{RUN}"


@contextmanager
def alone() -> Iterator[None]:
    """Hold the lock that all workers share."""
    SHARED.mkdir(mode=0o755, exist_ok=True)
    with (SHARED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a shared folder. The first worker that asks for it fills it with `make`."""
    folder = SHARED / name
    with alone():
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(dir=SHARED))
            unfinished.chmod(0o755)
            make(unfinished)
            unfinished.rename(folder)
    return folder


def remove_shared() -> None:
    """Remove the shared folder. Only the process that started the run does it."""
    if not _GIVEN:
        shutil.rmtree(SHARED, ignore_errors=True)
