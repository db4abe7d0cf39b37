"""Plans of `command`: a game's own route that changes a stream, possibly with a linked change of another stream."""

from collections.abc import Callable
from datetime import datetime
from typing import Generic

from playmolt_schemas.codes import problem_bytes
from playmolt_schemas.identifiers import lobby_of

from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import NO_GAME, BadBody, PendingCall, api_request, body_of, route_of
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.plans import Change, Known, Plan, draw_seed, refusal
from playmolt_core.game.api import ApiReply, ApiRequest, Entry, GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Decision, Refused, S
from playmolt_core.game.lobby import EntryTaken


class ApiCommands(Generic[S]):
    """Plans the writing routes of one game."""

    def __init__(
        self, decider: Decider[S], api: GameApi[S] | None, streams: StreamCache[S], now: Callable[[], datetime]
    ) -> None:
        self._decider = decider
        self._api = api
        self._streams = streams
        self._now = now
        self._lobby = lobby_of(decider.game)

    def plan(self, pending: PendingCall, entry: CachedStream[S], known: Known) -> Plan:
        """Raises BadBody and NotLoaded."""
        api, request, call = self._api, api_request(pending, draw_seed()), pending.call
        if api is None or request.route not in api.writes:
            raise BadBody(f"route {request.route} is not a writing route of this game")
        change, at = Change(entry), max(self._now(), entry.head.at)
        decision = self._decided(api, entry.head.state, request, at)
        if isinstance(decision, Refused):
            return refusal(entry, decision)
        change.append(decision, at, call)
        changes = [change]
        if change.records and (linked := api.linked(change.before.state, change.head.state)):
            changes.append(Change(self._streams.get(linked.stream) or self._streams.fresh(linked.stream)))
            if refused := changes[1].decide(linked.command, at, call):
                return refusal(entry, refused)
        if change.records and (entered := api.entry(change.before.state, change.head.state)):
            taken = self._taken(api, pending, entry, entered, known)
            if isinstance(taken, Plan):
                return taken
            changes += taken
        reply = api.answer(change.head.state, request)
        if isinstance(reply, Refused):
            reply = ApiReply(problem_bytes(reply.code, reply.detail, reply.errors), reply.code.status)
        changes = [each for each in changes if each.head.version]
        worth = change.records or (call.fingerprint and changes)
        remember = entry if worth and not known.afresh else None
        return Plan(changes, reply.status, body_of(reply), remember_on=remember)

    def _taken(
        self, api: GameApi[S], pending: PendingCall, stream: CachedStream[S], entry: Entry, known: Known
    ) -> list[Change] | Plan:
        """The lobby's note of an entry: simultaneous entries of one agent change one stream, so one of them is
        decided again. The stream of its last entry must be as it was when this was decided."""
        lobby = self._streams.lobby(self._lobby)
        change, at = Change(lobby), max(self._now(), lobby.head.at)
        changes, last = [change], lobby.head.state.entry_of(entry.game_type, entry.agent_id)
        if last is not None and last != stream.stream and last not in known.archived:
            other = self._streams.held(last)
            if refused := api.elsewhere(other.head.state, entry):
                return refusal(other, refused)
            changes.append(Change(other))
        taken = EntryTaken(agent_id=entry.agent_id, game_type=entry.game_type, game_id=stream.stream)
        change.append(Accepted((taken,)), at, pending.call)
        return changes

    def opens(self, pending: PendingCall) -> bool:
        """Whether a call may open the stream that it names; workers always may."""
        return pending.command is not None or (self._api is not None and route_of(pending) in self._api.opens)

    def unknown(self, pending: PendingCall) -> Refused:
        """The refusal of a call about a missing stream; the same as for one that the caller may not see."""
        if pending.call.op != "command" or self._api is None:
            return NO_GAME
        try:
            request = api_request(pending)
        except BadBody as error:
            return error.refused
        if request.route not in self._api.writes:
            return NO_GAME
        decision = self._decided(self._api, self._decider.initial(pending.call.target), request, self._now())
        return decision if isinstance(decision, Refused) else NO_GAME

    def _decided(self, api: GameApi[S], state: S, request: ApiRequest, at: datetime) -> Decision:
        command = api.command(state, request)
        if isinstance(command, Command):
            return self._decider.decide(state, command, at)
        return command or Accepted()
