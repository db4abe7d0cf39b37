"""Swiss pairings: tables of near equals, at which no two meet twice where that can be promised."""

from collections.abc import Sequence
from typing import Final

from playmolt_schemas.stored.tournament import Table

from playmolt_tournament.pairing.assignment import Numbers
from playmolt_tournament.pairing.search import Search
from playmolt_tournament.pairing.tables import met_before, seated, sizes
from playmolt_tournament.state import Entrant, State

_ATTEMPTS: Final = 6
"""Searches with other numbers where tables without a repeat are promised."""


def promised(entrants: int, seats: int, rounds: int) -> bool:
    """Whether no two of so many entrants meet twice in so many rounds."""
    return len(sizes(entrants, seats)) >= seats and entrants >= 2 * (seats - 1) * rounds + 1


def tables(state: State, number: int) -> tuple[Table, ...]:
    """The tables of a round; the first are those of the highest in the standings."""
    order = by_standing(state, list(state.present), f"round/{number}")
    met = met_before(state)
    attempts = _ATTEMPTS if promised(len(order), state.seats, number) else 1
    return seated(state, nearest(order, met, state, f"round/{number}", attempts))


def by_standing(state: State, entrants: Sequence[Entrant], name: str) -> list[Entrant]:
    """Entrants by points and wins; equals in a random order, another one for each round."""
    places = list(range(len(entrants)))
    Numbers(state.seed, f"{name}/lots").shuffle(places)
    shuffled = [entrants[place] for place in places]
    return sorted(shuffled, key=lambda entrant: (-entrant.points, -entrant.wins))


def nearest(order: Sequence[Entrant], met: dict[int, int], state: State, name: str, attempts: int) -> list[list[int]]:
    """Tables of entrants that are near in this order, with as few as possible who met before (`met`: bits)."""
    place = {entrant.number: index for index, entrant in enumerate(order)}
    avoid = [_moved(met[entrant.number], place) for entrant in order]
    best: list[list[int]] = []
    least = -1
    for attempt in range(attempts):
        numbers = Numbers(state.seed, f"{name}/{attempt}")
        search = Search(sizes(len(order), state.seats), avoid, numbers, values=_values(order))
        clashes = search.run()
        if least < 0 or clashes < least:
            best, least = search.tables, clashes
        if not least:
            break
    return [[order[index].number for index in sorted(table)] for table in best]


def _moved(bits: int, place: dict[int, int]) -> int:
    """Bits of numbers as bits of places; numbers without a place are dropped."""
    moved = 0
    while bits:
        lowest = bits & -bits
        bits ^= lowest
        to = place.get(lowest.bit_length() - 1)
        if to is not None:
            moved |= 1 << to
    return moved


def _values(order: Sequence[Entrant]) -> list[int]:
    """Twice the middle place of all with the same points and wins."""
    values: list[int] = []
    while len(values) < len(order):
        first = len(values)
        key = (order[first].points, order[first].wins)
        last = first
        while last + 1 < len(order) and (order[last + 1].points, order[last + 1].wins) == key:
            last += 1
        values += [first + last] * (last - first + 1)
    return values
