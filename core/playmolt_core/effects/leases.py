"""Leases on effects, so that only one of many workers carries out an effect and money is not spent twice.

`MemoryLeases` is the in-memory counterpart of `playmolt_core.effects.postgres`; both pass one contract suite.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import msgspec

from playmolt_core.db.errors import LogUnavailable


class Lease(msgspec.Struct, frozen=True):
    """A lease on an effect. `attempt` is 1 plus the number of earlier holders that were lost."""

    effect_id: str
    holder: str
    attempt: int


class LeaseLost(Exception):
    """The lease ended during the work, which was cancelled, because another worker may do it now."""


class Leases(Protocol):
    """All methods raise LogUnavailable.

    A holder must read the game again after taking a lease, because the effect may have been completed just before.
    """

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        """Take a lease for `seconds`; None while it is held, even by the same holder."""
        ...

    async def extend(self, lease: Lease, seconds: float) -> bool:
        """Extend the lease to `seconds` from now; False if it has ended."""
        ...

    async def release(self, lease: Lease, *, lost: bool) -> bool:
        """Release the lease; False if it has ended and another holder took it.

        `lost` False deletes it, because the effect is completed or no longer needed. `lost` True leaves the effect to
        the next holder as the next attempt, because a call may already be paid.
        """
        ...


@asynccontextmanager
async def holding(leases: Leases, lease: Lease, seconds: float) -> AsyncIterator[Lease]:
    """Extend a lease of `seconds` while the body runs, then release it: as done, or as lost if the body raises.

    Cancels the body and raises LeaseLost if the lease ends, for example because the database was unavailable.
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
    with suppress(LogUnavailable):  # it expires, and the next holder finds the answer in the log
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


class _LeaseEntry(msgspec.Struct):
    lease: Lease
    until: float


class MemoryLeases:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[str, _LeaseEntry] = {}

    async def take(self, effect_id: str, holder: str, seconds: float) -> Lease | None:
        now, before = self._clock(), self._held.get(effect_id)
        if before is not None and before.until > now:
            return None
        lease = Lease(effect_id, holder, before.lease.attempt + 1 if before else 1)
        self._held[effect_id] = _LeaseEntry(lease, now + seconds)
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
