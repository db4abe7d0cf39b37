"""The worker of adaptive sampling: it computes the intervals that a look waits for (agora.md, Lock)."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.llm.catalogue import decimal_text
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora.plan import Plan
from playmolt_schemas.agora.turn import TurnRecord

from playmolt_agora.experiment import adaptive
from playmolt_agora.experiment import commands as experiments
from playmolt_agora.experiment.state import State
from playmolt_agora.plan import stage1_import
from playmolt_agora.run.events import AgentActed, TurnFailed
from playmolt_agora.workers.run_usage import events_of

Interval = tuple[str, str] | None


class Looks:
    """Fulfils `look`: an interval for each cell that may grow; the experiment decides what follows."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def __call__(self, leased: LeasedEffect) -> None:
        """Read the turns of all ended runs, compute, and tell."""
        state: State = leased.snapshot.state
        if state.plan is None or state.plan.adaptive is None:
            return
        runs = [run.run for run in state.runs if run.status == "finished" and run.parent is None]
        records: list[TurnRecord] = []
        for run in runs:
            events = await events_of(self._log, run)
            records += [event.record for event in events if isinstance(event, AgentActed | TurnFailed)]
        found = await asyncio.to_thread(_found, state.plan, records, state.seed)
        look = experiments.Look(
            by="runner", measure=state.plan.adaptive.measure, intervals=found, effect_id=leased.effect.id
        )
        await leased.submit(look)


def _found(plan: Plan, records: Sequence[TurnRecord], seed: str) -> Mapping[str, Interval]:
    from playmolt_agora.measures.inference.sampling import intervals  # noqa: PLC0415 -- numpy: a second that starting need not wait

    measure: Any = plan.adaptive.measure if plan.adaptive else "pcs"
    known = intervals(records, measure, seed, stage1_import.rows(plan))
    return {cell.name: _texts(known.get((cell.model or "", cell.language))) for cell in adaptive.cells(plan)}


def _texts(interval: tuple[float, float] | None) -> Interval:
    return None if interval is None else (_decimal(interval[0]), _decimal(interval[1]))


def _decimal(value: float) -> str:
    return decimal_text(Decimal(f"{value:.6f}"))
