"""Applies finished games to the projections: points, results, and OpenSkill ratings (docs/ratings.md)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, NamedTuple

from openskill.models import PlackettLuce
from playmolt_schemas.identity import ladders_of, type_of_ladder
from playmolt_schemas.rating import rested_sigma, role_offset

from playmolt_core.db.pool import Connection
from playmolt_core.db.projections import Score, add_scores
from playmolt_core.db.ratings import (
    Place,
    RatedGame,
    RatedSeat,
    RatingRow,
    RoleCount,
    RoleResult,
    RoleStep,
    SeatResult,
    Step,
    next_version,
    rated_games,
    rated_ladders,
    role_counts_before,
    steps_before,
    store_lines,
    store_results,
    store_role_steps,
    store_steps,
)
from playmolt_core.relay.results import FinishedGame


class Rated(NamedTuple):
    """What a game changed: the ratings of its seats, and the counts of its content version."""

    steps: Sequence[Step]
    role: RoleStep | None


class Ratings:
    """The ratings of the agents of one game type, on all its ladders.

    Before it is rated, an agent needs `learn` and a content version `learn_roles`.
    """

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._lines: dict[tuple[str, str, str], Step] = {}
        self._newest: dict[tuple[str, str], Step] = {}
        self._roles: dict[str, RoleCount] = {}

    def learn(self, steps: Iterable[Step]) -> None:
        """Load the ratings from before the games to rate."""
        for step in steps:
            self._lines[step.ladder, step.agent_id, step.version] = step
            known = self._newest.get((step.ladder, step.agent_id))
            if known is None or known.place < step.place:
                self._newest[step.ladder, step.agent_id] = step

    def learn_roles(self, counts: Mapping[str, RoleCount]) -> None:
        """Load the counts of content versions from before the games to rate."""
        self._roles |= counts

    def rate(self, game: RatedGame) -> Rated:
        """Rate one game."""
        seats = sorted(game.seats, key=lambda seat: seat.rank)
        before = [self._line(game, seat) for seat in seats]
        offsets = self._offsets(game.role, before)
        rated = self._model.rate(
            [
                [self._model.rating(mu=line.mu + offset, sigma=line.sigma)]
                for line, offset in zip(before, offsets, strict=True)
            ],
            ranks=[float(seat.rank) for seat in seats],
        )
        steps = [
            Step(
                game.place,
                game.ladder,
                seat.agent_id,
                seat.version,
                RatingRow(after.mu - offset, after.sigma, line.games + 1, line.points + seat.points),
            )
            for seat, line, offset, (after,) in zip(seats, before, offsets, rated, strict=True)
        ]
        self.learn(steps)
        return Rated(steps, self._counted(game))

    def _line(self, game: RatedGame, seat: RatedSeat) -> RatingRow:
        """The rating with which a seat enters a game: uncertainty has grown since the last game of the version."""
        known = self._lines.get((game.ladder, seat.agent_id, seat.version))
        if known is None:
            newest = self._newest.get((game.ladder, seat.agent_id))
            return next_version(newest.line if newest else None)
        line = known.line
        sigma = rested_sigma(line.sigma, known.place.ended_at, game.place.ended_at)
        return RatingRow(line.mu, sigma, line.games, line.points)

    def _offsets(self, role: RoleResult | None, before: Sequence[RatingRow]) -> Sequence[float]:
        """What each seat's mu is raised by, best seat first; not 0 for the measured role alone."""
        if role is None:
            return [0.0] * len(before)
        rate = self._roles.get(role.content, RoleCount()).rate
        offset = role_offset(rate, [line.sigma for line in before])
        return [offset, 0.0] if role.won else [0.0, offset]

    def _counted(self, game: RatedGame) -> RoleStep | None:
        if game.role is None:
            return None
        known = self._roles.get(game.role.content, RoleCount())
        count = RoleCount(known.games + 1, known.wins + game.role.won)
        self._roles[game.role.content] = count
        return RoleStep(game.place, game.role, count)


_GAMES: Final = 500
"""Games rated at a time."""
BEFORE_ALL: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def _enter_points(connection: Connection, games: Iterable[FinishedGame]) -> None:
    scores = [
        Score(seat.agent_id, game.game_type, seat.points, 1)
        for game in games
        if not game.private
        for seat in game.seats
    ]
    await add_scores(connection, scores)


async def enter_and_rate(connection: Connection, games: Iterable[FinishedGame]) -> None:
    """Enter games and rate again from the earliest of them: one may be older than games already rated."""
    games = list(games)
    await _enter_points(connection, games)
    steps: list[Step] = []
    fresh = sorted((rated for game in games if (rated := rated_game(game))), key=lambda game: game.place)
    for game_type, entered in groupby(sorted(fresh, key=_type_of), key=_type_of):
        steps += await _rate(connection, game_type, list(entered))
    await store_results(connection, [result for game in games for result in results_of(game)], steps)


def _type_of(game: RatedGame) -> str:
    return type_of_ladder(game.ladder)


def rated_game(game: FinishedGame) -> RatedGame | None:
    """The game as the ratings see it; None if it is not rated."""
    if not game.rated:
        return None
    seats = tuple(
        RatedSeat(seat.agent_id, seat.version, seat.rank or 0, seat.points) for seat in game.seats if seat.competes
    )
    return RatedGame(Place(game.ended_at, game.game_id), game.ladder, seats, game.role)


async def rated_types(connection: Connection) -> Sequence[str]:
    """The game types with rated games."""
    return sorted({type_of_ladder(ladder) for ladder in await rated_ladders(connection)})


async def _rate(connection: Connection, game_type: str, entered: Sequence[RatedGame]) -> Sequence[Step]:
    """Rate games of a type: `entered`, which have no results yet, and the stored ones since the first of them.

    Returns the steps of `entered`, to be stored with their results. All ladders are rated together, since the games of
    a content version on all of them count for its roles.
    """
    ladders = ladders_of(game_type)
    before = place = Place(entered[0].place.ended_at, "")
    fresh = {game.place for game in entered}
    ratings, learnt, learnt_roles, unstored = Ratings(), set[str](), set[str](), list[Step]()
    more = True
    while more:
        games = await rated_games(connection, ladders, place, _GAMES)
        more = bool(games)
        place = games[-1].place if games else place
        due = [game for game in entered if not more or game.place <= place]
        entered = entered[len(due) :]
        games = sorted([*games, *due], key=lambda game: game.place) if due else games
        strangers = {seat.agent_id for game in games for seat in game.seats} - learnt
        ratings.learn(await steps_before(connection, ladders, sorted(strangers), before))
        learnt |= strangers
        contents = {game.role.content for game in games if game.role} - learnt_roles
        if contents:
            ratings.learn_roles(await role_counts_before(connection, game_type, sorted(contents), before))
            learnt_roles |= contents
        rated = [ratings.rate(game) for game in games]
        steps = [step for game in rated for step in game.steps]
        await store_steps(connection, [step for step in steps if step.place not in fresh])
        await store_lines(connection, steps)
        await store_role_steps(connection, game_type, [game.role for game in rated if game.role])
        unstored += [step for step in steps if step.place in fresh]
    return unstored


def results_of(game: FinishedGame) -> list[SeatResult]:
    """The result rows of a game."""
    return [
        SeatResult(
            game_id=game.game_id,
            agent_id=seat.agent_id,
            ladder=game.ladder,
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
