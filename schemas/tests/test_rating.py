"""The formulas of ratings."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_schemas.rating import (
    BETA,
    FIRST_SIGMA,
    TAU,
    last_midnight,
    rested_sigma,
    role_offset,
    role_rate,
    tenths_of_rating,
    tenths_of_uncertainty,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SIGMAS = st.floats(0.1, FIRST_SIGMA)
SECONDS = st.floats(0, 10**9)


@given(SIGMAS, SECONDS, SECONDS)
def test_uncertainty_grows_with_rest_and_never_above_the_initial_one(sigma: float, one: float, two: float) -> None:
    first, second = NOON + timedelta(seconds=one), NOON + timedelta(seconds=one + two)
    rested = rested_sigma(sigma, NOON, first)
    assert sigma - 1e-12 <= rested <= rested_sigma(sigma, NOON, second) <= FIRST_SIGMA
    assert rested_sigma(rested, first, second) == pytest.approx(rested_sigma(sigma, NOON, second), abs=1e-9)


def test_a_year_of_rest_is_worth_a_variance_of_thirty() -> None:
    assert rested_sigma(3.0, NOON, NOON + timedelta(days=12)) == math.sqrt(10)
    assert rested_sigma(3.0, NOON, NOON + timedelta(hours=36)) == math.sqrt(9 + 1.5 / 12)
    assert rested_sigma(3.0, NOON, NOON - timedelta(days=1)) == 3.0, "a game after that time"


@given(st.integers(0, 10**6), st.integers(0, 10**6), SIGMAS, SIGMAS)
def test_a_role_that_wins_at_a_rate_beats_equals_at_that_rate(wins: int, losses: int, one: float, two: float) -> None:
    rate = role_rate(wins, wins + losses)
    assert 0 < rate < 1
    offset = role_offset(rate, [one, two])
    spread = math.sqrt(one**2 + two**2 + 2 * TAU**2 + 2 * BETA**2)
    assert 1 / (1 + math.exp(-offset / spread)) == pytest.approx(rate, abs=1e-12)


def test_a_role_without_games_wins_half() -> None:
    assert role_rate(0, 0) == 0.5
    assert role_offset(0.5, [8, 8]) == 0
    assert role_rate(3, 4) == 13 / 24


def test_ratings_are_shown_in_tenths() -> None:
    assert (tenths_of_rating(25), tenths_of_uncertainty(FIRST_SIGMA)) == (15000, 5000)
    assert tenths_of_rating(25 + 1 / 600) == 15001
    assert tenths_of_rating(-10) == -6000


def test_the_last_midnight_is_that_of_utc() -> None:
    seoul = datetime.fromisoformat("2026-01-03T08:59:00+09:00")
    assert last_midnight(seoul) == datetime(2026, 1, 2, tzinfo=UTC)
