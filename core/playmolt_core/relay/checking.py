"""Compares the projections with the log: every row of points, results and ratings."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

from playmolt_schemas.shards import Places, write_places

from playmolt_core.db.pool import Connection, Pool
from playmolt_core.db.projections import ALL_TYPES, held, stored_scores
from playmolt_core.db.ratings import (
    Place,
    Step,
    rated_ladders,
    rated_seats,
    stored_lines,
    stored_results,
    stored_steps,
    total_results,
)
from playmolt_core.log.port import ShardReader
from playmolt_core.log.reading import places, results_to
from playmolt_core.log.verify import Break
from playmolt_core.relay.results import FinishedGame, finished_games
from playmolt_core.relay.standings import BEFORE_ALL, Ladder, by_game, results_of

_GAMES: Final = 500
K = TypeVar("K")


async def projection_breaks(pool: Pool, log: ShardReader) -> list[Break]:
    """Compare the projections with the log up to their position; no breaks if other rules made them, or if there are
    none, as in a database that subscribes to the log.

    Needs two connections of the pool.
    """
    async with pool.snapshot() as connection:
        held_to = await held(connection)
        if not held_to:
            return []
        ends = await places(log)
        if any(position > end for position, end in zip(held_to, ends, strict=True)):
            problem = (
                f"the projections are at position {write_places(held_to)}, and the log ends at {write_places(ends)}"
            )
            return [Break("", 0, problem)]
        breaks = await _results_and_points(connection, log, held_to)
        # A wrong result makes every later rating wrong, too.
        return breaks or await _ratings(connection)


async def _results_and_points(connection: Connection, log: ShardReader, held_to: Places) -> list[Break]:
    points: Counter[tuple[str, str]] = Counter()
    games_of: Counter[tuple[str, str]] = Counter()
    breaks: list[Break] = []
    seats = 0
    known: set[str] = set()
    async for entries in results_to(log, held_to):
        games = list(finished_games(entries))
        for game in games:
            _count(game, points, games_of)
        known |= {game.game_id for game in games}
        seats += sum(len(game.seats) for game in games)
        breaks += await _compared_results(connection, games)
    if await total_results(connection) != seats:
        strange = await stored_results(connection, None)
        breaks += [
            Break(game_id, 0, "it has results, and no game of that name has ended")
            for game_id in sorted({result.game_id for result in strange} - known)
        ]
    said = {key: (points[key], games_of[key]) for key in games_of}
    breaks += _differences(said, await stored_scores(connection), "points")
    return breaks


def _count(game: FinishedGame, points: Counter[tuple[str, str]], games: Counter[tuple[str, str]]) -> None:
    if game.private:
        return
    for seat in game.seats:
        for game_type in (game.game_type, ALL_TYPES):
            points[seat.agent_id, game_type] += seat.points
            games[seat.agent_id, game_type] += 1


async def _compared_results(connection: Connection, games: list[FinishedGame]) -> list[Break]:
    said = {result.agent_id + " in " + result.game_id: result for game in games for result in results_of(game)}
    stored = await stored_results(connection, [game.game_id for game in games])
    return _differences(said, {result.agent_id + " in " + result.game_id: result for result in stored}, "result")


async def _ratings(connection: Connection) -> list[Break]:
    breaks: list[Break] = []
    newest: dict[tuple[str, str, str], Step] = {}
    for ladder_name in await rated_ladders(connection):
        ladder, place = Ladder(), Place(BEFORE_ALL, "")
        while seats := await rated_seats(connection, ladder_name, place, _GAMES):
            steps = [step for game in by_game(seats) for step in ladder.rate(game)]
            newest |= {(ladder_name, step.agent_id, step.version): step for step in steps}
            said = {f"{step.agent_id} in {step.place.game_id}": step for step in steps}
            found = await stored_steps(connection, sorted({seat.place.game_id for seat in seats}))
            breaks += _differences(said, {f"{step.agent_id} in {step.place.game_id}": step for step in found}, "rating")
            place = seats[-1].place
    return breaks + _differences(newest, await stored_lines(connection), "rating")


def _differences(said: Mapping[K, object], stored: Mapping[K, object], what: str) -> list[Break]:
    """The rows that differ from the log, each once."""
    return [
        Break("", 0, f"{what} of {_named(key)}: {_problem(said.get(key), stored.get(key))}")
        for key in sorted({*said, *stored}, key=str)
        if said.get(key) != stored.get(key)
    ]


def _named(key: object) -> str:
    return ", ".join(filter(None, key)) if isinstance(key, tuple) else str(key)


def _problem(said: object, stored: object) -> str:
    if stored is None:
        return "the row is missing"
    return "the log knows of none" if said is None else "the row is not what the log says"
