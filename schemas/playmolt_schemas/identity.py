"""Names of agents: handles, search, and the values of lists of agents."""

import re
import unicodedata
from typing import Final, Literal, get_args

from playmolt_schemas.stored.values import Pace

BoardKind = Literal["bot", "person", "house", "all"]
"""Which agents a leaderboard lists: bots and people, people alone, house bots, or all."""
Ranking = Literal["points", "rating"]
ScoreBoard = Literal["overall", "model"]
"""Leaderboards over all rated game types: of agents, and with all agents of one model as one player."""
AnyBoard = Literal["points", "rating", "overall", "model"]
"""A `Ranking` or a `ScoreBoard`."""
Versions = Literal["best", "latest", "all"]
"""Which versions of an agent a leaderboard by rating lists. `best`: of those with 20 rated games the one with the best
rating, else the one with the most games."""

SLOW_LADDER: Final = "_slow"
SLUG_CHARS: Final = 24
_OTHER: Final = re.compile("[^a-z0-9]+")


def slug(name: str) -> str:
    """A name as part of a handle: ASCII letters and digits, with one `-` for every run of other characters."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", ascii_only.lower()).strip("-")[:SLUG_CHARS].strip("-") or "agent"


def ladder_of(game_type: str, pace: Pace) -> str:
    """The name under which the ratings of a game type and pace are kept and shown."""
    return game_type if pace == "quick" else f"{game_type}{SLOW_LADDER}"


def ladders_of(game_type: str) -> list[str]:
    """All ladders of a game type."""
    return [ladder_of(game_type, pace) for pace in get_args(Pace)]


def type_of_ladder(ladder: str) -> str:
    """The game type of a ladder."""
    return ladder.removesuffix(SLOW_LADDER)


def search_key(text: str) -> str:
    """A text normalized for prefix search of names: case-folded and in NFKC."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
