"""Open waits (long polls and streams): their quotas, and their early end on disconnect or shutdown."""

import asyncio
from asyncio import Future, Task
from collections.abc import Awaitable, Iterable
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from playmolt_core.bus.port import Watch
from playmolt_core.ops.connections import Claim, Quota, address_of, bucket_of, give_all_back, take_all
from playmolt_core.settings import parse_networks
from playmolt_schemas.codes import Code, RateLimit
from playmolt_schemas.limits import WAIT_SECONDS
from starlette.types import Receive, Scope

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.metrics import waiting
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.settings import GatewaySettings

OPEN_WAITS: Final = 10_000
"""The maximum of open waits of one gateway; more are refused with 503."""
_RETRY_SECONDS: Final = 5
_FULL: Final = HttpProblem(
    Code.UNAVAILABLE, "Too many waiting requests on this server. Retry after Retry-After seconds."
)


class _Versioned(msgspec.Struct):
    version: int


version_of: Final = msgspec.json.Decoder(_Versioned).decode
"""Decodes the version of a state or a public message."""


class SeatedGame(msgspec.Struct):
    """A game in which an agent has a seat."""

    game_id: str
    version: int


class _Turns(msgspec.Struct):
    turn: msgspec.Raw
    games: list[SeatedGame]


turns_of: Final = msgspec.json.Decoder(_Turns).decode
"""Decodes an engine's answer to `turn`."""


async def wait_for_newer(watch: Watch, version: int, seconds: float) -> None:
    """Return after a message newer than `version`, a gap, or `seconds`."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    while message := await watch.next(end - clock()):
        if version_of(message).version > version:
            return


class Waits:
    """The open waits of this gateway.

    Waits are limited per key, and per address without a key. Event streams and calls of `/mcp` are also limited per
    address. The operator is not limited.
    """

    def __init__(self, settings: GatewaySettings) -> None:
        self._trusted = parse_networks(settings.trusted_proxies)
        self._of_keys = Quota("waits", settings.waits_per_key)
        self._of_addresses = Quota("waits", settings.waits_per_address)
        self._streams = Quota("streams", settings.streams_per_address)
        self._calls = Quota("mcp", settings.waits_per_address)
        self._open: set[Future[None]] = set()
        self.closed = False

    def poll(self, caller: Caller, scope: Scope, receive: Receive, *, stream: bool = False) -> "LongPoll | HttpProblem":
        """Claim a wait, which the caller must enter at once; leaving it releases the claim."""
        if len(self._open) >= OPEN_WAITS:
            return _FULL
        claims = [] if caller.operator else self._claims(caller, scope, stream=stream)
        full = take_all(claims)
        return _too_many(full) if full else LongPoll(self, receive, claims)

    def call(self, scope: Scope) -> "ClaimScope | HttpProblem":
        """Claim a call of `/mcp`."""
        claims = [(self._calls, self._address(scope))]
        full = take_all(claims)
        return _too_many(full) if full else ClaimScope(claims)

    def _claims(self, caller: Caller, scope: Scope, *, stream: bool) -> list[Claim]:
        address = self._address(scope)
        claims = [(self._of_keys, caller.holder) if caller.holder else (self._of_addresses, address)]
        return [*claims, (self._streams, address)] if stream else claims

    def _address(self, scope: Scope) -> str:
        client = scope.get("client")
        return bucket_of(address_of(client[0] if client else None, scope["headers"], self._trusted))

    def close(self) -> None:
        """End all waits, open and future."""
        self.closed = True
        for wait in self._open:
            if not wait.done():
                wait.set_result(None)

    def add(self, wait: "Future[None]") -> None:
        self._open.add(wait)
        if self.closed and not wait.done():
            wait.set_result(None)

    def remove(self, wait: "Future[None]") -> None:
        self._open.discard(wait)

    @property
    def full(self) -> bool:
        return len(self._open) >= OPEN_WAITS

    def __len__(self) -> int:
        return len(self._open)


def _too_many(claim: Claim) -> HttpProblem:
    quota, name = claim
    return HttpProblem(
        Code.RATE_LIMITED,
        f"This key or address has {quota.most} waiting requests, the maximum. End one first.",
        ratelimit=RateLimit(key=f"{quota.kind}:{name}", limit=quota.most, seconds=WAIT_SECONDS),
        retry_after=_RETRY_SECONDS,
    )


class ClaimScope:
    """Releases claims on exit."""

    def __init__(self, claims: list[Claim]) -> None:
        self._claims = claims

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        give_all_back(self._claims)


class LongPoll:
    """One client's wait. `over` becomes true when the client disconnects or the gateway stops."""

    def __init__(self, waits: Waits, receive: Receive, claims: list[Claim]) -> None:
        self._receive = receive
        self._waits = waits
        self._claims = claims
        self.gone = False
        """Whether the client has disconnected."""

    def until_answered(self) -> ExitStack:
        """Release the claims at the end of a block, unless it calls `pop_all` to enter the wait later."""
        stack = ExitStack()
        stack.callback(give_all_back, self._claims)
        return stack

    async def __aenter__(self) -> Self:
        self._end: Future[None] = asyncio.get_running_loop().create_future()
        self._waits.add(self._end)
        self._listener: Task[None] = asyncio.create_task(self._listen())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waits.remove(self._end)
        give_all_back(self._claims)
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

    async def first(self, waits: Iterable[Awaitable[Any]], seconds: float) -> None:
        """Return when one of the awaitables is done, after `seconds`, or when `over`. Cancels the others."""
        tasks = [asyncio.ensure_future(wait) for wait in waits]
        try:
            with waiting():
                await asyncio.wait([*tasks, self._end], timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
