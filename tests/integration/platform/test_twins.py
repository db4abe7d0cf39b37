"""Two games or sessions that differ in a secret: everybody else is told the same bytes, as quickly."""

import asyncio
import math
import random
import time
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.integration.platform.twin import JuryTwin, LegalTwin, OxTwin, SessionTwin, SpeechTwin, TrialTwin
from tests.platforms import Stack

LONG = "a much longer text, in which somebody says at length what nobody else is to know: " + "x" * 60
TWINS: list[tuple[type[Any], Any, Any]] = [
    (OxTwin, ("O", "a"), ("X", LONG[:100])),
    (TrialTwin, "GUILTY", "NOT_GUILTY"),
    (LegalTwin, "The price of $5,000 was not paid.", f"The price of $7,000 was not paid. {LONG}"),
    (JuryTwin, "Listen.", LONG),
    (SpeechTwin, "Rude.", LONG),
]
LOOKS = 150
UNLIKELY = 5.0
"""Standard deviations: what chance does once in millions."""


async def looked_at(stack: Stack, kind: type[Any], secret: Any) -> tuple[str, dict[str, str]]:
    async with kind(stack) as twin:
        return await twin.hides(secret), await twin.answers()


@pytest.mark.parametrize(("kind", "one", "other"), TWINS)
def test_a_secret_changes_no_byte_for_anybody_else(running: Stack, kind: type[Any], one: Any, other: Any) -> None:
    async def both() -> list[tuple[str, dict[str, str]]]:
        return [await looked_at(running, kind, secret) for secret in (one, other)]

    (answered, told), (answered_other, told_other) = asyncio.run(both())
    assert answered == answered_other
    assert told.keys() == told_other.keys()
    for route, answer in told.items():
        assert answer == told_other[route], route


@pytest.mark.parametrize(("kind", "secret"), [(OxTwin, ("O", "a")), (TrialTwin, "GUILTY")])
def test_what_is_public_does_change_bytes(running: Stack, kind: type[Any], secret: Any) -> None:
    """Else nothing would be compared."""

    async def work() -> tuple[dict[str, str], dict[str, str]]:
        async with kind(running) as twin:
            before = await twin.answers()
            await twin.hides(secret)
            return before, await twin.answers()

    before, after = asyncio.run(work())
    changed = {route for route, answer in before.items() if answer != after[route]}
    feeds = {
        route
        for route in before
        if "feed" in route or "events" in route or route.startswith("/api/games/{game}/state for")
    }
    assert feeds <= changed


def test_what_is_refused_is_no_twin(running: Stack) -> None:
    with pytest.raises(httpx.HTTPStatusError):
        asyncio.run(looked_at(running, OxTwin, ("neither", "a")))


@pytest.mark.parametrize("kind", [LegalTwin, JuryTwin])
def test_a_session_is_told_to_nobody_like_one_that_is_not_there(running: Stack, kind: type[SessionTwin]) -> None:
    """All but the operator's own view: whether somebody has one is private as well."""

    async def work() -> tuple[dict[str, str], dict[str, str]]:
        async with kind(running) as twin:
            there = await twin.answers()
            twin.labels[twin.game] = "OWN"
            twin.game = f"{twin.kind}-00000000-0000-4000-8000-000000000000"
            twin.labels[twin.game] = "GAME"
            return there, await twin.answers()

    there, gone = asyncio.run(work())
    differing = {route for route, answer in there.items() if answer != gone[route]}
    assert differing <= {route for route in there if route.endswith("for the operator")}


def deviations(one: Sequence[float], other: Sequence[float]) -> float:
    """By how many standard deviations the ranks of two samples differ (Mann and Whitney)."""
    ranked = sorted([(value, 0) for value in one] + [(value, 1) for value in other])
    ranks = sum(place for place, (_, which) in enumerate(ranked, 1) if which == 0)
    first, second = len(one), len(other)
    mean = first * (first + second + 1) / 2
    return abs(ranks - mean) / math.sqrt(first * second * (first + second + 1) / 12)


@pytest.mark.parametrize(("kind", "one", "other"), TWINS)
def test_a_secret_takes_nobody_longer(running: Stack, kind: type[Any], one: Any, other: Any) -> None:
    """Both are asked in turns, in an order that is drawn: what the machine does besides falls on both alike."""

    async def work() -> list[list[float]]:
        async with kind(running) as first, kind(running) as second:
            for twin, secret in ((first, one), (second, other)):
                await twin.hides(secret)
            took: list[list[float]] = [[], []]
            order = random.Random(7)
            for _ in range(LOOKS):
                for which in order.sample((0, 1), 2):
                    began = time.perf_counter()
                    await (first, second)[which].ask()
                    took[which].append(time.perf_counter() - began)
            return took

    assert deviations(*asyncio.run(work())) < UNLIKELY


def test_a_secret_that_took_longer_would_be_found() -> None:
    noise = random.Random(7)
    one, other = ([noise.gammavariate(2, 1) for _ in range(LOOKS)] for _ in range(2))
    assert deviations(one, other) < UNLIKELY
    assert deviations(one, [value + 0.8 for value in other]) > UNLIKELY
