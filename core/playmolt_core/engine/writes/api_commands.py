"""Plans of `command`: a game's own route that changes a stream, possibly with a linked change of another stream."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from playmolt_schemas.codes import Code, problem_bytes

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import NO_GAME, BadBody, PendingCall, api_request, body_of
from playmolt_core.engine.writes.plans import Change, Known, Plan, refusal
from playmolt_core.engine.writes.record_chain import append
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Decision, Refused


class ApiCommands:
    """Plans the writing routes of one game."""

    def __init__(
        self,
        decider: Decider[Any],
        api: GameApi[Any] | None,
        streams: Callable[[str], CachedStream | None],
        fresh: Callable[[str], CachedStream],
        now: Callable[[], datetime],
        draw_seed: Callable[[], str],
    ) -> None:
        self._decider = decider
        self._api = api
        self._streams = streams
        self._fresh = fresh
        self._now = now
        self._draw_seed = draw_seed

    def plan(self, pending: PendingCall, entry: CachedStream, known: Known) -> Plan:
        """Raises BadBody."""
        api, change = self._api, Change(entry)
        request = api_request(pending, self._draw_seed())
        if api is None or request.route not in api.writes:
            raise BadBody(f"route {request.route} is not a writing route of this game")
        at = max(self._now(), entry.head.at)
        decision = self._decided(api, entry.head.state, request, at)
        if isinstance(decision, Refused):
            return refusal(entry, decision)
        append(change, decision, at, pending.call)
        other = self._linked(api, change, pending, at) if change.records else None
        if isinstance(other, Refused):
            return refusal(entry, other)
        reply = api.answer(change.head.state, request)
        if isinstance(reply, Refused):
            reply = ApiReply(problem_bytes(reply.code, reply.detail, reply.errors), reply.code.status)
        changes = [each for each in (change, other) if each is not None and each.head.version]
        worth = change.records or (pending.call.fingerprint and changes)
        remember = entry if worth and not known.afresh else None
        return Plan(changes, reply.status, body_of(reply), remember_on=remember)

    def opens(self, pending: PendingCall) -> bool:
        """Whether a call may open the stream that it names; workers always may.

        Raises BadBody.
        """
        if pending.command is not None:
            return True
        if pending.call.op != "command" or self._api is None:
            return False
        return api_request(pending).route in self._api.opens

    def unknown(self, pending: PendingCall) -> Refused:
        """The refusal of a call about a missing stream; the same as for one that the caller may not see.

        Raises BadBody.
        """
        if pending.call.op == "command" and self._api is not None:
            request, state = api_request(pending), self._decider.initial(pending.call.target)
            command = self._api.command(state, request) if request.route in self._api.writes else None
            decision = self._decider.decide(state, command, self._now()) if isinstance(command, Command) else command
            if isinstance(decision, Refused):
                return decision
        return NO_GAME

    def answer(self, state: Any, request: ApiRequest) -> ApiReply | Refused:
        """The answer of a route from a state."""
        if self._api is None:
            return Refused(Code.NOT_FOUND, "This game has no routes of its own.")
        return self._api.answer(state, request)

    def status(self, request: ApiRequest) -> int:
        """The status of a stored answer."""
        return 201 if self._api and request.route in self._api.opens else 200

    def _decided(self, api: GameApi[Any], state: Any, request: ApiRequest, at: datetime) -> Decision:
        command = api.command(state, request)
        if command is None:
            return Accepted()
        return command if isinstance(command, Refused) else self._decider.decide(state, command, at)

    def _linked(self, api: GameApi[Any], change: Change, pending: PendingCall, at: datetime) -> Change | Refused | None:
        linked = api.linked(change.before.state, change.head.state)
        if linked is None:
            return None
        other = Change(self._streams(linked.stream) or self._fresh(linked.stream))
        follows = self._decider.decide(other.head.state, linked.command, at)
        if isinstance(follows, Refused):
            return follows
        append(other, follows, at, pending.call)
        return other
