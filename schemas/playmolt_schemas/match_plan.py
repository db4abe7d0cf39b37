"""The plan of a match: the TOML that `playmolt match --plan` reads (arena.md, "Matches by plan")."""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from playmolt_schemas.identifiers import GameType
from playmolt_schemas.limits import MODEL_ALIAS_CHARS

FEWEST_PLAYERS: Final = 2
MOST_PLAYERS: Final = 50
MOST_GAMES: Final = 100_000

_Name = Annotated[str, Meta(pattern="^[a-z0-9_-]{1,40}$")]
_Text = Annotated[str, Meta(min_length=1, max_length=500)]
_Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
ByGame: TypeAlias = _Text | dict[GameType, _Text]
"""One text for all games, or one per game type."""


class PlannedGames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number of games of one type."""

    game: GameType
    n: Annotated[int, Meta(ge=1, le=MOST_GAMES)]


class PlannedBudget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on all model calls together; at least one is required."""

    money: Annotated[float, Meta(gt=0, le=1_000_000_000)] | None = None
    tokens: _Count | None = None
    calls: _Count | None = None


class PlannedSamplingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sampling parameters of a model; absent parameters use the server's defaults."""

    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    seed: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class PlannedPlayer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A player: exactly one of house, python, model and url is required."""

    name: _Name
    house: ByGame | None = None
    python: _Text | None = None
    model: Annotated[str, Meta(min_length=1, max_length=MODEL_ALIAS_CHARS)] | None = None
    url: _Text | None = None
    prompt: ByGame | None = None
    sampling: PlannedSamplingSettings | None = None


class MatchPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The plan of a match."""

    name: Annotated[str, Meta(pattern="^[a-z0-9-]{1,40}$")]
    games: Annotated[list[PlannedGames], Meta(min_length=1)]
    players: Annotated[list[PlannedPlayer], Meta(min_length=FEWEST_PLAYERS, max_length=MOST_PLAYERS)]
    seed: Annotated[str, Meta(min_length=1, max_length=200)] = "match"
    language: Literal["ko", "en", "zh"] = "en"
    concurrency: Annotated[int, Meta(ge=1, le=64)] = 1
    fill: _Text = "mixed"
    budget: PlannedBudget | None = None
