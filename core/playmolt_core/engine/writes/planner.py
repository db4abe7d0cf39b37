"""Plans a call: what to store and answer, decided on the state in memory.

Nothing here waits. What is missing in memory is raised; the caller loads it and plans again.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic

from msgspec.structs import replace
from playmolt_schemas.api import EndRequest, ForfeitRequest
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.values import Fault

from playmolt_core.effects.callbacks.faults import ANSWERED, FaultBody
from playmolt_core.engine.cached_stream import CachedStream, number_of
from playmolt_core.engine.pending_call import PendingCall, closed_to
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.engine.writes.plans import Change, FaultsNotLoaded, Known, Plan, Repeat, answer, refusal
from playmolt_core.engine.writes.seat_planner import SeatPlanner
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Absent, Accepted, Act, Command, Decider, EndGame, Forfeit, Refused, Resign, S


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

    def plan(self, pending: PendingCall, known: Known) -> Plan:
        """Raises BadBody, NotLoaded, and any exception of a bug in the rules."""
        call = pending.call
        if call.op in ("open", "join", "seat_table"):
            return self._seats.seat(pending, known)
        entry = self._streams.held(call.target)
        if number_of(call.command_id) in entry.seen and not known.afresh:
            raise Repeat(entry.stream)
        if call.op == "command":
            return self.api_commands.plan(pending, entry, known)
        if pending.command is None and closed_to(self._decider, entry.head, call):
            return refusal(entry, self.api_commands.unknown(pending))
        if call.op == "leave":
            return self._seats.leave(pending, entry)
        return self._count(pending, entry, known) if call.op == "fault" else self._decide(pending, entry, known)

    def _count(self, pending: PendingCall, entry: CachedStream[S], known: Known) -> Plan:
        """Plan to count a fault of a bot that sent no action, like that of a refusal."""
        agent, summary = pending.call.agent, entry.head.summary
        if agent not in self._decider.participants(entry.head.state):
            return refusal(entry, Refused(Code.NOT_A_PARTICIPANT, "This agent has no seat in this game."))
        if summary.over or summary.phase == "waiting":
            return refusal(entry, Refused(Code.GAME_OVER, "Faults are counted only while a game is running."))
        fault = Fault(agent_id=agent, kind="bot", what=pending.decoded(FaultBody).what)
        sign = self._decider.sign_of(entry.head.state, agent) if fault.what in ANSWERED else None
        if sign is not None:
            return self._decide(pending, entry, known, replace(sign, gathered=(fault,)))
        return Plan((Change(entry),), 200, b"{}", fault=fault)

    def _decide(
        self, pending: PendingCall, entry: CachedStream[S], known: Known, command: Command | None = None
    ) -> Plan:
        call, change, at = pending.call, Change(entry), max(self._now(), entry.head.at)
        command = command or pending.command or _command(pending)
        decision = self._decider.decide(entry.head.state, command, at)
        if known.conflicted and decision.events and decision.events[-1].closes:
            if known.faults is None:
                raise FaultsNotLoaded
            if known.faults:
                command = replace(command, gathered=(*command.gathered, *known.faults))
                decision = self._decider.decide(entry.head.state, command, at)
        if isinstance(decision, Refused):
            if not decision.events:  # its fault is counted until the game ends
                return replace(refusal(entry, decision), fault=decision.fault)
            change.append(Accepted(decision.events), at, call)
            return Plan((change,), refused=decision)
        change.append(decision, at, call, follows=not decision.passed)
        receipt = change.records[0].hash if change.records and not decision.passed else None
        body = answer(call.op, entry.stream, change.head.summary.phase, change.head.version, receipt)
        remember = entry if change.records or call.fingerprint else None
        return Plan((change,), 200, body, remember_on=remember, follows=receipt is not None)


def _command(pending: PendingCall) -> Command:
    """Raises BadBody."""
    call = pending.call
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
