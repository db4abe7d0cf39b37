"""Limits on concurrent model calls and calls per minute, across all replicas.

The concurrency that a provider accepts is learnt from its refusals; `concurrent` of an alias is the upper limit.

`MemoryLimits` counts in this process, `playmolt_core.llm.postgres_limits` in Postgres; both pass one contract suite.
"""

import asyncio
import math
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Protocol

import msgspec
from typing_extensions import override

from playmolt_core.db.errors import LogUnavailable

WINDOW_SECONDS: Final = 60.0
LEASE_SECONDS: Final = 15.0
"""The slot of a killed holder is released after this time."""
POLL_SECONDS: Final = 0.25
"""The longest pause between attempts to get a slot: holders may release theirs long before the lease ends."""
MAX_WAIT_SECONDS: Final = 120.0


STRETCH: Final = 48
"""This number of answers without a refusal, divided by the allowed concurrency, allows one more concurrent call. At a
capacity of one, that is one refusal in 48 calls; at most twenty in a thousand may be refused."""
FIRST_HOLD_SECONDS: Final = 0.1
"""The pause after a provider's refusal; it doubles with each refusal in a row."""
MOST_HOLD_SECONDS: Final = 60.0


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of an alias, in any period of one minute; None means unlimited.

    Aliases with the same `provider` share its concurrency; "" shares with no other alias.
    """

    concurrent: int
    provider: str = ""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Admission(msgspec.Struct, frozen=True):
    """Permission for a call; it occupies a slot until it is released or its lease ends."""

    id: str
    alias: str


class CapacitySignal(msgspec.Struct, frozen=True, kw_only=True):
    """What a call shows about its provider's capacity: whether the provider refused it with 429.

    `wait` is the pause in seconds that the provider requests.
    """

    refused: bool
    wait: float | None = None


class NoCapacity(Exception):
    """No slot became free in time. No request was sent."""


class ModelLimits(Protocol):
    """All methods raise LogUnavailable."""

    lease_seconds: float

    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
        """Admit a call with `tokens` expected tokens, or return the seconds after which to try again.

        A call that expects more than a minute's tokens counts as exactly that many; otherwise it could never run.
        """
        ...

    async def extend(self, admission: Admission) -> bool:
        """Extend the lease of the slot; False if it was lost."""
        ...

    async def release(self, admission: Admission, tokens: int | None, signal: CapacitySignal | None = None) -> None:
        """Release the slot; `tokens` is the actual usage (None: unknown, the expected number remains).

        A refusal halves the allowed concurrency of the provider, a number of answers in a row adds one."""
        ...


class Permit:
    """A slot in use, after waiting `waited` seconds. Set `tokens` to the actual usage and `signal` to what the call
    showed about its provider."""

    tokens: int | None = None
    signal: CapacitySignal | None = None

    def __init__(self, waited: float) -> None:
        self.waited = waited


@asynccontextmanager
async def permitted(
    limits: ModelLimits,
    alias: str,
    allowance: Allowance,
    tokens: int,
    max_wait: float = MAX_WAIT_SECONDS,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[Permit]:
    """Hold a slot while the body runs. Raises NoCapacity after waiting `max_wait` seconds for one."""
    admission, waited = await _admitted(limits, alias, allowance, tokens, max_wait, sleep)
    heart = asyncio.create_task(_keep(limits, admission))
    permit = Permit(waited)
    try:
        yield permit
    finally:
        heart.cancel()
        with suppress(asyncio.CancelledError):
            await heart
        with suppress(LogUnavailable):  # the slot is released when the lease expires
            await limits.release(admission, permit.tokens, permit.signal)


async def _admitted(
    limits: ModelLimits,
    alias: str,
    allowance: Allowance,
    tokens: int,
    max_wait: float,
    sleep: Callable[[float], Awaitable[None]],
) -> tuple[Admission, float]:
    waited = 0.0
    while isinstance(answer := await limits.admit(alias, allowance, tokens), float):
        wait = min(answer, POLL_SECONDS)
        waited += wait
        if waited > max_wait:
            raise NoCapacity(
                f"no slot of {alias!r} was free within {max_wait:g} s; the next one is free in {answer:.1f} s"
            )
        await sleep(wait)
    return answer, waited


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
    provider: str


class _Learnt(msgspec.Struct):
    """`answered` counts answers at full concurrency since the last change, `refused` the refusals in a row."""

    allowed: int
    answered: int = 0
    refused: int = 0
    halved: float = -math.inf
    until: float = -math.inf

    def halve(self, used: int, call: _Call, wait: float, now: float) -> None:
        """Reduce the concurrency; calls that started before the last reduction carry no new information."""
        self.until = max(self.until, now + wait)
        self.answered = 0
        if call.at <= self.halved:
            return
        hold = min(MOST_HOLD_SECONDS, FIRST_HOLD_SECONDS * 2.0 ** min(self.refused, 30))
        self.until = max(self.until, now + hold)
        self.allowed = max(1, min(self.allowed, used) // 2)
        self.refused += 1
        self.halved = now

    def grow(self, used: int, call: _Call) -> None:
        """Increase the concurrency; only answers at full concurrency show that there is more capacity."""
        self.refused = 0
        if used >= self.allowed and call.at > self.halved:
            self.answered += 1
        if self.answered >= math.ceil(STRETCH / self.allowed):
            self.allowed, self.answered = self.allowed + 1, 0


class MemoryLimits(ModelLimits):
    """Counts in this process only."""

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
        self._learnt: dict[str, _Learnt] = {}

    @override
    async def admit(self, alias: str, allowance: Allowance, tokens: int) -> Admission | float:
        now = self._clock()
        began = now - self._window
        for key in [key for key, call in self._calls.items() if call.until <= now and call.at <= began]:
            del self._calls[key]
        cost = min(tokens, allowance.tokens_per_minute or tokens)
        wait = self._wait(alias, allowance, cost, now)
        if wait > 0:
            return wait
        admission = Admission(str(uuid.uuid4()), alias)
        self._calls[admission.id] = _Call(alias, now, cost, now + self.lease_seconds, allowance.provider)
        return admission

    def _wait(self, alias: str, allowance: Allowance, cost: int, now: float) -> float:
        calls = [call for call in self._calls.values() if call.alias == alias]
        ends = [call.until for call in calls if call.until > now]
        waits = [min(ends) - now] if len(ends) >= allowance.concurrent else []
        if allowance.requests_per_minute is not None or allowance.tokens_per_minute is not None:
            waits += self._window_waits(calls, allowance, cost, now)
        return max([*waits, *self._held_back(allowance.provider, now)], default=0.0)

    def _window_waits(self, calls: list[_Call], allowance: Allowance, cost: int, now: float) -> Iterator[float]:
        recent = sorted((call for call in calls if call.at > now - self._window), key=lambda call: -call.at)
        requests = allowance.requests_per_minute
        if requests is not None and len(recent) >= requests:
            yield recent[requests - 1].at + self._window - now
        if allowance.tokens_per_minute is not None:
            spent = cost
            for call in recent:
                spent += call.tokens
                if spent > allowance.tokens_per_minute:
                    yield call.at + self._window - now
                    break

    def _held_back(self, provider: str, now: float) -> list[float]:
        learnt = self._learnt.get(provider)
        if learnt is None:
            return []
        ends = self._ends(provider, now)
        full = [min(ends) - now] if len(ends) >= learnt.allowed else []
        return [*full, learnt.until - now]

    def _ends(self, provider: str, now: float) -> list[float]:
        return [call.until for call in self._calls.values() if call.provider == provider and call.until > now]

    @override
    async def extend(self, admission: Admission) -> bool:
        call, now = self._calls.get(admission.id), self._clock()
        if call is None or call.until <= now:
            return False
        call.until = now + self.lease_seconds
        return True

    @override
    async def release(self, admission: Admission, tokens: int | None, signal: CapacitySignal | None = None) -> None:
        call, now = self._calls.get(admission.id), self._clock()
        if call is None:
            return
        if signal is not None and call.provider:
            self._learn(call, signal, now)
        call.until = min(call.until, now)
        call.tokens = call.tokens if tokens is None else tokens

    def _learn(self, call: _Call, signal: CapacitySignal, now: float) -> None:
        used = len(self._ends(call.provider, now)) + (call.until <= now)
        learnt = self._learnt.get(call.provider)
        if signal.refused:
            learnt = learnt or self._learnt.setdefault(call.provider, _Learnt(used))
            learnt.halve(used, call, signal.wait or 0.0, now)
        elif learnt is not None:
            learnt.grow(used, call)
