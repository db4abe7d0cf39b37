"""What finished games change in the projections: points, results, and ratings from their place on."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from playmolt_core.db.pool import Connection
from playmolt_core.db.projections import Score, add_scores
from playmolt_core.db.ratings import (
    Place,
    SeatResult,
    rated_seats,
    rated_types,
    steps_before,
    store_results,
    store_steps,
)
from playmolt_core.relay.ladder import Ladder, by_game
from playmolt_core.relay.results import FinishedGame

_GAMES: Final = 500
"""Rated at a time."""
BEFORE_ALL: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def enter(connection: Connection, games: Iterable[FinishedGame]) -> None:
    """Enter points and results of games, not rated yet."""
    scores, results = [], []
    for game in games:
        if not game.private:
            scores += [Score(seat.agent_id, game.game_type, seat.points, 1) for seat in game.seats]
        results += results_of(game)
    await add_scores(connection, scores)
    await store_results(connection, results)


async def enter_and_rate(connection: Connection, games: Iterable[FinishedGame]) -> None:
    """Enter games and work out anew what follows the earliest of them: one may be older than games that are rated."""
    games = list(games)
    await enter(connection, games)
    rated = [game for game in games if game.rated]
    for game_type in sorted({game.game_type for game in rated}):
        earliest = min(game.ended_at for game in rated if game.game_type == game_type)
        await _rate(connection, game_type, earliest)


async def rate_all(connection: Connection) -> None:
    """Rate all games that are entered."""
    for game_type in await rated_types(connection):
        await _rate(connection, game_type, BEFORE_ALL)


async def _rate(connection: Connection, game_type: str, since: datetime) -> None:
    """Rate the games of a type that ended at a time or later, anew where they were rated already."""
    before = place = Place(since, "")
    ladder, learnt = Ladder(), set[str]()
    while seats := await rated_seats(connection, game_type, place, _GAMES):
        strangers = {seat.agent_id for seat in seats} - learnt
        ladder.learn(await steps_before(connection, game_type, sorted(strangers), before))
        learnt |= strangers
        await store_steps(connection, game_type, [step for game in by_game(seats) for step in ladder.rate(game)])
        place = seats[-1].place


def results_of(game: FinishedGame) -> list[SeatResult]:
    """The rows of a game."""
    return [
        SeatResult(
            game_id=game.game_id,
            agent_id=seat.agent_id,
            game_type=game.game_type,
            ended_at=game.ended_at,
            seat=number,
            rank=seat.rank,
            points=seat.points,
            rated=game.rated,
            competes=seat.competes,
            version=seat.version,
        )
        for number, seat in enumerate(game.seats)
    ]
