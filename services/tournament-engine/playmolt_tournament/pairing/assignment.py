"""What the searches are made of: fast seeded numbers, and assignments of least cost."""

from collections.abc import Sequence
from typing import Final

from playmolt_core.game import draws

_MASK: Final = (1 << 64) - 1
_SEED_BOUND: Final = 1 << 64
_MOST: Final = 1 << 60


class Numbers:
    """A stream of numbers for one search: the same seed and name give the same numbers on every machine.

    `draws` hashes for each number; a search needs hundreds of thousands.
    """

    __slots__ = ("_state",)

    def __init__(self, seed: str, name: str) -> None:
        self._state = draws.below(seed, name, _SEED_BOUND)

    def below(self, bound: int) -> int:
        """An integer from 0 to bound - 1; its bias is below bound / 2**31."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return (self._state >> 33) % bound

    def shuffle(self, items: list[int]) -> None:
        """Shuffle a list in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def cheapest(costs: Sequence[Sequence[int]]) -> list[int]:
    """The column of each row in an assignment of least total cost: the Hungarian method, cubic in the size."""
    size = len(costs)
    rows, columns = [0] * (size + 1), [0] * (size + 1)
    row_of = [0] * (size + 1)
    every = range(1, size + 1)
    for row in every:
        row_of[0], column = row, 0
        least, came, done = [_MOST] * (size + 1), [0] * (size + 1), [False] * (size + 1)
        while row_of[column]:
            done[column] = True
            at, delta, following = row_of[column], _MOST, 0
            line, base = costs[at - 1], rows[at]
            for other in every:
                if done[other]:
                    continue
                reduced = line[other - 1] - base - columns[other]
                if reduced < least[other]:
                    least[other], came[other] = reduced, column
                if least[other] < delta:
                    delta, following = least[other], other
            for other in range(size + 1):
                if done[other]:
                    rows[row_of[other]] += delta
                    columns[other] -= delta
                else:
                    least[other] -= delta
            column = following
        while column:
            row_of[column] = row_of[came[column]]
            column = came[column]
    found = [0] * size
    for column in every:
        found[row_of[column] - 1] = column - 1
    return found
