"""Arena pairings: everybody who waits is paired at once, not with those of the last table where that can be avoided."""

from playmolt_schemas.stored.tournament import Table

from playmolt_tournament.pairing.swiss import by_standing, nearest
from playmolt_tournament.pairing.tables import seated
from playmolt_tournament.state import State

_TABLES_AVOIDED = 2
"""How many of an entrant's last tables a pairing avoids to repeat."""


def tables(state: State, number: int) -> tuple[Table, ...]:
    """The tables of all who wait; the first are those of the highest in the standings."""
    order = by_standing(state, [state.entrant(number) for number in state.free], f"round/{number}")
    return seated(state, nearest(order, _lately_met(state), state, f"round/{number}", 1))


def _lately_met(state: State) -> dict[int, int]:
    """Entrant → bits of those at its last tables."""
    met = dict.fromkeys(state.free, 0)
    left = dict.fromkeys(state.free, _TABLES_AVOIDED)
    open_ = len(left)
    for each in reversed(state.rounds):
        if not open_:
            break
        for table in each.tables:
            numbers = table.numbers
            waiting = [number for number in numbers if left.get(number)]
            if not waiting:
                continue
            bits = sum(1 << number for number in numbers)
            for number in waiting:
                met[number] |= bits ^ 1 << number
                left[number] -= 1
                open_ -= not left[number]
    return met
