"""Applies finished games to the projections: points, results, and OpenSkill ratings (arena.md, "Rating")."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from openskill.models import PlackettLuce

from playmolt_core.db.pool import Connection
from playmolt_core.db.projections import Score, add_scores
from playmolt_core.db.ratings import (
    Place,
    RatedSeat,
    RatingRow,
    SeatResult,
    Step,
    next_version,
    rated_ladders,
    rated_seats,
    steps_before,
    store_lines,
    store_results,
    store_steps,
)
from playmolt_core.relay.results import FinishedGame


class Ladder:
    """The ratings of the agents of one game type and pace. Call `learn` for an agent before it is rated."""

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._lines: dict[tuple[str, str], RatingRow] = {}
        self._newest: dict[str, Step] = {}

    def learn(self, steps: Iterable[Step]) -> None:
        """Load the ratings from before the games to rate."""
        for step in steps:
            self._lines[step.agent_id, step.version] = step.line
            known = self._newest.get(step.agent_id)
            if known is None or known.place < step.place:
                self._newest[step.agent_id] = step

    def rate(self, seats: Sequence[RatedSeat]) -> list[Step]:
        """Rate the seats of one game, best first."""
        before = [self._line(seat) for seat in seats]
        rated = self._model.rate(
            [[self._model.rating(mu=line.mu, sigma=line.sigma)] for line in before],
            ranks=[float(seat.rank) for seat in seats],
        )
        steps = [
            Step(
                seat.place,
                seat.agent_id,
                seat.version,
                RatingRow(after.mu, after.sigma, line.games + 1, line.points + seat.points),
            )
            for seat, line, (after,) in zip(seats, before, rated, strict=True)
        ]
        self.learn(steps)
        return steps

    def _line(self, seat: RatedSeat) -> RatingRow:
        known = self._lines.get((seat.agent_id, seat.version))
        if known is not None:
            return known
        newest = self._newest.get(seat.agent_id)
        return next_version(newest.line if newest else None)


def by_game(seats: Iterable[RatedSeat]) -> Iterator[list[RatedSeat]]:
    """Group seats, in the order of their games, by game, each with the best seat first."""
    for _, game in groupby(seats, key=lambda seat: seat.place):
        yield sorted(game, key=lambda seat: seat.rank)


_GAMES: Final = 500
"""Games rated at a time."""
BEFORE_ALL: Final = datetime(1970, 1, 1, tzinfo=UTC)


async def enter(connection: Connection, games: Iterable[FinishedGame]) -> None:
    """Enter the points and results of games, without rating them."""
    games = list(games)
    await _enter_points(connection, games)
    await store_results(connection, [result for game in games for result in results_of(game)])


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
    results = [result for game in games for result in results_of(game)]
    steps: list[Step] = []
    for ladder in sorted({game.ladder for game in games if game.rated}):
        entered = sorted(
            [result for result in results if result.ladder == ladder and result.rated and result.competes],
            key=lambda result: (result.ended_at, result.game_id, result.seat),
        )
        steps += await _rate(connection, ladder, entered[0].ended_at, [_rated_seat(result) for result in entered])
    await store_results(connection, results, steps)


def _rated_seat(result: SeatResult) -> RatedSeat:
    place = Place(result.ended_at, result.game_id)
    return RatedSeat(place, result.agent_id, result.version, result.rank or 0, result.points)


async def rate_all(connection: Connection) -> None:
    """Rate all entered games."""
    for ladder in await rated_ladders(connection):
        await _rate(connection, ladder, BEFORE_ALL)


async def _rate(connection: Connection, name: str, since: datetime, entered: Sequence[RatedSeat] = ()) -> list[Step]:
    """Rate the games of a ladder that ended at or after a time: those with results again, and those of `entered`, which
    have none yet, in the order of games. Returns the steps of the latter, to be stored with their results."""
    before = place = Place(since, "")
    fresh = {seat.place for seat in entered}
    ladder, learnt, unstored = Ladder(), set[str](), list[Step]()
    more = True
    while more:
        seats = await rated_seats(connection, name, place, _GAMES)
        more = bool(seats)
        place = seats[-1].place if seats else place
        due = [seat for seat in entered if not more or seat.place <= place]
        entered = entered[len(due) :]
        seats = sorted([*seats, *due], key=lambda seat: seat.place) if due else seats
        strangers = {seat.agent_id for seat in seats} - learnt
        ladder.learn(await steps_before(connection, name, sorted(strangers), before))
        learnt |= strangers
        steps = [step for game in by_game(seats) for step in ladder.rate(game)]
        await store_steps(connection, [step for step in steps if step.place not in fresh])
        await store_lines(connection, name, steps)
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
