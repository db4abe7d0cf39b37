"""A effect is taken under a lease, so that of many workers one fulfils it and money is not spent twice.

`MemoryLeases` is the twin of `playmolt_core.effects.postgres`; both pass one contract suite.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import msgspec

from playmolt_core.db.errors import LogUnavailable


class Lease(msgspec.Struct, frozen=True):
    """An effect in somebody's hands. `attempt` is 1 plus the number of holders that were lost with it."""

    effect_id: str
    holder: str
    attempt: int


class LeaseLost(Exception):
    """The lease ended while the work was under way; the work was cancelled, because another worker may do it now."""


class Leases(Protocol):
    """Every method raises LogUnavailable when the database is away.

    A holder reads the game again after taking a lease: the effect may have been fulfilled and released a moment before.
    """

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        """Take an effect for `seconds`; None while anybody holds it, the same holder included."""
        ...

    async def extend(self, lease: Lease, seconds: float) -> bool:
        """Hold on for `seconds` from now; False when the lease has ended."""
        ...

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        """Give an effect back at once; False when the lease has ended and somebody else took it.

        `lost` False forgets the effect, whose answer is in the log or which is no longer wanted. `lost` True leaves it
        to the next holder as the next attempt: a call may have been paid for.
        """
        ...


@asynccontextmanager
async def holding(leases: Leases, lease: Lease, seconds: float) -> AsyncIterator[Lease]:
    """Keep a lease of `seconds` alive while the body runs, then release it: as done, or as lost when the body raises.

    Cancels the body and raises LeaseLost when the lease ends, also when the database was away for that long.
    """
    try:
        async with asyncio.timeout(None) as scope:
            heart = asyncio.create_task(_beat(leases, lease, seconds, scope))
            try:
                yield lease
            finally:
                heart.cancel()
                with suppress(asyncio.CancelledError):
                    await heart
    except BaseException as error:
        with suppress(LogUnavailable):
            await leases.release(lease, lost=True)
        if isinstance(error, TimeoutError) and scope.expired():
            raise LeaseLost(f"the lease on {lease.effect_id} ended during attempt {lease.attempt}") from error
        raise
    with suppress(LogUnavailable):  # it ends by itself, and who takes the effect then finds its answer in the log
        await leases.release(lease, lost=False)


async def _beat(leases: Leases, lease: Lease, seconds: float, scope: asyncio.Timeout) -> None:
    end = time.monotonic() + seconds
    while True:
        await asyncio.sleep(seconds / 3)
        sent = time.monotonic()
        try:
            async with asyncio.timeout(max(end - sent, 0)):
                held = await leases.extend(lease, seconds)
            end = sent + seconds if held else sent
        except (LogUnavailable, TimeoutError):
            held = True
        if not held or time.monotonic() >= end:
            scope.reschedule(asyncio.get_running_loop().time())
            return


class _Held(msgspec.Struct):
    lease: Lease
    until: float


class MemoryLeases:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[str, _Held] = {}

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        now, before = self._clock(), self._held.get(effect_id)
        if before is not None and before.until > now:
            return None
        lease = Lease(effect_id, holder, before.lease.attempt + 1 if before else 1)
        self._held[effect_id] = _Held(lease, now + seconds)
        return lease

    async def extend(self, lease: Lease, seconds: float) -> bool:
        held, now = self._held.get(lease.effect_id), self._clock()
        if held is None or held.lease != lease or held.until <= now:
            return False
        held.until = now + seconds
        return True

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        held = self._held.get(lease.effect_id)
        if held is None or held.lease != lease:
            return False
        if lost:
            held.until = self._clock()
        else:
            del self._held[lease.effect_id]
        return True
