"""How many calls at once a provider takes is found out, and it refuses few while that is so."""

import asyncio
import heapq
import random
from collections.abc import Callable
from decimal import Decimal

import pytest
from playmolt_core.llm.limits import Allowance, CapacitySignal, MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply, status

CEILING = 16
CAPACITIES = (1, 2, 3, 5, 8, 13)
POLL = 0.25


class _Simulated:
    """A server of a capacity, asked by as many callers as the ceiling allows, in a time that only events move."""

    def __init__(self, capacity: int, seed: int, *, latency: float) -> None:
        self.asked: list[bool] = []
        self.busy_seconds = self.now = 0.0
        self._capacity, self._latency, self._busy = capacity, latency, 0
        self._random = random.Random(seed)
        self._limits = MemoryLimits(window_seconds=0.1, clock=lambda: self.now)
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._number = 0

    def _after(self, seconds: float, act: Callable[[], object]) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.now + seconds, self._number, act))

    async def run(self, calls: int) -> None:
        for _ in range(CEILING + 4):
            self._after(self._random.random(), self._call)
        while len(self.asked) < calls:
            before = self.now
            self.now, _, act = heapq.heappop(self._due)
            self.busy_seconds += (self.now - before) * self._busy
            result = act()
            if asyncio.iscoroutine(result):
                await result

    async def _call(self) -> None:
        admission = await self._limits.admit("m", Allowance(concurrent=CEILING, provider="p"), 1)
        if isinstance(admission, float):
            self._after(min(admission, POLL) * self._random.uniform(0.5, 1), self._call)
            return
        refused = self._busy >= self._capacity
        self.asked.append(refused)
        self._busy += not refused

        async def answered() -> None:
            self._busy -= not refused
            await self._limits.release(admission, 1, CapacitySignal(refused=refused))
            self._after(0.0, self._call)

        self._after(0.005 if refused else self._latency * self._random.uniform(0.5, 2), answered)


@pytest.mark.parametrize("latency", [0.05, 1.0])
@pytest.mark.parametrize("capacity", CAPACITIES)
async def test_after_200_calls_at_most_one_in_twenty_is_refused(capacity: int, latency: float) -> None:
    server = _Simulated(capacity, seed=capacity, latency=latency)
    await server.run(200)
    began, busy = server.now, server.busy_seconds
    await server.run(1200)
    windows = [server.asked[start : start + 200] for start in range(200, 1200, 200)]
    assert max(sum(window) for window in windows) <= 10
    if latency > POLL:  # shorter calls leave room between two looks for a slot
        assert server.busy_seconds - busy > (server.now - began) * capacity / 2


async def test_a_wider_capacity_is_found_again() -> None:
    server = _Simulated(1, seed=1, latency=1.0)
    await server.run(300)
    server._capacity = CEILING
    await server.run(1000)
    before, busy = server.now, server.busy_seconds
    await server.run(1200)
    assert server.busy_seconds - busy > (server.now - before) * CEILING / 2


async def test_a_real_server_of_little_room_answers_every_call() -> None:
    """Over HTTP: a server that takes three at once is asked by twelve."""
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    async with FakeServer() as server:
        under_way = 0

        def answer(_: ReceivedRequest) -> Canned:
            nonlocal under_way
            if under_way >= 3:
                return status(429)
            under_way += 1

            def leave() -> None:
                nonlocal under_way
                under_way -= 1

            asyncio.get_running_loop().call_later(0.02, leave)
            return reply("here", delay=0.03)

        server.otherwise = answer
        model = OpenAIModel(server.entry(concurrent=12), "a key", MemoryLimits(window_seconds=1.0))
        asked = ModelRequest(alias="fake", messages=(ChatMessage("user", "hello"),), patient=True)

        async def ask_on() -> None:
            for _ in range(20):
                assert isinstance(await model.ask(asked, record), Reply)

        await asyncio.gather(*(ask_on() for _ in range(12)))
        await model.close()
    refused = [attempt for attempt in attempts if attempt.outcome == "rate_limited"]
    assert refused
    assert sum(attempt.outcome == "rate_limited" for attempt in attempts[200:]) <= len(attempts[200:]) / 20
    assert {(attempt.usage, attempt.cost) for attempt in refused} == {(None, None)}


async def test_a_provider_that_never_has_room_is_given_up_after_two_minutes_of_waiting() -> None:
    ahead = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    async with FakeServer() as server:
        server.otherwise = status(429, message="too many", retry_after="0")
        limits = MemoryLimits(clock=lambda: ahead)
        model = OpenAIModel(server.entry(timeout_s=Decimal(20)), "", limits, sleep=sleep)

        async def record(_: Attempt) -> None: ...

        asked = ModelRequest(alias="fake", messages=(ChatMessage("user", "hello"),), patient=True)
        answer = await model.ask(asked, record)
        await model.close()
    assert isinstance(answer, Failed)
    assert (answer.code, 5 <= answer.attempts <= 20, 60 <= ahead <= 180) == ("model_unavailable", True, True)
    assert "too many" in answer.detail
