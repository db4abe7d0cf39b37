"""The contract of leases on effects (`effects.leases`). Memory and Postgres run the same tests."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playmolt_core.effects.leases import Lease, LeaseLost, Leases, holding

SHORT = 1.0
"""Seconds of leases that must end."""
LASTING = 4.0
"""Seconds of leases that must be kept: longer than a busy machine pauses."""
LONG = 60.0

Sleep = Callable[[float], Awaitable[None]]
"""Lets time pass on the clock that the leases use."""


async def taken(leases: Leases, holder: str = "a", seconds: float = LONG) -> Lease:
    lease = await leases.take("effect", holder, seconds)
    assert lease is not None
    return lease


class LeasesContract:
    async def test_of_many_workers_one_takes_the_effect(self, another: Callable[[], Leases]) -> None:
        answers = await asyncio.gather(*(another().take("effect", f"w{n}", LONG) for n in range(20)))
        assert [lease.attempt for lease in answers if lease] == [1]

    async def test_effects_are_taken_apart(self, leases: Leases) -> None:
        await taken(leases)
        assert await leases.take("other", "a", LONG) == Lease("other", "a", 1)

    async def test_nobody_takes_what_is_held_not_even_its_holder(self, leases: Leases) -> None:
        await taken(leases)
        assert await leases.take("effect", "a", LONG) is None

    async def test_a_killed_workers_effect_is_free_after_the_lease_as_the_next_attempt(
        self, leases: Leases, sleep: Sleep
    ) -> None:
        await taken(leases, seconds=SHORT)
        await sleep(SHORT + 0.05)
        assert await taken(leases, "b") == Lease("effect", "b", 2)

    async def test_a_worker_that_gives_up_leaves_the_next_attempt_at_once(self, leases: Leases) -> None:
        assert await leases.release(await taken(leases), lost=True)
        assert await taken(leases, "b") == Lease("effect", "b", 2)

    async def test_an_effect_that_is_done_is_forgotten(self, leases: Leases) -> None:
        assert await leases.release(await taken(leases), lost=False)
        assert await taken(leases, "b") == Lease("effect", "b", 1)

    async def test_an_extended_lease_lasts_from_then_on(self, leases: Leases, sleep: Sleep) -> None:
        lease = await taken(leases, seconds=LASTING)
        await sleep(LASTING * 0.55)
        assert await leases.extend(lease, LASTING)
        await sleep(LASTING * 0.55)
        assert await leases.take("effect", "b", LASTING) is None

    @pytest.mark.parametrize("lost", [True, False])
    async def test_a_worker_that_was_away_too_long_touches_nothing(
        self, leases: Leases, sleep: Sleep, lost: bool
    ) -> None:
        late = await taken(leases, seconds=SHORT)
        await sleep(SHORT + 0.05)
        assert not await leases.extend(late, SHORT)
        await taken(leases, late.holder, LONG)
        assert not await leases.extend(late, SHORT)
        assert not await leases.release(late, lost=lost)
        assert await leases.take("effect", "c", SHORT) is None

    async def test_work_keeps_its_lease_as_long_as_it_takes(self, leases: Leases, sleep: Sleep) -> None:
        async with holding(leases, await taken(leases, seconds=LASTING), LASTING):
            await asyncio.sleep(LASTING * 0.4)  # extended after a third
            await sleep(LASTING * 0.7)
            assert await leases.take("effect", "b", LASTING) is None
        assert (await taken(leases, "b")).attempt == 1

    async def test_work_that_fails_counts_as_a_lost_attempt(self, leases: Leases) -> None:
        with pytest.raises(ValueError, match="oops"):
            async with holding(leases, await taken(leases), LONG):
                raise ValueError("oops")
        assert (await taken(leases, "b")).attempt == 2

    async def test_work_whose_lease_is_lost_is_cancelled(self, leases: Leases) -> None:
        lease = await taken(leases)
        finished = False

        async def work() -> None:
            nonlocal finished
            async with holding(leases, lease, SHORT):
                await leases.release(lease, lost=True)
                await taken(leases, "b", LONG)
                await asyncio.sleep(10)
                finished = True

        with pytest.raises(LeaseLost):
            await work()
        assert not finished
        assert await leases.take("effect", "c", SHORT) is None

    async def test_a_timeout_of_the_work_itself_is_not_a_lost_lease(self, leases: Leases) -> None:
        with pytest.raises(TimeoutError):
            async with holding(leases, await taken(leases), LONG), asyncio.timeout(0.01):
                await asyncio.sleep(10)
