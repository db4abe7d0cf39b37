"""Plans a call: what to store and answer, decided on the state in memory.

Nothing here waits. If a stream is missing in memory, the result is `Need`; the caller loads it and plans again.
"""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace
from playmolt_schemas.api import EndRequest, ForfeitRequest
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import Fault

from playmolt_core.effects.callbacks.faults import CallbackFault
from playmolt_core.engine.cached_stream import CachedStream, number_of
from playmolt_core.engine.pending_call import BadBody, PendingCall, closed_to
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.engine.writes.plans import Change, Known, Need, NeedFaults, Plan, Planned, Repeat, answer, refusal
from playmolt_core.engine.writes.record_chain import append
from playmolt_core.engine.writes.seat_planner import SeatPlanner
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Accepted, Act, Command, Decider, EndGame, Forfeit, Refused, Resign
from playmolt_core.ops.json_values import whole_numbers

_SEED_BITS = 128


class _Counted(msgspec.Struct, frozen=True):
    """Body of `fault`."""

    what: CallbackFault


def _seed() -> str:
    return str(secrets.randbits(_SEED_BITS))


class Planner:
    """Turns a call into events and an answer, using only memory. `streams` returns a stream in memory, `fresh` creates
    a new one."""

    def __init__(
        self,
        decider: Decider[Any],
        streams: Callable[[str], CachedStream | None],
        fresh: Callable[[str], CachedStream],
        now: Callable[[], datetime],
        config: dict[str, Any],
        draw_seed: Callable[[], str] = _seed,
        api: GameApi[Any] | None = None,
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._seats = SeatPlanner(decider, streams, now, config, draw_seed)
        self.api_commands = ApiCommands(decider, api, streams, fresh, now, draw_seed)

    def plan(self, pending: PendingCall, known: Known) -> Planned:
        """Raises BadBody, and any exception of a bug in the rules."""
        call = pending.call
        if call.op in ("open", "join"):
            return self._seats.seat(pending, known)
        entry = self._streams(call.target)
        if entry is None:
            return Need(call.target)
        if number_of(call.command_id) in entry.seen and not known.afresh:
            return Repeat(entry.stream)
        if call.op == "command":
            return self.api_commands.plan(pending, entry, known)
        return self._of_a_seat(pending, entry, known)

    def _of_a_seat(self, pending: PendingCall, entry: CachedStream, known: Known) -> Planned:
        """Plan a call about a game that may be private; commands of workers are not checked."""
        if pending.command is None and closed_to(self._decider, entry.head, pending.call):
            return refusal(entry, self.api_commands.unknown(pending))
        if pending.call.op == "leave":
            return self._seats.leave(pending, entry)
        if pending.call.op == "fault":
            return self._count(pending, entry)
        return self._decide(pending, entry, known)

    def _count(self, pending: PendingCall, entry: CachedStream) -> Plan:
        """Plan to count a fault of a bot that sent no action, like that of a refusal."""
        agent, summary = pending.call.agent, entry.head.summary
        if agent not in self._decider.participants(entry.head.state):
            return refusal(entry, Refused(Code.NOT_A_PARTICIPANT, "This agent has no seat in this game."))
        if summary.over or summary.phase == "waiting":
            return refusal(entry, Refused(Code.GAME_OVER, "Faults are counted only while a game is running."))
        fault = Fault(agent_id=agent, kind="bot", what=_counted(pending))
        return Plan((Change(entry),), 200, b"{}", fault=fault)

    def _decide(self, pending: PendingCall, entry: CachedStream, known: Known) -> Plan | NeedFaults:
        at = max(self._now(), entry.head.at)
        command = _command(pending)
        decision = self._decider.decide(entry.head.state, command, at)
        if decision.events and decision.events[-1].closes:
            if known.faults is None:
                return NeedFaults(entry.stream)
            if known.faults:
                command = replace(command, gathered=known.faults)
                decision = self._decider.decide(entry.head.state, command, at)
        if isinstance(decision, Refused):
            return self._refused(pending, entry, decision, at)
        change, follows = Change(entry), not decision.passed
        append(change, decision, at, pending.call, follows=follows)
        remember = entry if change.records or pending.call.fingerprint else None
        body, kept = _body(pending, change, follows), follows and bool(change.records)
        return Plan((change,), 200, body, remember_on=remember, follows=kept)

    def _refused(self, pending: PendingCall, entry: CachedStream, refused: Refused, at: datetime) -> Plan:
        """Plan a refusal: its events are stored; its fault is counted until the game ends."""
        if refused.events:
            change = Change(entry)
            append(change, Accepted(refused.events), at, pending.call)
            return Plan((change,), refused=refused)
        return replace(refusal(entry, refused), fault=refused.fault)


def _counted(pending: PendingCall) -> CallbackFault:
    try:
        return msgspec.json.decode(pending.call.body, type=_Counted).what
    except ValueError as error:
        raise BadBody(str(error)) from error


def _command(pending: PendingCall) -> Command:
    call = pending.call
    if pending.command is not None:
        return pending.command
    try:
        if call.op == "act":
            return Act(agent_id=call.agent, action=whole_numbers(pending.carried()))
        if call.op == "resign":
            return Resign(agent_id=call.agent)
        if call.op == "forfeit":
            asked = msgspec.json.decode(call.body, type=ForfeitRequest)
            return Forfeit(agent_id=call.agent, kind=asked.kind, what=asked.what, turn_id=asked.turn_id)
        return EndGame(reason=msgspec.json.decode(call.body, type=EndRequest).reason)
    except ValueError as error:
        raise BadBody(str(error)) from error


def _body(pending: PendingCall, change: Change, follows: bool) -> bytes:
    head = change.head
    receipt = change.records[0].hash if change.records and follows else None
    return answer(pending.call.op, change.entry.stream, head.summary.phase, head.version, receipt)
