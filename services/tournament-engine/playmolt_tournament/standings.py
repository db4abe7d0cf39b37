"""Standings: points of places, then wins, then Buchholz in a swiss tournament; equals share a rank."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from playmolt_schemas.stored.tournament import BoardRow, StandingsRow

from playmolt_tournament.state import Entrant, State


def standings(state: State) -> tuple[StandingsRow, ...]:
    """A row for each entrant that takes part or has played, in the order of the ranks; equals by number.

    A few milliseconds for hundreds of entrants; after the end, the stored ones.
    """
    if state.over:
        return state.standings
    buchholz = _buchholz(state) if state.format == "swiss" else {}
    shown = (entrant for entrant in state.entrants if entrant.state != "left" or entrant.games or entrant.playing)
    rows = [_row(entrant, buchholz.get(entrant.number, 0)) for entrant in shown]
    rows.sort(key=lambda row: (-row.points, -row.wins, -row.buchholz, row.number))
    keys = [(row.points, row.wins, row.buchholz) for row in rows]
    return tuple(replace(row, rank=rank) for row, rank in zip(rows, _ranks(keys), strict=True))


def _row(entrant: Entrant, buchholz: int) -> StandingsRow:
    return StandingsRow(
        rank=0,
        number=entrant.number,
        points=entrant.points,
        wins=entrant.wins,
        buchholz=buchholz,
        games=entrant.games,
    )


def _ranks(keys: Sequence[object]) -> list[int]:
    """1 for the first; equal neighbours share the rank of the first of them."""
    ranks: list[int] = []
    for place, key in enumerate(keys):
        ranks.append(ranks[-1] if place and key == keys[place - 1] else place + 1)
    return ranks


def _buchholz(state: State) -> dict[int, int]:
    """Entrant → the points of its opponents in games with a result, each as often as they met."""
    points = [0, *(entrant.points for entrant in state.entrants)]
    found = dict.fromkeys(range(1, len(points)), 0)
    for each in state.rounds:
        for table in each.tables:
            if table.outcome == "ended":
                numbers = table.numbers
                whole = sum(points[number] for number in numbers)
                for number in numbers:
                    found[number] += whole - points[number]
    return found


def board(rows: Sequence[BoardRow], most: int) -> tuple[BoardRow, ...]:
    """A season's board, ranked: points, then wins, then shared; equals by id. Only its first `most` rows."""
    ordered = sorted(rows, key=lambda row: (-row.points, -row.wins, row.agent_id))
    ranks = _ranks([(row.points, row.wins) for row in ordered])
    return tuple(replace(row, rank=rank) for row, rank in zip(ordered[:most], ranks, strict=False))


class Meetings(msgspec.Struct, frozen=True):
    """The least and the most meetings of any two entrants."""

    min: int
    max: int


def meetings(state: State) -> Meetings:
    """How often any two entrants that did not leave met; 0 and 0 for fewer than two."""
    staying = {entrant.number for entrant in state.entrants if entrant.state != "left"}
    counts: dict[tuple[int, int], int] = {}
    for each in state.rounds:
        for table in each.tables:
            numbers = [number for number in sorted(table.numbers) if number in staying]
            for place, one in enumerate(numbers):
                for other in numbers[place + 1 :]:
                    counts[one, other] = counts.get((one, other), 0) + 1
    pairs = len(staying) * (len(staying) - 1) // 2
    least = min(counts.values()) if counts and len(counts) == pairs else 0
    return Meetings(least, max(counts.values(), default=0))
