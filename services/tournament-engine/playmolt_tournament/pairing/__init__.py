"""Pairings: who sits at which table of a round, as a function of the log and the seed."""

from playmolt_schemas.stored.tournament import Table

from playmolt_tournament.pairing import arena, round_robin, swiss
from playmolt_tournament.state import State

_FORMATS = {"arena": arena.tables, "round_robin": round_robin.tables, "swiss": swiss.tables}


def paired(state: State) -> tuple[Table, ...]:
    """The tables of the next round: up to seconds of processor time, so never in a decision (`PairRound`)."""
    return _FORMATS[state.format](state, len(state.rounds) + 1)
