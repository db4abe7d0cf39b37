"""Pairs a round, outside the event loop: a large one takes seconds."""

import asyncio

from playmolt_core.effects.leased_effect import LeasedEffect

from playmolt_tournament import commands
from playmolt_tournament.effects import RoundToPair
from playmolt_tournament.pairing import paired
from playmolt_tournament.state import State


class RoundWorker:
    """Fulfils `pair_round`. The tables follow from the state, so that a repeat after a crash gives the same ones."""

    async def __call__(self, leased: LeasedEffect[RoundToPair, State]) -> None:
        wanted, state = leased.payload, leased.snapshot.state
        tables = await asyncio.to_thread(paired, state)
        await leased.submit(commands.PairRound(round=wanted.round, basis=wanted.basis, tables=tables))
