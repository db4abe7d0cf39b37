"""Plans a call: what to store and answer, decided on the state in memory.

Nothing here waits. If a stream is missing in memory, the result is `Need`; the caller loads it and plans again.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic

import msgspec
from msgspec.structs import replace
from playmolt_schemas.api import EndRequest, ForfeitRequest
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.values import Fault

from playmolt_core.effects.callbacks.faults import ANSWERED, CallbackFault
from playmolt_core.engine.cached_stream import CachedStream, number_of
from playmolt_core.engine.pending_call import PendingCall, closed_to
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.engine.writes.plans import Change, Known, Need, NeedFaults, Plan, Planned, Repeat, answer, refusal
from playmolt_core.engine.writes.record_chain import append
from playmolt_core.engine.writes.seat_planner import SeatPlanner
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Absent, Accepted, Act, Command, Decider, EndGame, Forfeit, Refused, Resign, S


class _FaultRequest(msgspec.Struct, frozen=True):
    """Body of `fault`."""

    what: CallbackFault


class Planner(Generic[S]):
    """Turns a call into events and an answer, using only memory. `config` is the base configuration of new games."""

    def __init__(
        self,
        decider: Decider[S],
        streams: StreamCache[S],
        now: Callable[[], datetime],
        config: dict[str, Any],
        api: GameApi[S] | None = None,
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._seats = SeatPlanner(decider, streams, now, config)
        self.api_commands = ApiCommands(decider, api, streams, now)

    def plan(self, pending: PendingCall, known: Known) -> Planned:
        """Raises BadBody, and any exception of a bug in the rules."""
        call = pending.call
        if call.op in ("open", "join", "seat_table"):
            return self._seats.seat(pending, known)
        if (entry := self._streams.get(call.target)) is None:
            return Need(call.target)
        if number_of(call.command_id) in entry.seen and not known.afresh:
            return Repeat(entry.stream)
        if call.op == "command":
            return self.api_commands.plan(pending, entry, known)
        if pending.command is None and closed_to(self._decider, entry.head, call):
            return refusal(entry, self.api_commands.unknown(pending))
        return self._of_a_seat(pending, entry, known)

    def _of_a_seat(self, pending: PendingCall, entry: CachedStream[S], known: Known) -> Planned:
        if pending.call.op == "leave":
            return self._seats.leave(pending, entry)
        if pending.call.op == "fault":
            return self._count(pending, entry, known)
        return self._decide(pending, entry, known, _command(pending))

    def _count(self, pending: PendingCall, entry: CachedStream[S], known: Known) -> Planned:
        """Plan to count a fault of a bot that sent no action, like that of a refusal."""
        agent, summary = pending.call.agent, entry.head.summary
        if agent not in self._decider.participants(entry.head.state):
            return refusal(entry, Refused(Code.NOT_A_PARTICIPANT, "This agent has no seat in this game."))
        if summary.over or summary.phase == "waiting":
            return refusal(entry, Refused(Code.GAME_OVER, "Faults are counted only while a game is running."))
        what = pending.decoded(_FaultRequest).what
        fault = Fault(agent_id=agent, kind="bot", what=what)
        sign = self._decider.sign_of(entry.head.state, agent) if what in ANSWERED else None
        if sign is not None:
            return self._decide(pending, entry, known, replace(sign, gathered=(fault,)))
        return Plan((Change(entry),), 200, b"{}", fault=fault)

    def _decide(self, pending: PendingCall, entry: CachedStream[S], known: Known, command: Command) -> Planned:
        at = max(self._now(), entry.head.at)
        decision = self._decider.decide(entry.head.state, command, at)
        if known.conflicted and decision.events and decision.events[-1].closes:
            if known.faults is None:
                return NeedFaults(entry.stream)
            if known.faults:
                command = replace(command, gathered=(*command.gathered, *known.faults))
                decision = self._decider.decide(entry.head.state, command, at)
        if isinstance(decision, Refused) and not decision.events:  # its fault is counted until the game ends
            return replace(refusal(entry, decision), fault=decision.fault)
        call, change = pending.call, Change(entry)
        if isinstance(decision, Refused):
            append(change, Accepted(decision.events), at, call)
            return Plan((change,), refused=decision)
        append(change, decision, at, call, follows=not decision.passed)
        receipt = change.records[0].hash if change.records and not decision.passed else None
        body = answer(call.op, entry.stream, change.head.summary.phase, change.head.version, receipt)
        remember = entry if change.records or call.fingerprint else None
        return Plan((change,), 200, body, remember_on=remember, follows=receipt is not None)


def _command(pending: PendingCall) -> Command:
    """Raises BadBody."""
    call = pending.call
    if pending.command is not None:
        return pending.command
    if call.op == "act":
        return Act(agent_id=call.agent, action=pending.carried())
    if call.op == "resign":
        return Resign(agent_id=call.agent)
    if call.op == "away":
        return Absent(agent_id=call.agent)
    if call.op == "forfeit":
        asked = pending.decoded(ForfeitRequest)
        return Forfeit(agent_id=call.agent, kind=asked.kind, what=asked.what, turn_id=asked.turn_id)
    return EndGame(reason=pending.decoded(EndRequest).reason)
