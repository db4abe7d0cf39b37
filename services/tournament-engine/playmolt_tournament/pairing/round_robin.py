"""Round robin: any two meet about equally often.

A whole plan is made for the entrants at the start, from which each round takes its tables: by geometry where the
numbers allow it, else by a search over all rounds at once. After a withdrawal every round plans those that remain.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from playmolt_schemas.stored.tournament import HOUSE_SEAT, Table

from playmolt_tournament.pairing.assignment import Numbers, cheapest
from playmolt_tournament.pairing.roles import rotated
from playmolt_tournament.pairing.search import Search
from playmolt_tournament.pairing.tables import kinds_of, seated, sizes
from playmolt_tournament.state import State

Plan = tuple[tuple[tuple[int, ...], ...], ...]
"""Round → table → indices of entrants."""
_JOINT_ENTRANTS: Final = 64
"""Larger plans are made round by round."""
_STEPS: Final = 40_000
_MOST_SEATS: Final = 100_000
"""Entrants times rounds of a plan that is made round by round at the start, so that roles rotate: at most five
seconds."""
_WORK: Final = 4_000_000
"""Costs compared by one search over all rounds: about a second."""
_SHARED_ROUNDS: Final = 8
"""Of a plan that is made round by round at the start, so many searches take the time of one."""
_NOISE: Final = 32
"""Random numbers below it are added to the costs of most steps, so that the search leaves plans from which no step is
better."""


def tables(state: State, number: int) -> tuple[Table, ...]:
    """The tables of a round, with the role of each entrant."""
    numbers = [entrant.number for entrant in state.present]
    rounds = state.rounds_planned or number
    plan = None
    if tuple(numbers) == state.started_with:
        plan = planned(len(numbers), state.seats, rounds, state.seed)
        if plan is None and state.roles and len(numbers) * rounds <= _MOST_SEATS:
            plan = _in_turn(len(numbers), state.seats, rounds, state.seed)
    if plan is None:
        found = _next_tables(state, number, numbers, rounds - number + 1)
        return seated(state, [[numbers[index] for index in table] for table in found])
    if not state.roles:
        return seated(state, [[numbers[index] for index in table] for table in plan[number - 1]])
    found = _rotated(plan, kinds_of(state.roles))[number - 1]
    return tuple(tuple(numbers[seat - 1] if seat else HOUSE_SEAT for seat in table) for table in found)


def _next_tables(state: State, number: int, entrants: Sequence[int], rounds: int) -> Sequence[Sequence[int]]:
    """The next round after those that were played, of this many that remain."""
    place = {entrant: index for index, entrant in enumerate(entrants)}
    past = [
        [place[entrant] for entrant in table.numbers if entrant in place]
        for each in state.rounds
        for table in each.tables
    ]
    sized, numbers = sizes(len(entrants), state.seats), Numbers(state.seed, f"round/{number}")
    if len(entrants) > _JOINT_ENTRANTS:
        return _one_round(sized, past, numbers)
    return _Joint(sized, rounds, past, numbers).run()[0]


@lru_cache(maxsize=8)
def _rotated(plan: Plan, kinds: tuple[int, ...]) -> Plan:
    """The seats of each table of a plan, as indices from 1 (0: a house bot): everybody has each role equally often."""
    games = [[index + 1 for index in table] for each in plan for table in each]
    seat = iter(rotated(games, kinds))
    return tuple(tuple(next(seat) for _ in each) for each in plan)


@lru_cache(maxsize=8)
def _in_turn(entrants: int, seats: int, rounds: int, seed: str) -> Plan:
    """All rounds as they are found round by round."""
    past: list[list[int]] = []
    share = 1 + rounds // _SHARED_ROUNDS
    plan: list[list[list[int]]] = []
    for number in range(1, rounds + 1):
        plan.append(_one_round(sizes(entrants, seats), past, Numbers(seed, f"round/{number}"), share))
        past += plan[-1]
    return tuple(tuple(tuple(table) for table in tables) for tables in plan)


@lru_cache(maxsize=8)
def planned(entrants: int, seats: int, rounds: int, seed: str) -> Plan | None:
    """All rounds of a tournament from which no entrant withdraws; None if they are found round by round."""
    order = list(range(entrants))
    numbers = Numbers(seed, "plan")
    numbers.shuffle(order)
    found = _plane(entrants, seats, rounds) or _transversals(entrants, seats, rounds)
    if found:
        return tuple(tuple(tuple(order[index] for index in table) for table in each) for each in found)
    if entrants > _JOINT_ENTRANTS:
        return None
    return _Joint(sizes(entrants, seats), rounds, (), numbers).run()


def _prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, number))


def _plane(entrants: int, seats: int, rounds: int) -> Plan | None:
    """The lines of an affine plane: seats² entrants, in seats + 1 rounds any two meet exactly once. For primes."""
    if entrants != seats * seats or not _prime(seats):
        return None
    lines = [
        tuple(tuple(row * seats + (slope * row + start) % seats for row in range(seats)) for start in range(seats))
        for slope in range(seats)
    ]
    lines.append(tuple(tuple(row * seats + column for column in range(seats)) for row in range(seats)))
    return tuple(lines[number % len(lines)] for number in range(rounds))


def _transversals(entrants: int, seats: int, rounds: int) -> Plan | None:
    """One entrant from each row at every table, shifted by the row's place: no two meet twice in as many rounds as
    there are tables, if no number below the seats divides the tables."""
    count = len(sizes(entrants, seats))
    if rounds > count or count < seats or not all(count % divisor for divisor in range(2, seats)):
        return None
    return tuple(
        tuple(
            tuple(index for row in range(seats) if (index := row * count + (shift * row + start) % count) < entrants)
            for start in range(count)
        )
        for shift in range(rounds)
    )


def _one_round(
    sized: Sequence[int], past: Sequence[Sequence[int]], numbers: Numbers, share: int = 1
) -> list[list[int]]:
    """Avoid those that met more often than the mean. In bits: two thousand entrants are two million pairs."""
    entrants = sum(sized)
    levels = [[0] * entrants]
    met = 0
    for table in past:
        bits = sum(1 << index for index in table)
        met += len(table) * (len(table) - 1)
        for index in table:
            more, level = bits ^ 1 << index, 0
            while more:
                if level == len(levels):
                    levels.append([0] * entrants)
                line = levels[level]
                more, line[index] = line[index] & more, line[index] | more
                level += 1
    mean = met // (entrants * (entrants - 1))
    avoid = levels[mean] if mean < len(levels) else [0] * entrants
    order = list(range(entrants))
    numbers.shuffle(order)
    search = Search(sized, avoid, numbers, order=order, share=share)
    search.run()
    if mean + 1 < len(levels):  # a third meeting is worse than a second one
        order = [index for table in search.tables for index in table]
        search = Search(sized, levels[mean + 1], numbers, order=order, share=share)
        search.run()
    return search.tables


class _Joint:
    """A search over all rounds: in one round at a time, an entrant of each table is reassigned in the best way."""

    def __init__(self, sized: Sequence[int], rounds: int, past: Sequence[Sequence[int]], numbers: Numbers) -> None:
        """`past` are the tables of the rounds before."""
        entrants = sum(sized)
        self._counts = counts = [[0] * entrants for _ in range(entrants)]
        self._numbers = numbers
        _count(counts, past)
        self._plan: list[list[list[int]]] = []
        for _ in range(rounds):
            order = list(range(entrants))
            numbers.shuffle(order)
            tables = []
            for size in sized:
                tables.append(order[:size])
                order = order[size:]
            self._plan.append(tables)
            _count(counts, tables)
        self._costs = _costs(counts, rounds)
        self._steps = 0 if len(sized) < 2 else min(_STEPS, _WORK // (len(sized) ** 2 * max(sized) + len(sized) ** 3))

    def run(self) -> Plan:
        best, least = self._copied(), self._worth()
        for number in range(self._steps):
            self._step(_NOISE if number % 4 else 1)
            if number % 2:
                worth = self._worth()
                if worth < least:
                    best, least = self._copied(), worth
                if worth[0] <= 1:
                    break
        return best

    def _copied(self) -> Plan:
        return tuple(tuple(tuple(table) for table in tables) for tables in self._plan)

    def _worth(self) -> tuple[int, int]:
        """The difference of the most and least meetings of two, and the sum of their squares."""
        pairs = [count for one, line in enumerate(self._counts) for count in line[:one]] or [0]
        return max(pairs) - min(pairs), sum(count * count for count in pairs)

    def _step(self, noise: int) -> None:
        numbers, counts, costs = self._numbers, self._counts, self._costs
        tables = self._plan[numbers.below(len(self._plan))]
        taken = []
        for table in tables:
            player = table.pop(numbers.below(len(table)))
            taken.append(player)
            line = counts[player]
            for member in table:
                line[member] -= 1
                counts[member][player] -= 1
        prices = [
            [sum(costs[line[member]] for member in table) + numbers.below(noise) for table in tables]
            for line in map(counts.__getitem__, taken)
        ]
        for player, place in zip(taken, cheapest(prices), strict=True):
            table, line = tables[place], counts[player]
            for member in table:
                line[member] += 1
                counts[member][player] += 1
            table.append(player)


def _count(counts: list[list[int]], tables: Sequence[Sequence[int]]) -> None:
    for table in tables:
        for one in table:
            for other in table:
                if one != other:
                    counts[one][other] += 1


def _costs(counts: Sequence[Sequence[int]], rounds: int) -> list[int]:
    """What one more meeting costs two who have met so often: fourth powers of the distance from the mean, since a pair
    far from it is worse than several near it."""
    met, pairs = sum(map(sum, counts)), max(1, len(counts) * (len(counts) - 1))
    most = max(map(max, counts)) + rounds + 1
    powers = [(number * pairs - met) ** 4 for number in range(most + 1)]
    return [(more - fewer) * 4 // pairs**4 for fewer, more in pairwise(powers)]
