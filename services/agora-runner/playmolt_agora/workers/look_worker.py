"""The worker of adaptive sampling: it computes the intervals that a look waits for (agora.md, Lock)."""

import asyncio
from collections.abc import Mapping, Sequence

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora.turn import TurnRecord

from playmolt_agora.calls.experiment_status import events_of
from playmolt_agora.experiment import adaptive
from playmolt_agora.experiment import commands as experiments
from playmolt_agora.experiment.effects import LookDue
from playmolt_agora.experiment.interim_pcs import six_decimals
from playmolt_agora.plan import stage1_import
from playmolt_agora.world.events import AgentActed, TurnFailed

Interval = tuple[str, str] | None


class LookWorker:
    """Fulfils `look`: an interval for each cell that may grow; the experiment decides what follows."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def __call__(self, leased: LeasedEffect) -> None:
        payload: LookDue = leased.payload
        records: list[TurnRecord] = []
        for run in payload.runs:
            events = await events_of(self._log, run)
            records += [event.record for event in events if isinstance(event, AgentActed | TurnFailed)]
        found = await asyncio.to_thread(_intervals, payload, records)
        look = experiments.Look(
            by="runner", measure=payload.adaptive.measure, intervals=found, effect_id=leased.effect.id
        )
        await leased.submit(look)


def _intervals(look: LookDue, records: Sequence[TurnRecord]) -> Mapping[str, Interval]:
    from playmolt_agora.measures.inference.sampling import intervals  # noqa: PLC0415 -- numpy: a second that starting need not wait

    known = intervals(records, look.adaptive.measure, look.seed, stage1_import.rows(look.plan))
    return {cell.name: _texts(known.get((cell.model or "", cell.language))) for cell in adaptive.cells(look.plan)}


def _texts(interval: tuple[float, float] | None) -> Interval:
    return None if interval is None else (six_decimals(interval[0]), six_decimals(interval[1]))
