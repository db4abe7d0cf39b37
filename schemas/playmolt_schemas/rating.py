"""The formulas of ratings around the library's own, and how a rating is shown (docs/ratings.md)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from math import log, sqrt
from typing import Final

FIRST_MU: Final = 25.0
FIRST_SIGMA: Final = 25.0 / 3.0
BETA: Final = 25.0 / 6.0
TAU: Final = 25.0 / 300.0
"""The library's defaults."""
PROVISIONAL_GAMES: Final = 20
"""Rated games below which a rating is provisional."""
ACTIVE_DAYS: Final = 90
"""Days before the last UTC midnight in which a rating needs a rated game to be on the leaderboard."""
_DAY_SECONDS: Final = 86_400
_GROWTH_DAYS: Final = 12.0
"""Days of rest that add 1 to the square of sigma."""
_PRIOR_GAMES: Final = 20
_PRIOR_WINS: Final = 10


def rested_sigma(sigma: float, since: datetime, until: datetime) -> float:
    """Sigma after a rest from the last rated game to another time; never above the initial one.

    The function `projection.rested_sigma` of the database computes the same to the last bit.
    """
    days = max(0.0, (until - since).total_seconds() / _DAY_SECONDS)
    return min(FIRST_SIGMA, sqrt(sigma * sigma + days / _GROWTH_DAYS))


def last_midnight(now: datetime) -> datetime:
    """The last UTC midnight."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def active_since(midnight: datetime) -> datetime:
    """The time from which on a rated game keeps a rating on the leaderboard."""
    return midnight - timedelta(days=ACTIVE_DAYS)


def role_rate(wins: int, games: int) -> float:
    """The expected share of wins of a role that won so many of so many games."""
    return (_PRIOR_WINS + wins) / (_PRIOR_GAMES + games)


def role_offset(rate: float, sigmas: Sequence[float]) -> float:
    """What is added to the mu of a role, so that it beats an equal at this rate. `sigmas`: of both sides."""
    variance = sum(sigma * sigma for sigma in sigmas) + len(sigmas) * (TAU * TAU + BETA * BETA)
    return sqrt(variance) * log(rate / (1 - rate))


def tenths_of_rating(mu: float) -> int:
    """The shown rating, in tenths."""
    return round(10 * (1500 + 60 * (mu - FIRST_MU)))


def tenths_of_uncertainty(sigma: float) -> int:
    """The shown uncertainty, in tenths."""
    return round(10 * (60 * sigma))
