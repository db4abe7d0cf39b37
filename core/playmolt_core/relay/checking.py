"""Compares the projections with the log: every row of points, results and ratings."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeVar

from playmolt_schemas.identity import ladders_of
from playmolt_schemas.shards import Places, write_places

from playmolt_core.db.pool import Connection, Pool
from playmolt_core.db.projections import ALL_TYPES, held, stored_scores
from playmolt_core.db.ratings import (
    Place,
    RoleCount,
    Step,
    rated_games,
    stored_lines,
    stored_results,
    stored_role_rates,
    stored_role_steps,
    stored_steps,
    total_results,
)
from playmolt_core.log.port import ShardReader
from playmolt_core.log.reading import places, results_to
from playmolt_core.log.verify import Break
from playmolt_core.relay.results import FinishedGame, finished_games
from playmolt_core.relay.standings import BEFORE_ALL, Ratings, rated_game, rated_types, results_of

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
        strange = {result.game_id for result in await stored_results(connection, None)}
        breaks += [
            Break(game_id, 0, "it has results, and no game of that name has ended")
            for game_id in sorted(strange - known)
        ]
    role_games = {step.place.game_id for step in await stored_role_steps(connection, None)}
    breaks += [
        Break(game_id, 0, "its role is counted, and no game of that name has ended")
        for game_id in sorted(role_games - known)
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
    breaks = _differences(said, {result.agent_id + " in " + result.game_id: result for result in stored}, "result")
    rated = [rated for game in games if (rated := rated_game(game)) and rated.role]
    said_roles = {game.place.game_id: (game.place, game.role) for game in rated}
    steps = await stored_role_steps(connection, [game.game_id for game in games])
    stored_roles = {step.place.game_id: (step.place, step.role) for step in steps}
    return breaks + _differences(said_roles, stored_roles, "role")


async def _ratings(connection: Connection) -> list[Break]:
    breaks: list[Break] = []
    newest: dict[tuple[str, str, str], Step] = {}
    rates: dict[tuple[str, str], tuple[Place, RoleCount]] = {}
    for game_type in await rated_types(connection):
        ratings, place, ladders = Ratings(), Place(BEFORE_ALL, ""), ladders_of(game_type)
        while games := await rated_games(connection, ladders, place, _GAMES):
            rated = [ratings.rate(game) for game in games]
            steps = [step for game in rated for step in game.steps]
            roles = [game.role for game in rated if game.role]
            newest |= {(step.ladder, step.agent_id, step.version): step for step in steps}
            rates |= {(game_type, step.role.content): (step.place, step.count) for step in roles}
            said = {f"{step.agent_id} in {step.place.game_id}": step for step in steps}
            names = [game.place.game_id for game in games]
            found = await stored_steps(connection, names)
            breaks += _differences(said, {f"{step.agent_id} in {step.place.game_id}": step for step in found}, "rating")
            place = games[-1].place
            stored = {step.place.game_id: step for step in await stored_role_steps(connection, names)}
            breaks += _differences({step.place.game_id: step for step in roles}, stored, "role counts")
    breaks += _differences(newest, await stored_lines(connection), "rating")
    return breaks + _differences(rates, await stored_role_rates(connection), "role counts")


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
