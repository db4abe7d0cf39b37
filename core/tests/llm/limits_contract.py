"""The contract of the limits of models (`llm.limits`). Memory and Postgres run the same tests."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from playmolt_core.llm.limits import (
    FIRST_HOLD_SECONDS,
    STRETCH,
    Admission,
    Allowance,
    CapacitySignal,
    ModelLimits,
    NoCapacity,
    permitted,
)

WINDOW = LEASE = 4.0
"""Seconds. Half of it is longer than a busy machine pauses."""
ONE_AT_ONCE = Allowance(concurrent=1)

Sleep = Callable[[float], Awaitable[None]]
"""Lets time pass on the clock that the limits use."""


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

    async def test_a_permit_outlives_its_lease_while_its_holder_lives(self, limits: ModelLimits, sleep: Sleep) -> None:
        async with permitted(limits, "m", ONE_AT_ONCE, 1):
            await asyncio.sleep(LEASE * 0.4)  # extended after a third
            await sleep(LEASE * 0.8)
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


SHARED = Allowance(concurrent=8, provider="p")
REFUSED, ANSWERED = CapacitySignal(refused=True), CapacitySignal(refused=False)


class LearningContract:
    """The concurrency that a provider accepts, learnt from its refusals."""

    async def test_a_refusal_halves_what_a_provider_is_asked_at_once_by_all_its_aliases(
        self, limits: ModelLimits, sleep: Sleep
    ) -> None:
        held = [await admitted(limits, SHARED) for _ in range(4)]
        await limits.release(held[0], None, REFUSED)
        await sleep(FIRST_HOLD_SECONDS + 0.05)
        await wait_for(limits, SHARED)
        await limits.release(held[1], None)
        await limits.release(held[2], None)
        await admitted(limits, SHARED, alias="another")
        await wait_for(limits, SHARED)
        await admitted(limits, Allowance(concurrent=8, provider="q"))

    async def test_refusals_of_calls_that_were_under_way_together_halve_once(
        self, limits: ModelLimits, sleep: Sleep
    ) -> None:
        for each in [await admitted(limits, SHARED) for _ in range(8)]:
            await limits.release(each, None, REFUSED)
        await sleep(FIRST_HOLD_SECONDS + 0.05)
        for _ in range(4):
            await admitted(limits, SHARED)
        await wait_for(limits, SHARED)

    async def test_nobody_asks_a_provider_before_it_said(self, limits: ModelLimits, sleep: Sleep) -> None:
        await limits.release(await admitted(limits, SHARED), None, CapacitySignal(refused=True, wait=WINDOW / 2))
        assert WINDOW / 4 < await wait_for(limits, SHARED) <= WINDOW / 2
        await sleep(WINDOW / 2 + 0.05)
        await admitted(limits, SHARED)

    async def test_a_stretch_of_a_full_house_allows_one_more(self, limits: ModelLimits, sleep: Sleep) -> None:
        await limits.release(await admitted(limits, SHARED), None, REFUSED)
        await sleep(FIRST_HOLD_SECONDS + 0.05)
        for _ in range(STRETCH):
            only = await admitted(limits, SHARED)
            await wait_for(limits, SHARED)
            await limits.release(only, None, ANSWERED)
        await admitted(limits, SHARED)
        await admitted(limits, SHARED)
        await wait_for(limits, SHARED)

    async def test_refusals_in_a_row_are_waited_for_ever_longer(self, limits: ModelLimits, sleep: Sleep) -> None:
        for refusals in range(4):
            await limits.release(await admitted(limits, SHARED), None, REFUSED)
            wait, longest = await wait_for(limits, SHARED), FIRST_HOLD_SECONDS * 2**refusals
            assert longest / 4 < wait <= longest
            await sleep(wait + 0.01)
