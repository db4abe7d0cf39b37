"""What the limits of models promise (`llm.limits`). Memory and Postgres run the same suite."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from playmolt_core.llm.limits import Admission, Allowance, ModelLimits, NoCapacity, permitted

WINDOW = LEASE = 4.0
"""Half of it is longer than a busy machine stands still."""
ONE_AT_ONCE = Allowance(concurrent=1)

Sleep = Callable[[float], Awaitable[None]]
"""Lets time pass by the clock that the limits count with."""


async def admitted(limits: ModelLimits, allowance: Allowance, tokens: int = 1, alias: str = "m") -> Admission:
    answer = await limits.admit(alias, allowance, tokens)
    assert isinstance(answer, Admission)
    return answer


async def wait_for(limits: ModelLimits, allowance: Allowance, tokens: int = 1) -> float:
    answer = await limits.admit("m", allowance, tokens)
    assert isinstance(answer, float)
    return answer


class LimitsContract:
    async def test_no_more_calls_at_once_than_allowed_over_all_replicas(
        self, another: Callable[[], ModelLimits]
    ) -> None:
        replicas = [another() for _ in range(3)]
        running = peak = 0

        async def call(replica: ModelLimits) -> None:
            nonlocal running, peak
            async with permitted(replica, "m", Allowance(concurrent=2), 1, max_wait=20):
                running += 1
                peak = max(peak, running)
                await asyncio.sleep(0.01)
                running -= 1

        await asyncio.gather(*(call(replicas[number % 3]) for number in range(12)))
        assert peak == 2

    async def test_of_many_that_ask_at_the_same_moment_just_the_allowed_are_admitted(
        self, another: Callable[[], ModelLimits]
    ) -> None:
        allowance = Allowance(concurrent=50, requests_per_minute=5)
        answers = await asyncio.gather(*(another().admit("m", allowance, 1) for _ in range(20)))
        assert sum(isinstance(answer, Admission) for answer in answers) == 5

    async def test_a_slot_comes_back_on_release_and_at_the_end_of_a_lost_holders_lease(
        self, limits: ModelLimits, sleep: Sleep
    ) -> None:
        first = await admitted(limits, ONE_AT_ONCE)
        assert 0 < await wait_for(limits, ONE_AT_ONCE) <= LEASE
        await limits.release(first, None)
        await admitted(limits, ONE_AT_ONCE)
        await sleep(LEASE + 0.05)
        await admitted(limits, ONE_AT_ONCE)

    async def test_a_slot_that_is_extended_stays_taken_and_a_lost_one_cannot_be(
        self, limits: ModelLimits, sleep: Sleep
    ) -> None:
        held = await admitted(limits, ONE_AT_ONCE)
        await sleep(LEASE * 0.55)
        assert await limits.extend(held)
        await sleep(LEASE * 0.55)
        await wait_for(limits, ONE_AT_ONCE)
        await sleep(LEASE)
        assert not await limits.extend(held)

    async def test_a_permit_outlives_its_lease_while_its_holder_lives(self, limits: ModelLimits) -> None:
        async with permitted(limits, "m", ONE_AT_ONCE, 1):
            await asyncio.sleep(LEASE * 1.2)
            await wait_for(limits, ONE_AT_ONCE)
        await admitted(limits, ONE_AT_ONCE)

    async def test_requests_of_the_last_window_count_though_they_are_over(
        self, limits: ModelLimits, sleep: Sleep
    ) -> None:
        allowance = Allowance(concurrent=9, requests_per_minute=2)
        for _ in range(2):
            await limits.release(await admitted(limits, allowance), None)
        await sleep(WINDOW / 2)
        assert 0 < await wait_for(limits, allowance) <= WINDOW / 2
        await sleep(WINDOW / 2 + 0.05)
        await admitted(limits, allowance)

    async def test_tokens_count_as_expected_until_the_true_number_is_known(self, limits: ModelLimits) -> None:
        allowance = Allowance(concurrent=9, tokens_per_minute=100)
        first = await admitted(limits, allowance, 60)
        assert 0 < await wait_for(limits, allowance, 50) <= WINDOW
        await limits.release(first, 50)
        second = await admitted(limits, allowance, 50)
        await limits.release(second, None)
        await wait_for(limits, allowance, 1)

    async def test_a_call_larger_than_a_whole_minute_runs_alone(self, limits: ModelLimits, sleep: Sleep) -> None:
        allowance = Allowance(concurrent=9, tokens_per_minute=100)
        await limits.release(await admitted(limits, allowance, 5000), None)
        await wait_for(limits, allowance, 1)
        await sleep(WINDOW + 0.05)
        await admitted(limits, allowance, 5000)

    async def test_aliases_do_not_share_anything(self, limits: ModelLimits) -> None:
        await admitted(limits, ONE_AT_ONCE)
        await admitted(limits, ONE_AT_ONCE, alias="other")

    async def test_waiting_for_a_slot_has_an_end(self, limits: ModelLimits) -> None:
        async with permitted(limits, "m", ONE_AT_ONCE, 1):
            start = time.monotonic()
            with pytest.raises(NoCapacity, match="'m'"):
                async with permitted(limits, "m", ONE_AT_ONCE, 1, max_wait=0.3):
                    pytest.fail("admitted")
            assert time.monotonic() - start < 20

    async def test_a_permit_is_given_back_when_its_holder_fails(self, limits: ModelLimits) -> None:
        with pytest.raises(ValueError, match="oops"):
            async with permitted(limits, "m", ONE_AT_ONCE, 1):
                raise ValueError("oops")
        await admitted(limits, ONE_AT_ONCE)
