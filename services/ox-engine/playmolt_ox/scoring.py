"""Counting: what a round pays, who leads, who gets what in the end."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.stored.ox import Choice, Distribution, GameEnded, OxResult, RoundCounted, ScoreboardRow
from playmolt_schemas.stored.values import identity_of

from playmolt_ox.state import Seat, State

RANK_POINTS: Final = (200, 100, 60, 40, 20)


def distribution(choices: Iterable[Choice | None]) -> Distribution:
    """Count how many chose what."""
    counted = list(choices)
    return Distribution(o=counted.count("O"), x=counted.count("X"))


def minority_of(shares: Distribution) -> tuple[Choice | None, int]:
    """The minority side and the points of each of its members: m × (m - 1) for a majority of m; None and 0 for 5:0."""
    if not shares.o or not shares.x:
        return None, 0
    majority = max(shares.o, shares.x)
    return ("O" if shares.o < shares.x else "X"), majority * (majority - 1)


def count_round(state: State) -> RoundCounted:
    """Counts the final choices of a round; all must have been submitted."""
    final = {seat.id: state.final_choice(seat.id) for seat in state.seats}
    shares = distribution(final.values())
    minority, points = minority_of(shares)
    winners = tuple(seat.id for seat in state.seats if final[seat.id] == minority)
    paid = [
        replace(seat, points=seat.points + points, monopolies=seat.monopolies + (len(winners) == 1))
        if seat.id in winners
        else seat
        for seat in state.seats
    ]
    return RoundCounted(
        round=state.round,
        final_distribution=shares,
        minority=minority,
        points_awarded=points,
        winners=winners,
        scoreboard=scoreboard(paid),
    )


def scoreboard(seats: Iterable[Seat]) -> tuple[ScoreboardRow, ...]:
    """Ranks the seats of a running game. Ties are ordered by name: an order by lots would reveal the seed."""
    ranked = sorted(seats, key=lambda seat: (-seat.points, -seat.monopolies, seat.name, seat.id))
    return tuple(_line(seat) for seat in ranked)


def final_result(state: State) -> GameEnded:
    """Ranks the seats of a finished game by points, then monopolies; away and resigned seats come last.

    Equals share a rank, and the points of its places; lots decide the order in which they are listed.
    """
    lot = {agent: place for place, agent in enumerate(state.lots)}

    def merit(seat: Seat) -> tuple[int, ...]:
        return (state.standing(seat.id), -seat.points, -seat.monopolies)

    ranked = sorted(state.seats, key=lambda seat: (*merit(seat), lot[seat.id]))
    merits = [merit(seat) for seat in ranked]
    first = [merits.index(each) for each in merits]
    winners = tuple(seat.id for seat, place in zip(ranked, first, strict=True) if place == 0)
    return GameEnded(
        winner_id=winners[0] if len(winners) == 1 else None,
        winner_ids=winners,
        final_scoreboard=tuple(_line(seat) for seat in ranked),
        results=tuple(
            OxResult(
                agent_id=seat.id,
                name=seat.name,
                rank=place + 1,
                points=0 if state.attends(seat.id).resigned else _shared(place, first.count(place)),
                game_points=seat.points,
                monopolies=seat.monopolies,
                **identity_of(seat),
                resigned=True if state.attends(seat.id).resigned else UNSET,
            )
            for seat, place in zip(ranked, first, strict=True)
        ),
        faults=state.faults,
        private=state.private,
    )


def _shared(place: int, seats: int) -> int:
    """What each of the seats that share the places from this one on earns."""
    return sum(RANK_POINTS[place : place + seats]) // seats


def _line(seat: Seat) -> ScoreboardRow:
    return ScoreboardRow(
        id=seat.id,
        name=seat.name,
        points=seat.points,
        monopolies=seat.monopolies,
        switch_available=not seat.switch_used,
        **identity_of(seat),
    )
