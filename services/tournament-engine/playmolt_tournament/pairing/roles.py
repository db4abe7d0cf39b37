"""Roles at the tables of a whole plan, so that each entrant has each role equally often, or once more.

Two roles are balanced at a time. Each table is an edge between those who have them there; an orientation in which as
many edges leave each entrant as enter it, or one more, gives both roles equally often. It always exists: the way
through an Eulerian graph. Roles of several seats are first balanced as a whole against as many seats of other roles.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from playmolt_schemas.stored.tournament import HOUSE_SEAT, Table

_PASSES: Final = 100
"""Roles are balanced in pairs again until all are; each pass moves counts together, so that few are needed."""
_Seats = list[list[int]]
"""Table → who has each seat; house bots have numbers below 0, a different one each."""
_Places = Sequence[int]
"""Places of seats at a table."""


def rotated(games: Sequence[Sequence[int]], kinds: Sequence[int]) -> list[Table]:
    """Seat the entrants of each table, whose numbers begin at 1; empty seats are HOUSE_SEAT.

    Of entrants with equally many games, the counts of a role differ by one at most if its kind has one seat, or as many
    as all other kinds together. For others they are near each other.
    """
    house, seats = 0, []
    for game in games:
        empty = len(kinds) - len(game)
        seats.append([*game, *range(house - empty, house)])
        house -= empty
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        places[kind].append(place)
    _balance(seats, list(places.values()))
    return [tuple(max(number, HOUSE_SEAT) for number in table) for table in seats]


def _balance(seats: _Seats, kinds: Sequence[_Places]) -> None:
    """Balance these kinds of roles; each is given by its places."""
    half = _half(kinds)
    if half is not None:
        first, second = ([kind for kind in kinds if (kind in half) is there] for there in (True, False))
        _halve(seats, *([place for kind in side for place in kind] for side in (first, second)))
        _balance(seats, first)
        _balance(seats, second)
        return
    for _ in range(_PASSES):
        uneven = [pair for pair in combinations(kinds, 2) if len(pair[0]) == len(pair[1]) and _uneven(seats, *pair)]
        if not uneven:
            return
        _halve(seats, *uneven[0])


def _half(kinds: Sequence[_Places]) -> Sequence[_Places] | None:
    """Kinds with half of all seats together, if they are fewer than all others; else pairs are balanced at once."""
    whole = sum(map(len, kinds))
    for size in range(1, len(kinds)):
        for some in combinations(kinds, size):
            if 2 * sum(map(len, some)) == whole and 2 * size < len(kinds):
                return some
    return None


def _uneven(seats: _Seats, first: _Places, second: _Places) -> bool:
    """Whether anybody has the first kind twice more often than the second one, or the other way round."""
    counts = Counter[int]()
    for table in seats:
        counts.update(table[place] for place in first)
        counts.subtract(table[place] for place in second)
    return any(abs(count) > 1 for count in counts.values())


def _halve(seats: _Seats, first: _Places, second: _Places) -> None:
    """Exchange those at places of the first kind with those of the second, until everybody has both equally often."""
    edges = [(table, one, other) for table in seats for one, other in zip(first, second, strict=True)]
    ends = [(table[one], table[other]) for table, one, other in edges]
    at = defaultdict[int, list[int]](list)
    for place, pair in enumerate(ends):
        for number in pair:
            at[number].append(place)
    odd = [number for number, mine in at.items() if len(mine) % 2]
    for pair in zip(odd[::2], odd[1::2], strict=True):
        for number in pair:
            at[number].append(len(ends))
        ends.append(pair)
    used = [False] * len(ends)
    for start in at:
        here = start
        while (edge := _next(at[here], used)) is not None:
            used[edge] = True
            one, other = ends[edge]
            if here == other and edge < len(edges):
                table, first_place, second_place = edges[edge]
                table[first_place], table[second_place] = other, one
            here = other if here == one else one


def _next(edges: list[int], used: Sequence[bool]) -> int | None:
    while edges:
        if not used[edge := edges.pop()]:
            return edge
    return None
