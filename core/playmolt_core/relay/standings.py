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
    rated_seats,
    rated_types,
    steps_before,
    store_results,
    store_steps,
)
from playmolt_core.relay.results import FinishedGame


class Ladder:
    """The ratings of the agents of one game type. Call `learn` for an agent before it is rated."""

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
    scores, results = [], []
    for game in games:
        if not game.private:
            scores += [Score(seat.agent_id, game.game_type, seat.points, 1) for seat in game.seats]
        results += results_of(game)
    await add_scores(connection, scores)
    await store_results(connection, results)


async def enter_and_rate(connection: Connection, games: Iterable[FinishedGame]) -> None:
    """Enter games and rate again from the earliest of them: one may be older than games already rated."""
    games = list(games)
    await enter(connection, games)
    rated = [game for game in games if game.rated]
    for game_type in sorted({game.game_type for game in rated}):
        earliest = min(game.ended_at for game in rated if game.game_type == game_type)
        await _rate(connection, game_type, earliest)


async def rate_all(connection: Connection) -> None:
    """Rate all entered games."""
    for game_type in await rated_types(connection):
        await _rate(connection, game_type, BEFORE_ALL)


async def _rate(connection: Connection, game_type: str, since: datetime) -> None:
    """Rate the games of a type that ended at or after a time, including those that were rated already."""
    before = place = Place(since, "")
    ladder, learnt = Ladder(), set[str]()
    while seats := await rated_seats(connection, game_type, place, _GAMES):
        strangers = {seat.agent_id for seat in seats} - learnt
        ladder.learn(await steps_before(connection, game_type, sorted(strangers), before))
        learnt |= strangers
        await store_steps(connection, game_type, [step for game in by_game(seats) for step in ladder.rate(game)])
        place = seats[-1].place


def results_of(game: FinishedGame) -> list[SeatResult]:
    """The result rows of a game."""
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
