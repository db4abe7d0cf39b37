"""Handles calls that change something: plans each one from memory, loads what is missing, and queues the commit."""

import asyncio
import random
import time
from collections.abc import Iterable
from typing import Any

from playmolt_core.engine.cached_stream import number_of
from playmolt_core.engine.pending_call import BadBody, PendingCall
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.fault_recorder import FaultRecorder
from playmolt_core.engine.writes.group_committer import GroupCommitter
from playmolt_core.engine.writes.outcome_replay import OutcomeReplay
from playmolt_core.engine.writes.planner import Planner
from playmolt_core.engine.writes.plans import Need, NeedFaults, Plan, Planned, Recall
from playmolt_core.engine.writes.stream_loader import ErasedRefusal, StreamLoader
from playmolt_core.game.decider import Decider
from playmolt_core.log.port import EventLog
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id, where

_log = log("deciding")
_MAX_TRIES = 12
_CALM_TRIES = 3


class CommandHandler:
    """Decides calls, and decides them again after conflicting commits."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        planner: Planner,
        streams: StreamCache,
        committer: GroupCommitter,
        erased: ErasedRefusal,
    ) -> None:
        self._span = f"decide {decider.game}"
        self._planner = planner
        self._streams = streams
        self._committer = committer
        self._faults = FaultRecorder(event_log, self.decide, self.again)
        committer.on_fault(self._faults.answer)
        self._loader = StreamLoader(decider, planner.api_commands, streams, self.decide, self.again, erased)
        self._replay = OutcomeReplay(
            decider, event_log, planner.api_commands, streams, committer.when_settled, self.decide, self.again
        )

    def decide(self, pending: PendingCall) -> None:
        if pending.seconds_left() < 0:
            pending.refuse_busy()
            return
        planned = self._planned(pending)
        if isinstance(planned, Plan):
            self._commit(pending, planned)
        elif isinstance(planned, Need):
            self._loader.wait(pending, planned.stream)
        elif isinstance(planned, NeedFaults):
            self._faults.gather(pending, planned.stream)
        elif isinstance(planned, Recall):
            self._replay.recall(pending, planned)
        elif planned is not None:
            self._replay.repeat(pending, planned.stream)

    def again(self, calls: Iterable[PendingCall]) -> None:
        """Decide calls again: after several conflicts with a pause, and only a limited number of times."""
        for pending in calls:
            pending.tries += 1
            if pending.tries > _MAX_TRIES:
                pending.refuse_busy()
            elif pending.tries <= _CALM_TRIES:
                self.decide(pending)
            else:
                pause = random.uniform(0, 0.005 * 2**pending.tries)  # noqa: S311 -- jitter, not security
                asyncio.get_running_loop().call_later(min(pause, 0.5), self.decide, pending)

    def _planned(self, pending: PendingCall) -> Planned | None:
        """Plan a call; None if it was refused because of its body or a bug in the rules."""
        started = time.time_ns() if tracing.sampled(pending.call.trace) else 0
        try:
            planned = self._planner.plan(pending)
        except BadBody as error:
            pending.refuse(error.refused)
            return None
        except Exception as error:  # a bug in rules must not affect other games of this engine
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

    def _commit(self, pending: PendingCall, plan: Plan) -> None:
        """Queue a plan for the commit; one that depends on nothing stored is answered immediately."""
        if not plan.changes:
            plan.answer(pending)
            return
        for change in plan.changes:
            if self._streams.get(change.entry.stream) is None:
                self._streams.put(change.entry)
        if plan.remember_on is not None:
            plan.remember_on.seen.add(number_of(pending.call.command_id))
        self._committer.add(pending, plan)


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
