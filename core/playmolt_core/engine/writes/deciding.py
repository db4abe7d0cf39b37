"""Deciding: a call is planned at once if memory allows; a plan goes to the commit."""

import asyncio
import random
import time
from collections.abc import Iterable
from typing import Any

from playmolt_core.engine.cached_stream import number_of
from playmolt_core.engine.pending_call import BadBody, PendingCall
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.committing import Committing
from playmolt_core.engine.writes.fault_notes import FaultNotes
from playmolt_core.engine.writes.loading import Loading, ToldOfErased
from playmolt_core.engine.writes.planning import Planner
from playmolt_core.engine.writes.plans import Need, NeedFaults, Plan, Planned, Recall
from playmolt_core.engine.writes.repeating import Repeating
from playmolt_core.game.decider import Decider
from playmolt_core.log.port import EventLog
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id, where

_log = log("deciding")
_MAX_TRIES = 12
_CALM_TRIES = 3


class Deciding:
    """Decides calls, as often as other commits overtake them."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        planner: Planner,
        streams: StreamCache,
        committing: Committing,
        erased: ToldOfErased,
    ) -> None:
        self._span = f"decide {decider.game}"
        self._planner = planner
        self._streams = streams
        self._committing = committing
        self._fault_notes = FaultNotes(event_log, self.decide, self.again)
        committing.count_faults(self._fault_notes.answer)
        self._loading = Loading(decider, planner.api_commands, streams, self.decide, self.again, erased)
        self._repeating = Repeating(
            decider, event_log, planner.api_commands, streams, committing.when_settled, self.decide, self.again
        )

    def decide(self, pending: PendingCall) -> None:
        if pending.seconds_left() < 0:
            pending.refuse_busy()
            return
        planned = self._planned(pending)
        if isinstance(planned, Plan):
            self._go_on(pending, planned)
        elif isinstance(planned, Need):
            self._loading.wait(pending, planned.stream)
        elif isinstance(planned, NeedFaults):
            self._fault_notes.tell(pending, planned.stream)
        elif isinstance(planned, Recall):
            self._repeating.recall(pending, planned)
        elif planned is not None:
            self._repeating.repeat(pending, planned.stream)

    def again(self, calls: Iterable[PendingCall]) -> None:
        """Decide calls afresh; after many conflicts with a pause, and never without end."""
        for pending in calls:
            pending.tries += 1
            if pending.tries > _MAX_TRIES:
                pending.refuse_busy()
            elif pending.tries <= _CALM_TRIES:
                self.decide(pending)
            else:
                pause = random.uniform(0, 0.005 * 2**pending.tries)  # noqa: S311 -- spreads rivals apart, guards nothing
                asyncio.get_running_loop().call_later(min(pause, 0.5), self.decide, pending)

    def _planned(self, pending: PendingCall) -> Planned | None:
        """Plan a call; None when it was answered, because its body or the rules are at fault."""
        started = time.time_ns() if tracing.sampled(pending.call.trace) else 0
        try:
            planned = self._planner.plan(pending)
        except BadBody as error:
            pending.refuse(error.refused)
            return None
        except Exception as error:  # a bug in rules must not take the other games of this engine down
            _report(pending, error)
            pending.refuse_busy()
            return None
        if started:
            facts: tracing.Attributes = {
                "playmolt.op": pending.call.op,
                "playmolt.target": pending.call.target,
                "playmolt.try": pending.tries,
            }
            tracing.record(pending.call.trace, self._span, started, facts)
        return planned

    def _go_on(self, pending: PendingCall, plan: Plan) -> None:
        """Hand a plan on to be committed; what rests on nothing stored is answered now."""
        if not plan.changes:
            plan.answer(pending)
            return
        for change in plan.changes:
            if self._streams.get(change.entry.stream) is None:
                self._streams.put(change.entry)
        if plan.remember_on is not None:
            plan.remember_on.seen.add(number_of(pending.call.command_id))
        self._committing.add(pending, plan)


def _report(pending: PendingCall, error: Exception) -> None:
    call = pending.call
    _log.error(
        "decision_failed",
        op=call.op,
        target=call.target,
        error=type(error).__name__,
        traceback=where(error),
        trace_id=trace_id(call.trace),
    )
