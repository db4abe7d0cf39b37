"""How much may be asked of a model at once and in a minute, over all replicas. Both sides pass one contract suite.

How many calls at once a provider takes is learnt from its refusals; `concurrent` of an alias stays the most.

`MemoryLimits` counts in this process; `playmolt_core.llm.postgres_limits` counts in Postgres.
"""

import asyncio
import math
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
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


STRETCH: Final = 48
"""So many answers, shared out over the calls that go on at once, without a refusal allow one call more. At a capacity
of one that is one refusal in 48 calls, of twenty in a thousand that may be refused."""
FIRST_HOLD_SECONDS: Final = 0.1
"""How long a provider that refuses is left alone; twice as long after each refusal in a row."""
MOST_HOLD_SECONDS: Final = 60.0


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one alias; None means none. In any minute no more is admitted than it says.

    `provider` names whose room its calls share with those of other aliases ("": nobody's).
    """

    concurrent: int
    provider: str = ""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class Admission(msgspec.Struct, frozen=True):
    """A call that may be made now; it holds a slot until it is released or its lease ends."""

    id: str
    alias: str


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What a call tells of its provider's room: that it was refused for want of it (429), or found some.

    `wait` is the seconds for which the provider asks to be left alone.
    """

    refused: bool
    wait: float | None = None


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

    async def release(self, admission: Admission, tokens: int | None, heard: Heard | None = None) -> None:
        """Give the slot back; `tokens` is what the call took in the end (None: unknown, the expectation stands).

        A refusal halves what its provider is allowed at once, and an answered stretch adds one."""
        ...


class Permit:
    """A slot in use, which `waited` seconds were waited for. Set `tokens` to what the call took, `heard` to what it
    told of its provider."""

    tokens: int | None = None
    heard: Heard | None = None

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
    """A slot while the body runs; raises NoCapacity after waiting `max_wait` seconds for one."""
    admission, waited = await _admitted(limits, alias, allowance, tokens, max_wait, sleep)
    heart = asyncio.create_task(_keep(limits, admission))
    permit = Permit(waited)
    try:
        yield permit
    finally:
        heart.cancel()
        with suppress(asyncio.CancelledError):
            await heart
        with suppress(LogUnavailable):  # the lease gives the slot back by itself
            await limits.release(admission, permit.tokens, permit.heard)


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
            raise NoCapacity(f"no call of {alias!r} was free within {max_wait:g} s; next one in {answer:.1f} s")
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
    """`answered` counts the answers of a full house since the last change, `refused` the refusals in a row."""

    allowed: int
    answered: int = 0
    refused: int = 0
    halved: float = -math.inf
    until: float = -math.inf

    def halve(self, used: int, call: _Call, wait: float, now: float) -> None:
        """Calls that were under way at a refusal tell nothing new."""
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
        """Only what a full house was answered shows that there is room for more."""
        self.refused = 0
        if used >= self.allowed and call.at > self.halved:
            self.answered += 1
        if self.answered >= math.ceil(STRETCH / self.allowed):
            self.allowed, self.answered = self.allowed + 1, 0


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
        self._learnt: dict[str, _Learnt] = {}

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
        self._calls[admission.id] = _Call(alias, now, cost, now + self.lease_seconds, allowance.provider)
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
        return max([*waits, *self._held_back(allowance.provider, now)], default=0.0)

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
    async def release(self, admission: Admission, tokens: int | None, heard: Heard | None = None) -> None:
        call, now = self._calls.get(admission.id), self._clock()
        if call is None:
            return
        if heard is not None and call.provider:
            self._learn(call, heard, now)
        call.until = min(call.until, now)
        call.tokens = call.tokens if tokens is None else tokens

    def _learn(self, call: _Call, heard: Heard, now: float) -> None:
        used = len(self._ends(call.provider, now)) + (call.until <= now)
        learnt = self._learnt.get(call.provider)
        if heard.refused:
            learnt = learnt or self._learnt.setdefault(call.provider, _Learnt(used))
            learnt.halve(used, call, heard.wait or 0.0, now)
        elif learnt is not None:
            learnt.grow(used, call)
