"""Swiss pairings: tables of near equals, at which no two meet twice where that can be promised."""

from collections.abc import Sequence
from typing import Final

from playmolt_schemas.stored.tournament import Table

from playmolt_tournament.pairing.assignment import Numbers
from playmolt_tournament.pairing.search import Search
from playmolt_tournament.pairing.tables import (
    kinds_of,
    met_before,
    role_cost,
    role_counts,
    seated,
    sizes,
    with_roles,
)
from playmolt_tournament.state import Entrant, State

_ATTEMPTS: Final = 6
"""Searches with other numbers where tables without a repeat are promised."""
_ROLE_SWAPS: Final = 3_000
"""The most swaps that are tried for better roles: a third of a second."""
_ROLE_WINDOW: Final = 30
"""How far away, in the order of the standings, equals are looked for."""


def promised(entrants: int, seats: int, rounds: int) -> bool:
    """Whether no two of so many entrants meet twice in so many rounds."""
    return len(sizes(entrants, seats)) >= seats and entrants >= 2 * (seats - 1) * rounds + 1


def tables(state: State, number: int) -> tuple[Table, ...]:
    """The tables of a round; the first are those of the highest in the standings."""
    order = by_standing(state, list(state.present), f"round/{number}")
    met = met_before(state)
    attempts = _ATTEMPTS if promised(len(order), state.seats, number) else 1
    found = nearest(order, met, state, f"round/{number}", attempts)
    return _Roles(state, found, order, met).balanced() if state.roles and len(found) > 1 else seated(state, found)


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


class _Roles:
    """Swaps entrants with equals of other tables, so that fewer have a role again before others have it once."""

    def __init__(self, state: State, tables: list[list[int]], order: Sequence[Entrant], met: dict[int, int]) -> None:
        self._tables = tables
        self._met = met
        self._order = order
        self._kinds = kinds_of(state.roles)
        self._counts = role_counts(state)
        self._seats = [with_roles(table, self._kinds, self._counts) for table in tables]
        self._costs = [self._cost(seats) for seats in self._seats]
        self._place = {entrant.number: place for place, entrant in enumerate(order)}
        self._of = {number: index for index, table in enumerate(tables) for number in table}
        self._left = _ROLE_SWAPS

    def balanced(self) -> tuple[Table, ...]:
        least = min(self._costs)
        for index in sorted(range(len(self._tables)), key=lambda each: -self._costs[each]):
            if self._costs[index] > least and self._left > 0:
                self._improve(index)
        return tuple(self._seats)

    def _cost(self, seats: Table) -> int:
        return role_cost(seats, self._kinds, self._counts)

    def _improve(self, index: int) -> None:
        """Swap each entrant of a table at most once."""
        for number in list(self._tables[index]):
            for other in self._equals(number):
                if self._left > 0 and self._of[other] != index and self._swapped(number, other):
                    break

    def _equals(self, number: int) -> list[int]:
        """Entrants with the same points and wins, the nearest first."""
        place = self._place[number]
        mine = self._order[place]
        near = self._order[max(0, place - _ROLE_WINDOW) : place + _ROLE_WINDOW + 1]
        same = [other.number for other in near if (other.points, other.wins) == (mine.points, mine.wins)]
        return sorted(same, key=lambda other: (abs(self._place[other] - place), other))

    def _swapped(self, number: int, other: int) -> bool:
        """Whether a swap gave better roles at both tables together, without a pair that met before."""
        here, there = self._of[number], self._of[other]
        mine = [other if each == number else each for each in self._tables[here]]
        theirs = [number if each == other else each for each in self._tables[there]]
        if self._meet(other, mine) > self._meet(number, self._tables[here]):
            return False
        if self._meet(number, theirs) > self._meet(other, self._tables[there]):
            return False
        self._left -= 1
        seats = [with_roles(table, self._kinds, self._counts) for table in (mine, theirs)]
        costs = [self._cost(each) for each in seats]
        if sum(costs) >= self._costs[here] + self._costs[there]:
            return False
        for index, table, each, cost in zip((here, there), (mine, theirs), seats, costs, strict=True):
            self._tables[index], self._seats[index], self._costs[index] = table, each, cost
        self._of[number], self._of[other] = there, here
        return True

    def _meet(self, number: int, table: Sequence[int]) -> int:
        """With how many at a table an entrant met before."""
        met = self._met[number]
        return sum(met >> other & 1 for other in table if other != number)
