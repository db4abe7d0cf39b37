"""Which seats this process calls agents for: it takes those that are free, and keeps saying that it holds them."""

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from playmolt_core.effects.callbacks.seats import HELD_SECONDS, SeatKey
from playmolt_core.ops.telemetry import log, where

from playmolt_gateway.callbacks.seat_calls import Caller, SeatCalls
from playmolt_gateway.ports import AWAY, Accounts, Callbacks, GatewayBus
from playmolt_gateway.request.checked_request import reason

_log = log("callbacks")
LOOK_SECONDS: Final = 0.5
SEATS: Final = 2_000
"""Seats that one process holds; the rest is left to others."""
_TAKEN_AT_ONCE: Final = 100
_RENEWED_BEFORE: Final = HELD_SECONDS * 2 / 3
_GIVEN_BACK_SECONDS: Final = 3.0


class Calling:
    def __init__(self, bus: GatewayBus, accounts: Accounts, callbacks: Callbacks, caller: Caller) -> None:
        self._bus = bus
        self._accounts = accounts
        self._callbacks = callbacks
        self._caller = caller
        self._seats: dict[SeatKey, Task[None]] = {}
        self._held_until = 0.0
        """When the first of the leases ends that nobody renews."""

    @asynccontextmanager
    async def under_way(self) -> AsyncIterator[None]:
        """Call agents while the body runs; then give the seats to others, calls under way among them."""
        looking = asyncio.create_task(self._look_forever())
        try:
            yield
        finally:
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await self._give_back()

    async def _look_forever(self) -> None:
        while True:
            try:
                await self.look()
            except AWAY as error:
                _log.warning("callbacks_away", detail=reason(error))
                self._let_go_in_time()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Go on holding what is held, and take what is free."""
        clock = asyncio.get_running_loop().time
        if not self._seats:
            self._held_until = clock() + HELD_SECONDS
        elif clock() > self._held_until - _RENEWED_BEFORE:
            asked_at = clock()
            held = await self._callbacks.hold()
            self._held_until = asked_at + HELD_SECONDS
            for key in self._seats.keys() - held:
                self._seats[key].cancel()
        room = min(SEATS - len(self._seats), _TAKEN_AT_ONCE)
        if room > 0:
            for key in await self._callbacks.claim(room):
                self._begin(key)

    def _begin(self, key: SeatKey) -> None:
        if (before := self._seats.get(key)) is not None:  # its lease had ended, and nobody took it meanwhile
            before.cancel()
        task = asyncio.create_task(self._call(key))
        self._seats[key] = task
        task.add_done_callback(lambda done: self._forget(key, done))

    def _forget(self, key: SeatKey, done: "Task[None]") -> None:
        if self._seats.get(key) is done:
            del self._seats[key]

    async def _call(self, key: SeatKey) -> None:
        try:
            await SeatCalls(self._bus, self._accounts, self._callbacks, self._caller, *key).run()
        except Exception as error:  # a bug: the other seats are called on, and this one again when its lease has ended
            _log.error("callback_failed", game=key[1], error=type(error).__name__, traceback=where(error))

    def _let_go_in_time(self) -> None:
        """Nobody could be told that the seats are held: others take them when the leases end."""
        if asyncio.get_running_loop().time() >= self._held_until:
            for task in self._seats.values():
                task.cancel()

    async def _give_back(self) -> None:
        held = dict(self._seats)
        for task in held.values():
            task.cancel()
        with suppress(TimeoutError, *AWAY):
            async with asyncio.timeout(_GIVEN_BACK_SECONDS):
                await asyncio.gather(*held.values(), return_exceptions=True)
                for key in held:
                    await self._callbacks.give_back(*key)
