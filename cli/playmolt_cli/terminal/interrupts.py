"""Being asked to stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopping() -> Iterator[None]:
    """Let SIGTERM unwind as Ctrl-C does, so that nothing is left behind."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
