"""Ratings of agents by OpenSkill (arena.md, "Rating"): what each line comes to, game after game in their order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from openskill.models import PlackettLuce

from playmolt_core.db.ratings import Line, RatedSeat, Step, next_version


class Ladder:
    """The lines of the agents of one game type. An agent has to be learnt before it is rated."""

    def __init__(self) -> None:
        self._model = PlackettLuce()
        self._lines: dict[tuple[str, str], Line] = {}
        self._newest: dict[str, Step] = {}

    def learn(self, steps: Iterable[Step]) -> None:
        """Take what lines came to before the games that are rated here."""
        for step in steps:
            self._lines[step.agent_id, step.version] = step.line
            known = self._newest.get(step.agent_id)
            if known is None or known.place < step.place:
                self._newest[step.agent_id] = step

    def rate(self, seats: Sequence[RatedSeat]) -> list[Step]:
        """Rate the seats of one game, the best first."""
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
                Line(after.mu, after.sigma, line.games + 1, line.points + seat.points),
            )
            for seat, line, (after,) in zip(seats, before, rated, strict=True)
        ]
        self.learn(steps)
        return steps

    def _line(self, seat: RatedSeat) -> Line:
        known = self._lines.get((seat.agent_id, seat.version))
        if known is not None:
            return known
        newest = self._newest.get(seat.agent_id)
        return next_version(newest.line if newest else None)


def by_game(seats: Iterable[RatedSeat]) -> Iterator[list[RatedSeat]]:
    """Cut seats, in the order of their games, into games, each with the best seat first."""
    for _, game in groupby(seats, key=lambda seat: seat.place):
        yield sorted(game, key=lambda seat: seat.rank)
