"""Rated games as the fit of scores takes them, and what it gives back; and how the games of a board are read."""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

import msgspec
from playmolt_core.db.scores import FittedScore, PgScores, PlacedSeat
from playmolt_schemas.identity import ScoreBoard

FIT_RULES: Final = 1
"""The version of the fit. It seeds the bootstrap; scores of another version are computed again."""
FEWEST_GAMES: Final = 20
"""Rated games from which a player is listed."""
_MODEL: Final = "model:"
"""Begins the name of a player that is a model. No agent's id begins so."""


class Seat(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A competing seat of a rated game."""

    player: str
    rank: int


class Game(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A rated game with its competing seats."""

    game_type: str
    seats: Sequence[Seat]


class Score(msgspec.Struct, frozen=True):
    """The score of a player in log-odds, with its 95 % interval, and its rated games."""

    player: str
    score: float
    low: float
    high: float
    games: int
    types: Sequence[str]


class Fit(msgspec.Struct, frozen=True):
    """The scores, best first, equals by name; and how many players with enough games are not connected to them."""

    scores: Sequence[Score]
    unconnected: int


async def rated_games(scores: PgScores) -> list[Game]:
    """All rated games in the order of their ids, each seat with its agent as player."""
    names: dict[str, str] = {}  # one text for each agent, not one for each of its seats
    games, rest = list[Game](), list[PlacedSeat]()
    async for chunk in scores.seats():
        *whole, rest = [list(seats) for _, seats in groupby([*rest, *chunk], key=lambda seat: seat.game_id)]
        games += [_game(seats, names) for seats in whole]
    return [*games, _game(rest, names)] if rest else games


def _game(seats: Sequence[PlacedSeat], names: dict[str, str]) -> Game:
    game_type = seats[0].game_id.partition("-")[0]
    return Game(
        names.setdefault(game_type, game_type),
        tuple([Seat(names.setdefault(seat.agent_id, seat.agent_id), seat.rank) for seat in seats]),
    )


def games_of(board: ScoreBoard, games: Sequence[Game], models: Mapping[str, str]) -> Sequence[Game]:
    """The games with the players of a board: by model, all agents of one model are one player."""
    if board == "overall" or not models:
        return games
    player = {agent: f"{_MODEL}{model}" for agent, model in models.items()}
    return [
        Game(game.game_type, tuple([Seat(player.get(seat.player, seat.player), seat.rank) for seat in game.seats]))
        for game in games
    ]


def row_of(score: Score) -> FittedScore:
    """A score as it is stored."""
    is_model = score.player.startswith(_MODEL)
    player = score.player.removeprefix(_MODEL)
    return FittedScore(player, player if is_model else "", score.score, score.low, score.high, score.games, score.types)


def digest_of(games: Sequence[Game]) -> bytes:
    """The digest of what scores are computed from, with the version of the computation."""
    return hashlib.sha256(msgspec.msgpack.encode((FIT_RULES, games))).digest()
