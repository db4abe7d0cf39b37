"""A proxy of Postgres that can cut, delay or silence a connection at the moment of an append."""

import asyncio
import re
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Literal, Self

import msgspec

from core.tests.listening import carry, listening

_PARSED = re.compile(rb"(__asyncpg_\w+)\x00SELECT \* FROM log\.append\(")
"""Matches the preparation of the statement that appends; the group is the statement's name."""
Moment = Literal["before", "after"]
"""Before: the append does not reach Postgres. After: it is committed, but the caller gets no answer."""


class Trap(msgspec.Struct):
    """At the next append, run `act` and cut the connection, once."""

    moment: Moment
    act: Callable[[], None]
    sprung: threading.Event = msgspec.field(default_factory=threading.Event)


class Proxy:
    """Accepts connections on a port and forwards them to Postgres.

    It delays every message by `delay` seconds. While `silent`, it forwards nothing and closes nothing.
    """

    def __init__(self, target: int) -> None:
        self.port = 0
        self.delay = 0.0
        self.silent = threading.Event()
        self._target = target
        self._trap: Trap | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listening = AsyncExitStack()

    def set_trap(self, moment: Moment, act: Callable[[], None] = lambda: None) -> Trap:
        self._trap = Trap(moment, act)
        return self._trap

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._listening.aclose(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _listen(self) -> int:
        return await self._listening.enter_async_context(listening(self._lead))

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        link = _Link(self, writer, far_writer)
        await carry(far_writer, link.ask(reader), link.answer(far_reader))

    async def held_up(self) -> None:
        await asyncio.sleep(self.delay)
        while self.silent.is_set():
            await asyncio.sleep(0.02)

    def take_trap(self, moment: Moment) -> Trap | None:
        if self._trap is None or self._trap.moment != moment:
            return None
        trap, self._trap = self._trap, None
        return trap


class _Link:
    """One connection, in both directions."""

    def __init__(self, proxy: Proxy, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self._proxy, self._near, self._far = proxy, near, far
        self._appends: set[bytes] = set()
        self._armed: Trap | None = None

    async def ask(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._proxy.held_up()
                if self._appended(data):
                    if trap := self._proxy.take_trap("before"):
                        self._spring(trap)
                        return
                    self._armed = self._proxy.take_trap("after")
                self._far.write(data)
                await self._far.drain()
        self._far.close()

    async def answer(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                if self._armed:
                    self._spring(self._armed)
                    return
                await self._proxy.held_up()
                self._near.write(data)
                await self._near.drain()
        self._near.close()

    def _appended(self, data: bytes) -> bool:
        """Whether this data binds and executes the statement that appends."""
        bound = any(b"\x00%b\x00" % name in data for name in self._appends)
        self._appends.update(_PARSED.findall(data))
        return bound

    def _spring(self, trap: Trap) -> None:
        trap.act()
        self._near.transport.abort()
        self._far.transport.abort()
        trap.sprung.set()
