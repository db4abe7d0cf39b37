"""Streams followed by several processes, a verifier in each, so that hashing and folding take every core."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import msgspec

from playmolt_core.game.decider import Decider
from playmolt_core.log.port import LogEntry
from playmolt_core.log.verify import Taken, Verifier

DecidersOf = Callable[[], Mapping[str, Decider[Any]]]

_write = msgspec.json.Encoder().encode
_read = msgspec.json.Decoder(list[LogEntry]).decode
_verifier: Verifier
"""That of a process that follows."""


def _begin(deciders_of: DecidersOf) -> None:
    global _verifier  # noqa: PLW0603 -- a process is given work by name, and keeps what it knows here
    _verifier = Verifier(deciders_of())


def _follow(entries: bytes) -> Taken:
    for entry in _read(entries):
        _verifier.take(entry.record, closes=entry.closes)
    return _verifier.hand_over()


def _finish() -> Taken:
    return _verifier.hand_over(rest=True)


class Followers:
    """Processes that follow streams, each always the same ones; `deciders_of` is called in every one of them."""

    def __init__(self, deciders_of: DecidersOf, count: int) -> None:
        self._deciders_of = deciders_of
        self._count = count
        self._processes: list[ProcessPoolExecutor] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        # Not forked: a loop and its threads are running here.
        for _ in range(self._count):
            pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=_begin, initargs=(self._deciders_of,))
            self._processes.append(self._stack.enter_context(pool))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stack.close()

    def follow(self, entries: Sequence[LogEntry]) -> "asyncio.Future[list[Taken]]":
        """Hand records on; the future gives what they came to."""
        theirs: list[list[LogEntry]] = [[] for _ in self._processes]
        for entry in entries:
            theirs[crc32(entry.record.stream.encode()) % self._count].append(entry)
        handed = zip(self._processes, theirs, strict=True)
        return _all(process.submit(_follow, _write(some)) for process, some in handed if some)

    async def finish(self) -> list[Taken]:
        """What the streams came to that have not ended."""
        return await _all(process.submit(_finish) for process in self._processes)


def _all(under_way: "Iterable[Future[Taken]]") -> "asyncio.Future[list[Taken]]":
    return asyncio.gather(*map(asyncio.wrap_future, under_way))
