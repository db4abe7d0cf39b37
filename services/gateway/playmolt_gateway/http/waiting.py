"""Waits that end early: when the client goes, and when the gateway is told to stop."""

import asyncio
from asyncio import Future, Task
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from playmolt_core.bus.port import Watch
from starlette.types import Receive

OPEN_WAITS: Final = 10_000
"""Long polls and streams that one gateway keeps open; more are told to come back."""


class _Versioned(msgspec.Struct):
    version: int


version_of: Final = msgspec.json.Decoder(_Versioned).decode
"""Reads the version of a state or a public message."""


async def wait_for_newer(watch: Watch, version: int, seconds: float) -> None:
    """Return when a watch tells of something newer than `version`, or of a gap, or after `seconds`."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while message := await watch.next(end - clock()):
        if version_of(message).version > version:
            return


class Closing:
    """Whether the gateway stops, and what waits until then."""

    def __init__(self) -> None:
        self.closed = False
        self._waits: set[Future[None]] = set()

    def close(self) -> None:
        self.closed = True
        for wait in self._waits:
            if not wait.done():
                wait.set_result(None)

    def add(self, wait: "Future[None]") -> None:
        self._waits.add(wait)
        if self.closed and not wait.done():
            wait.set_result(None)

    def remove(self, wait: "Future[None]") -> None:
        self._waits.discard(wait)

    @property
    def full(self) -> bool:
        return len(self._waits) >= OPEN_WAITS

    def __len__(self) -> int:
        return len(self._waits)


class LongPoll:
    """One client's wait. `over` is set once nobody waits any more or the gateway stops."""

    def __init__(self, receive: Receive, closing: Closing) -> None:
        self._receive = receive
        self._closing = closing
        self.gone = False
        """Whether the client has gone."""

    async def __aenter__(self) -> Self:
        self._end: Future[None] = asyncio.get_running_loop().create_future()
        self._closing.add(self._end)
        self._listener: Task[None] = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.remove(self._end)
        self._listener.cancel()
        with suppress(asyncio.CancelledError):
            await self._listener

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        if not self._end.done():
            self._end.set_result(None)

    @property
    def over(self) -> bool:
        return self._end.done()

    async def first(self, waits: Iterable[Coroutine[Any, Any, Any]], seconds: float) -> None:
        """Return when the first of the waits is done, the time is up, or `over`. The other waits are cancelled."""
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            await asyncio.wait([*tasks, self._end], timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
