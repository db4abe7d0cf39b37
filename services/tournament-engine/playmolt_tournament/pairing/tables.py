"""Sizes of tables, roles at them, and what the rounds before say of who met whom in which role."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from playmolt_schemas.stored.tournament import HOUSE_SEAT, Table

from playmolt_tournament.pairing.assignment import cheapest
from playmolt_tournament.state import State

RoleCounts = Mapping[int, list[int]]
"""Entrant → how often it had each kind of role."""
_TWICE: Final = 64
"""More than the seats of any game times the largest cost of a first time."""


def sizes(entrants: int, seats: int) -> tuple[int, ...]:
    """How many entrants sit at each table: as few tables as hold all, no table larger than another by over one."""
    if not entrants:
        return ()
    tables = -(-entrants // seats)
    least, larger = divmod(entrants, tables)
    return tuple(least + (table < larger) for table in range(tables))


def met_before(state: State) -> dict[int, int]:
    """Entrant → bits of the entrants at whose table it was: bit n for entrant n."""
    met: dict[int, int] = {entrant.number: 0 for entrant in state.entrants}
    for each in state.rounds:
        for table in each.tables:
            bits = sum(1 << number for number in table.numbers)
            for number in table.numbers:
                met[number] |= bits ^ 1 << number
    return met


def repeats(state: State, tables: Iterable[Table]) -> int:
    """How many pairs at these tables had met before."""
    met, found = met_before(state), 0
    for table in tables:
        bits = sum(1 << number for number in table if number != HOUSE_SEAT)
        found += sum((met[number] & bits).bit_count() for number in table if number != HOUSE_SEAT)
    return found // 2


def seated(state: State, tables: Iterable[Sequence[int]]) -> tuple[Table, ...]:
    """Give the seats of each table to its entrants, by role where the game has roles; house bots get the others."""
    if not state.roles:
        return tuple((*table, *(HOUSE_SEAT,) * (state.seats - len(table))) for table in tables)
    kinds, counts = kinds_of(state.roles), role_counts(state)
    return tuple(with_roles(table, kinds, counts) for table in tables)


def role_counts(state: State) -> RoleCounts:
    """How often each entrant had each kind of role so far."""
    kinds = kinds_of(state.roles)
    counts = {entrant.number: [0] * len(kinds) for entrant in state.entrants}
    for each in state.rounds:
        for table in each.tables:
            count_roles(counts, table.seats, kinds, 1)
    return counts


def kinds_of(roles: Sequence[str]) -> tuple[int, ...]:
    """The kind of role of each seat: equal roles have equal numbers, from 0."""
    found = tuple(dict.fromkeys(roles))
    return tuple(found.index(role) for role in roles)


def count_roles(counts: RoleCounts, seats: Table, kinds: Sequence[int], by: int) -> None:
    """Add a table's roles to the counts, or take them off."""
    for number, kind in zip(seats, kinds, strict=True):
        if number != HOUSE_SEAT:
            counts[number][kind] += by


def with_roles(
    table: Sequence[int], kinds: Sequence[int], counts: RoleCounts, noise: Callable[[], int] = lambda: 0
) -> Table:
    """Seat a table so that no entrant gets a role far more often than its share; house bots get what costs most."""
    share = [kinds.count(kind) for kind in kinds]
    players = (*table, *(HOUSE_SEAT,) * (len(kinds) - len(table)))
    costs = [
        [0] * len(kinds)
        if player == HOUSE_SEAT
        else [_cost(counts[player][kind], each) + noise() for kind, each in zip(kinds, share, strict=True)]
        for player in players
    ]
    found = [HOUSE_SEAT] * len(kinds)
    for player, seat in zip(players, cheapest(costs), strict=True):
        found[seat] = player
    return tuple(found)


def role_cost(seats: Table, kinds: Sequence[int], counts: RoleCounts) -> int:
    """The cost of the roles that a table gives, as `with_roles` minimises it."""
    seated_entrants = ((number, kind) for number, kind in zip(seats, kinds, strict=True) if number != HOUSE_SEAT)
    return sum(_cost(counts[number][kind], kinds.count(kind)) for number, kind in seated_entrants)


def _cost(count: int, share: int) -> int:
    """What it costs to get a role once more. It grows so fast that a second time costs more than any first times."""
    powers: int = _TWICE ** min(count // share, 8)
    return powers * (1 + count % share)
