"""A bounded search for tables at which few have met before, near the tables of equals that it begins with."""

from collections.abc import Sequence
from typing import Final

from playmolt_tournament.pairing.assignment import Numbers, cheapest

_WINDOWS: Final = (24, 96, 384)
"""How far from an entrant, in the order of the standings, a partner for a swap is looked for."""
_PASSES: Final = 3
_APPROACH_WINDOW: Final = 16
_COMPARED: Final = 400_000
"""The most pairs of entrants that one search compares: less than a second."""
_GROUP: Final = 12
"""The tables between which entrants are reassigned at a time. A reassignment costs the cube of it."""
_WORK: Final = 5_000_000
"""The sum of these cubes in one search: under a second."""
_TRIES: Final = 15_000
"""The most reassignments of one search."""
_NOISE: Final = 8
"""Random numbers below it are added to every cost, so that the tables keep changing."""
_CLASH: Final = (16, 9)
"""The cost of a clash in the first tries and in the others. Noise at times outweighs it, so the search leaves tables
from which no single step is better. Measured: with 16 most tables without a clash are found sooner; with 9 also those
of 42 entrants in their fourth round of six seats, which are rare."""
_FIRST: Final = 1_000


class Search:
    """The tables of one round while they are improved.

    Entrants are indices in the order of the standings. `avoid` has for each the bits of those it should not meet,
    `values` what near equals share: without it all are equal. Tables are first filled in this order, or in `order`.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        avoid: Sequence[int],
        numbers: Numbers,
        *,
        values: Sequence[int] = (),
        order: Sequence[int] = (),
        share: int = 1,
    ) -> None:
        """`share`: how many searches share the work of one."""
        self.tables: list[list[int]] = []
        self._avoid = avoid
        self._values = values or [0] * len(avoid)
        self._numbers = numbers
        self._of = [0] * len(avoid)
        self._masks: list[int] = []
        self._targets: list[int] = []
        self._left = _COMPARED // share
        self._tries = _TRIES // share
        self._work = _WORK // share
        order, first = order or range(len(avoid)), 0
        for table, size in enumerate(sizes):
            members = list(order[first : first + size])
            for member in members:
                self._of[member] = table
            self.tables.append(members)
            self._masks.append(sum(1 << member for member in members))
            self._targets.append(sum(self._values[member] for member in members) // size)
            first += size

    def run(self) -> int:
        """Improve the tables; returns the pairs at them that should not meet."""
        if len(self.tables) < 2:
            return self.clashes
        for window in _WINDOWS:
            self._improve(window)
        self._reassign()
        self._approach()
        return self.clashes

    @property
    def clashes(self) -> int:
        return sum(self._clashes_of(player) for player in range(len(self._of))) // 2

    def _clashes_of(self, player: int) -> int:
        return (self._avoid[player] & self._masks[self._of[player]]).bit_count()

    def _clashing(self) -> list[int]:
        return [player for player in range(len(self._of)) if self._avoid[player] & self._masks[self._of[player]]]

    def _change(self, player: int, other: int) -> int:
        """By how much the clashes grow if two entrants of different tables change places."""
        avoid, of, masks = self._avoid, self._of, self._masks
        here, there = masks[of[player]], masks[of[other]]
        mine, theirs = avoid[player], avoid[other]
        return (
            (mine & there).bit_count()
            + (theirs & here).bit_count()
            - (mine & here).bit_count()
            - (theirs & there).bit_count()
            - 2 * (mine >> other & 1)
        )

    def _distance(self, player: int, other: int) -> int:
        """By how much the two come apart from their equals if they change places."""
        values, targets, of = self._values, self._targets, self._of
        return (values[player] - values[other]) * (targets[of[player]] - targets[of[other]])

    def _swap(self, player: int, other: int) -> None:
        here, there = self._of[player], self._of[other]
        both = 1 << player | 1 << other
        self._masks[here] ^= both
        self._masks[there] ^= both
        self.tables[here][self.tables[here].index(player)] = other
        self.tables[there][self.tables[there].index(other)] = player
        self._of[player], self._of[other] = there, here

    def _improve(self, window: int) -> None:
        """Swap who clashes with the nearest entrant with whom clashes decrease, as long as that helps."""
        for _ in range(_PASSES):
            swapped = False
            for player in self._clashing():
                if self._left > 0 and self._clashes_of(player):
                    swapped |= self._improve_one(player, window)
            if not swapped:
                return

    def _improve_one(self, player: int, window: int) -> bool:
        count, table = len(self._of), self._of[player]
        best, gain, apart = -1, 0, 0
        for distance in range(1, window + 1):
            for other in (player - distance, player + distance):
                if not 0 <= other < count or self._of[other] == table:
                    continue
                self._left -= 1
                change = self._change(player, other)
                if change < 0 and (change, self._distance(player, other)) < (gain, apart):
                    best, gain, apart = other, change, self._distance(player, other)
            if best >= 0 and distance >= len(self.tables[table]):
                break
        if best >= 0:
            self._swap(player, best)
        return best >= 0

    def _reassign(self) -> None:
        """Take one entrant from each of some tables and seat them among these tables in the best way, again and again.

        A swap of two is too small a step where a third of all pairs have met: this finds tables without a clash where
        swaps find none. The best tables are kept.
        """
        tries = min(self._tries, self._work // min(len(self.tables), _GROUP) ** 3)
        left = clashes = self.clashes
        kept = [list(table) for table in self.tables]
        for number in range(tries):
            if not clashes:
                return
            group = self._group()
            before = self._clashes_at(group)
            self._reassign_at(group, _CLASH[number >= _FIRST])
            clashes += self._clashes_at(group) - before
            if clashes < left:
                left, kept = clashes, [list(table) for table in self.tables]
        self._restore(kept)

    def _group(self) -> list[int]:
        """Tables with clashes, and others up to the size of a group."""
        below, count = self._numbers.below, len(self.tables)
        if count <= _GROUP:
            return list(range(count))
        group: dict[int, None] = {}
        clashing = self._clashing()
        for _ in range(_GROUP // 2):
            group[self._of[clashing[below(len(clashing))]]] = None
        while len(group) < _GROUP:
            group[below(count)] = None
        return list(group)

    def _clashes_at(self, group: Sequence[int]) -> int:
        return sum(self._clashes_of(player) for table in group for player in self.tables[table]) // 2

    def _reassign_at(self, group: list[int], clash: int) -> None:
        below, avoid, masks = self._numbers.below, self._avoid, self._masks
        rests, taken = [], []
        for table in group:
            members = self.tables[table]
            clashing = [player for player in members if avoid[player] & masks[table]]
            pool = clashing if clashing and below(4) else members
            player = pool[below(len(pool))]
            members.remove(player)
            taken.append(player)
            rests.append(masks[table] & ~(1 << player))
        self._numbers.shuffle(taken)
        costs = [[(avoid[player] & rest).bit_count() * clash + below(_NOISE) for rest in rests] for player in taken]
        for player, column in zip(taken, cheapest(costs), strict=True):
            table = group[column]
            self.tables[table].append(player)
            masks[table] = rests[column] | 1 << player
            self._of[player] = table

    def _restore(self, tables: list[list[int]]) -> None:
        self.tables = tables
        for table, members in enumerate(tables):
            self._masks[table] = sum(1 << member for member in members)
            for member in members:
                self._of[member] = table

    def _approach(self) -> None:
        """Bring equals together again without a further clash."""
        count, left = len(self._of), _COMPARED // 4
        for _ in range(_PASSES):
            swapped = False
            for player in range(count):
                if left <= 0 or self._values[player] == self._targets[self._of[player]]:
                    continue
                for distance in range(1, _APPROACH_WINDOW + 1):
                    for other in (player - distance, player + distance):
                        if 0 <= other < count and self._of[other] != self._of[player]:
                            left -= 1
                            if self._distance(player, other) < 0 and self._change(player, other) <= 0:
                                self._swap(player, other)
                                swapped = True
            if not swapped:
                return
