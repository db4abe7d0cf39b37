"""How much may be asked of a model at once and in a minute, over all replicas. Both sides pass one contract suite.

`MemoryLimits` counts in this process; `playmolt_core.llm.postgres_limits` counts in Postgres.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import msgspec
from typing_extensions import override

from playmolt_core.db.errors import LogUnavailable

WINDOW_SECONDS: Final = 60.0
LEASE_SECONDS: Final = 15.0
"""A killed holder's slot comes back after this."""
POLL_SECONDS: Final = 0.25
"""How soon a slot is looked for again: a holder may give its own back long before its lease ends."""
MAX_WAIT_SECONDS: Final = 120.0


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one alias; None means none. In any minute no more is admitted than it says."""

    concurrent: int
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Admission(msgspec.Struct, frozen=True):
    """A call that may be made now; it holds a slot until it is released or its lease ends."""

    id: str
    alias: str


class NoCapacity(Exception):
    """The limits left no room in the time the caller would wait. Nothing was asked."""


class ModelLimits(Protocol):
    """Every method raises LogUnavailable when the database is away."""

    lease_seconds: float

    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
        """Admit a call that is expected to take `tokens`, or give the seconds after which it is worth asking again.

        A call that expects more than a whole minute's tokens counts as exactly that many, else it could never run.
        """
        ...

    async def extend(self, admission: Admission) -> bool:
        """Hold the slot for another lease; False when it was lost already."""
        ...

    async def release(self, admission: Admission, tokens: int | None) -> None:
        """Give the slot back; `tokens` is what the call took in the end (None: unknown, the expectation stands)."""
        ...


class Permit:
    """A slot in use. Set `tokens` to what the call took."""

    tokens: int | None = None


@asynccontextmanager
async def permitted(
    limits: ModelLimits, alias: str, allowance: Allowance, tokens: int, max_wait: float = MAX_WAIT_SECONDS
) -> AsyncIterator[Permit]:
    """A slot while the body runs; raises NoCapacity after waiting `max_wait` seconds for one."""
    admission = await _admitted(limits, alias, allowance, tokens, max_wait)
    heart = asyncio.create_task(_keep(limits, admission))
    permit = Permit()
    try:
        yield permit
    finally:
        heart.cancel()
        with suppress(asyncio.CancelledError):
            await heart
        with suppress(LogUnavailable):  # the lease gives the slot back by itself
            await limits.release(admission, permit.tokens)


async def _admitted(limits: ModelLimits, alias: str, allowance: Allowance, tokens: int, max_wait: float) -> Admission:
    end = time.monotonic() + max_wait
    while isinstance(answer := await limits.admit(alias, allowance, tokens), float):
        wait = min(answer, POLL_SECONDS)
        if time.monotonic() + wait > end:
            raise NoCapacity(f"no call of {alias!r} was free within {max_wait:g} s; next one in {answer:.1f} s")
        await asyncio.sleep(wait)
    return answer


async def _keep(limits: ModelLimits, admission: Admission) -> None:
    held = True
    while held:
        await asyncio.sleep(limits.lease_seconds / 3)
        with suppress(LogUnavailable):
            held = await limits.extend(admission)


class _Call(msgspec.Struct):
    alias: str
    at: float
    tokens: int
    until: float


class MemoryLimits(ModelLimits):
    """Counts in this process alone."""

    def __init__(
        self,
        *,
        window_seconds: float = WINDOW_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lease_seconds = lease_seconds
        self._window = window_seconds
        self._clock = clock
        self._calls: dict[str, _Call] = {}

    @override
    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
        now = self._clock()
        self._calls = {
            key: call for key, call in self._calls.items() if call.until > now or call.at > now - self._window
        }
        cost = min(tokens, allowance.tokens_per_minute or tokens)
        wait = self._wait(alias, allowance, cost, now)
        if wait > 0:
            return wait
        admission = Admission(str(uuid.uuid4()), alias)
        self._calls[admission.id] = _Call(alias, now, cost, now + self.lease_seconds)
        return admission

    def _wait(self, alias: str, allowance: Allowance, cost: int, now: float) -> float:
        calls = [call for call in self._calls.values() if call.alias == alias]
        ends = sorted(call.until for call in calls if call.until > now)
        recent = sorted((call for call in calls if call.at > now - self._window), key=lambda call: -call.at)
        waits = [ends[0] - now] if len(ends) >= allowance.concurrent else []
        requests = allowance.requests_per_minute
        if requests is not None and len(recent) >= requests:
            waits.append(recent[requests - 1].at + self._window - now)
        if allowance.tokens_per_minute is not None:
            spent = cost
            for call in recent:
                spent += call.tokens
                if spent > allowance.tokens_per_minute:
                    waits.append(call.at + self._window - now)
                    break
        return max(waits, default=0.0)

    @override
    async def extend(self, admission: Admission) -> bool:
        call, now = self._calls.get(admission.id), self._clock()
        if call is None or call.until <= now:
            return False
        call.until = now + self.lease_seconds
        return True

    @override
    async def release(self, admission: Admission, tokens: int | None) -> None:
        call = self._calls.get(admission.id)
        if call is not None:
            call.until = self._clock()
            call.tokens = call.tokens if tokens is None else tokens
