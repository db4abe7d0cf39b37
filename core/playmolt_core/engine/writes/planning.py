"""From a call to a plan: what would be stored and answered, decided on the state in memory.

Nothing here waits. What a decision needs and memory lacks is named (`Need`), read from the log, and decided again.
"""

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.api import ActionAccepted, Ended, EndRequest

from playmolt_core.engine.api_requests import BadBody
from playmolt_core.engine.cached_stream import CachedStream, number_of
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.engine.writes.plans import Change, Need, Plan, Planned, Repeat, refusal
from playmolt_core.engine.writes.sealing import append
from playmolt_core.engine.writes.seating import Seating
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Act, Command, Decider, EndGame, Refused
from playmolt_core.ops.json_values import parse_json

_encode = msgspec.json.encode
_SEED_BITS = 128


def _seed() -> str:
    return str(secrets.randbits(_SEED_BITS))


class Planner:
    """Turns a call into events and an answer, from memory alone. `streams` gives those in memory."""

    def __init__(
        self,
        decider: Decider[Any],
        streams: Callable[[str], CachedStream | None],
        now: Callable[[], datetime],
        config: dict[str, Any],
        draw_seed: Callable[[], str] = _seed,
        api: GameApi[Any] | None = None,
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._seating = Seating(decider, streams, now, config, draw_seed)
        self.api_commands = ApiCommands(decider, api, streams, now, draw_seed)

    def plan(self, pending: PendingCall) -> Planned:
        """Raises BadBody, and whatever a bug in rules raises."""
        call = pending.call
        if call.op == "join":
            return self._seating.join(pending)
        entry = self._streams(call.target)
        if entry is None:
            return Need(call.target)
        if number_of(call.command_id) in entry.seen and not pending.afresh:
            return Repeat(entry.stream)
        if call.op == "leave":
            return self._seating.leave(pending, entry)
        if call.op == "command":
            return self.api_commands.plan(pending, entry)
        return self._decide(pending, entry)

    def _decide(self, pending: PendingCall, entry: CachedStream) -> Plan:
        at = max(self._now(), entry.head.at)
        decision = self._decider.decide(entry.head.state, _command(pending), at)
        if isinstance(decision, Refused):
            return refusal(entry, decision)
        change = Change(entry)
        append(change, decision, at, pending.call)
        remember = entry if change.records or pending.call.fingerprint else None
        return Plan((change,), 200, _body(pending, change), remember_on=remember)


def _command(pending: PendingCall) -> Command:
    call = pending.call
    if pending.command is not None:
        return pending.command
    try:
        if call.op == "act":
            return Act(agent_id=call.agent, action=parse_json(call.body))
        return EndGame(reason=msgspec.json.decode(call.body, type=EndRequest).reason)
    except ValueError as error:
        raise BadBody(str(error)) from error


def _body(pending: PendingCall, change: Change) -> bytes:
    head, phase = change.head, change.head.summary.phase
    if pending.call.op == "end":
        return _encode(Ended(change.entry.stream, phase, head.version))
    receipt = change.records[0].hash if change.records else None
    return _encode(ActionAccepted("accepted" if change.records else "pass", head.version, phase, receipt))
