"""Leases seats with callbacks for this process and runs their calls."""

import asyncio
from asyncio import Task
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from playmolt_core.effects.callbacks.client import CallbackAnswer
from playmolt_core.effects.callbacks.faults import CallbackFailure
from playmolt_core.effects.callbacks.seats import HELD_SECONDS, SeatKey
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log, where

from playmolt_gateway.access.owners import OwnerNames
from playmolt_gateway.callbacks.seat_calls import SeatCalls, ServerClient
from playmolt_gateway.ports import UNAVAILABLE_ERRORS, Accounts, Callbacks, GatewayBus
from playmolt_gateway.request.checked_request import reason

_log = log("callbacks")
POLL_SECONDS: Final = 0.5
SEATS: Final = 2_000
"""The maximum of seats that one process leases."""
_TAKEN_AT_ONCE: Final = 100
_RENEWED_BEFORE: Final = HELD_SECONDS * 2 / 3
_GIVEN_BACK_SECONDS: Final = 3.0


class NamingClient:
    """Adds the names of owners to the calls of a client."""

    def __init__(self, client: ServerClient, names: OwnerNames) -> None:
        self._client = client
        self._names = names

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure:
        return await self._client.call(url, secret, await self._names.named(body), key, seconds)


class SeatScheduler:
    def __init__(self, bus: GatewayBus, accounts: Accounts, callbacks: Callbacks, caller: ServerClient) -> None:
        self._bus = bus
        self._accounts = accounts
        self._callbacks = callbacks
        self._caller = caller
        self._seats: dict[SeatKey, Task[None]] = {}
        self._held_until = 0.0
        """When the leases end unless they are renewed."""

    @asynccontextmanager
    async def under_way(self) -> AsyncIterator[None]:
        """Call agents while the body runs; then cancel the calls and release the seats."""
        polling = asyncio.create_task(self._poll_forever())
        try:
            yield
        finally:
            polling.cancel()
            with suppress(asyncio.CancelledError):
                await polling
            await self._give_back()

    async def _poll_forever(self) -> None:
        while True:
            try:
                await self.poll()
            except UNAVAILABLE_ERRORS as error:
                _log.warning("callbacks_away", detail=reason(error))
                self._cancel_expired()
            await next_tick(POLL_SECONDS)

    async def poll(self) -> None:
        """Renew the leases and claim free seats."""
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
        if (before := self._seats.get(key)) is not None:  # its lease had expired and was claimed again
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
        except Exception as error:  # a bug: other seats continue, and this one is retried when its lease expires
            _log.error("callback_failed", game=key[1], error=type(error).__name__, traceback=where(error))

    def _cancel_expired(self) -> None:
        """Cancel all calls once the leases have expired without renewal: other processes may claim the seats."""
        if asyncio.get_running_loop().time() >= self._held_until:
            for task in self._seats.values():
                task.cancel()

    async def _give_back(self) -> None:
        held = dict(self._seats)
        for task in held.values():
            task.cancel()
        with suppress(TimeoutError, *UNAVAILABLE_ERRORS):
            async with asyncio.timeout(_GIVEN_BACK_SECONDS):
                await asyncio.gather(*held.values(), return_exceptions=True)
                for key in held:
                    await self._callbacks.give_back(*key)
