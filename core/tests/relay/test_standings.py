"""The rule of ratings on games in memory."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_core.db.ratings import Place, RatedGame, RatedSeat, RatingRow, RoleCount, RoleResult, Step
from playmolt_core.relay.standings import Ratings
from playmolt_schemas.rating import FIRST_SIGMA

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def trial(number: int, winner: str, loser: str, *, convicted: bool, at: datetime = NOON) -> RatedGame:
    seats = (RatedSeat(winner, "", 1, 200), RatedSeat(loser, "", 2, 50))
    return RatedGame(Place(at, f"trial-{number:04}"), "trial", seats, RoleResult("cases", convicted))


def known(agent: str, mu: float, sigma: float) -> Step:
    return Step(Place(NOON, "trial-0000"), "trial", agent, "", RatingRow(mu, sigma, 20))


@given(st.integers(0, 200), st.integers(0, 200), st.floats(5, 45), st.floats(0.5, FIRST_SIGMA))
def test_equals_that_win_at_the_rate_of_their_role_keep_their_ratings(
    wins: int, losses: int, mu: float, sigma: float
) -> None:
    """Only the share of wins that the role explains moves nothing, on average."""
    changes = []
    for convicted in (True, False):
        ratings = Ratings()
        ratings.learn_roles({"cases": RoleCount(wins + losses, wins)})
        ratings.learn([known("prosecutor", mu, sigma), known("defender", mu, sigma)])
        pair = ("prosecutor", "defender") if convicted else ("defender", "prosecutor")
        steps = {step.agent_id: step.line.mu for step in ratings.rate(trial(1, *pair, convicted=convicted)).steps}
        changes.append((steps["prosecutor"] - mu, steps["defender"] - mu))
        assert steps["prosecutor"] + steps["defender"] == pytest.approx(2 * mu), "equal uncertainties move by the same"
    rate = RoleCount(wins + losses, wins).rate
    for won, lost in zip(*changes, strict=True):
        assert rate * won + (1 - rate) * lost == pytest.approx(0, abs=1e-9)
    assert abs(changes[0][0]) <= abs(changes[1][0]) or rate <= 0.5, "a likely win moves a rating less"


@settings(max_examples=50)
@given(st.lists(st.tuples(st.permutations("abcdef"), st.integers(0, 4), st.floats(0, 400)), min_size=1, max_size=40))
def test_uncertainty_is_never_above_the_initial_one(games: list[tuple[list[str], int, float]]) -> None:
    """Neither when a game is rated nor when it is shown, however uneven the games and however long the rests."""
    ratings, at = Ratings(), NOON
    for number, (agents, shared, days) in enumerate(games):
        at += timedelta(days=days)
        ranks = [1] * (shared + 1) + list(range(shared + 2, 6))
        seats = tuple(RatedSeat(agent, "", rank, 0) for agent, rank in zip(agents, ranks, strict=False))
        rated = ratings.rate(RatedGame(Place(at, f"ox-{number:04}"), "ox", seats))
        assert rated.role is None
        assert all(0 < step.line.sigma <= FIRST_SIGMA for step in rated.steps)


def test_games_count_for_their_content_version_alone() -> None:
    ratings = Ratings()
    for number in range(5):
        role = ratings.rate(trial(number, "a", "b", convicted=number != 2)).role
        assert role
    assert (role.count.games, role.count.wins, role.count.rate) == (5, 4, 14 / 25)
    other = trial(9, "a", "b", convicted=True)
    counted = ratings.rate(RatedGame(other.place, other.ladder, other.seats, RoleResult("pack", won=True))).role
    assert counted
    assert counted.count == RoleCount(1, 1)
