"""One change of a folder's files at a time, over all processes."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

WAIT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.02
_FILE: Final = ".changing"


@contextmanager
def locked(folder: Path, *, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold a folder while a file in it is read, changed and replaced.

    The lock is on a file of its own, because a file that is replaced takes its lock along. That file stays.
    Raises OSError, also if another process holds the folder for longer than `seconds`.
    """
    descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _hold(descriptor, folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(descriptor)


def _hold(descriptor: int, folder: Path, end: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                what = "another command is changing its files. Wait until that has ended, then run this command again"
                raise TimeoutError(errno.ETIMEDOUT, what, str(folder)) from None
            time.sleep(_LOOK_SECONDS)
        else:
            return
