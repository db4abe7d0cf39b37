"""From a call to a plan: what would be stored and answered, decided on the state in memory.

Nothing here waits. What a decision needs and memory lacks is named (`Need`), fetched by the host, and asked again.
"""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.api import ActionAccepted, Ended, EndRequest, Joined, Left
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.games.game_summary import GameSummary
from playmolt_schemas.identifiers import lobby_of, rfc3339, time_ordered_id
from playmolt_schemas.records import Metadata

from playmolt_core.engine.api_requests import BadBody, api_request
from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, number_of
from playmolt_core.engine.messages import lobby_message, message
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi
from playmolt_core.game.decider import (
    PUBLIC,
    Accepted,
    Act,
    Command,
    Create,
    Decider,
    EndGame,
    Event,
    Join,
    Leave,
    Refused,
)
from playmolt_core.game.fold import carries_state_hash, state_hash
from playmolt_core.game.lobby import GameClosed, GameOpened, Lobby, SeatLeft, SeatTaken
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.chain import seal
from playmolt_core.log.port import NewRecord, StreamAppend
from playmolt_core.ops.json_values import parse_json

_encode = msgspec.json.encode
_SEED_BITS = 128


class Need(msgspec.Struct, frozen=True, gc=False):
    """A stream that has to be in memory first."""

    stream: str


class Repeat(msgspec.Struct, frozen=True, gc=False):
    """The command was decided before: its outcome is remembered on this stream."""

    stream: str


class Change:
    """What is to happen to one stream; no records: a decision rests on its version and changes nothing."""

    __slots__ = ("before", "due", "entry", "head", "records")

    def __init__(self, entry: CachedStream) -> None:
        self.entry = entry
        self.before: Snapshot = entry.head
        self.head: Snapshot = entry.head
        self.records: list[NewRecord] = []
        self.due: datetime | None = None
        """When the stream's earliest effect after these records is due."""

    def extend(self, later: "Change") -> None:
        """Go on with a change that was decided on this one's head."""
        if later.records:
            self.records += later.records
            self.due = later.due
        self.head = later.head

    def to_append(self) -> StreamAppend:
        """Give what is to be stored."""
        return StreamAppend(
            stream=self.entry.stream,
            expected=self.before.version,
            prev_hash=self.before.hash,
            records=self.records,
            summary=None if self.entry.decider.game == "lobby" else self.head.summary,
            due=self.due,
        )


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored in one unit and answered after its commit."""

    changes: Sequence[Change]
    status: int = 200
    body: bytes = b""
    refused: Refused | None = None
    """Why nothing is stored; it is answered in place of status and body."""
    remember_on: CachedStream | None = None
    """The stream, one of those that change, that keeps the outcome; None when a repeat may be decided afresh."""

    def answer(self, call: PendingCall) -> None:
        """Answer the call that was planned."""
        if self.refused is None:
            call.answer(self.status, self.body)
        else:
            call.refuse(self.refused.code, self.refused.detail, self.refused.errors)


Planned = Need | Repeat | Plan


class Planner:
    """Plans for one game type."""

    def __init__(
        self,
        decider: Decider[Any],
        streams: Callable[[str], CachedStream | None],
        now: Callable[[], datetime],
        config: dict[str, Any],
        draw_seed: Callable[[], str] = lambda: str(secrets.randbits(_SEED_BITS)),
        api: GameApi[Any] | None = None,
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._config = config
        self._draw_seed = draw_seed
        self._api = api
        self._lobby = lobby_of(decider.game)

    def plan(self, work: PendingCall) -> Planned:
        """Plan a call that changes something."""
        call = work.call
        if call.op == "join":
            return self._join(work)
        entry = self._streams(call.target)
        if entry is None:
            return Need(call.target)
        if number_of(call.command_id) in entry.seen and not work.afresh:
            return Repeat(entry.stream)
        if call.op == "leave":
            return self._leave(work, entry)
        if call.op == "tell":
            return self._tell(work, entry)
        return self._decide(work, entry)

    def opens(self, work: PendingCall) -> bool:
        """Say whether a call may open the stream it names: workers are trusted to, and their command says so."""
        if work.command is not None:
            return True
        if work.call.op != "tell" or self._api is None:
            return False
        return api_request(work.call).route in self._api.opens

    def unknown(self, work: PendingCall) -> Refused:
        """Refuse a call about a stream that is not there, worded as for one that the caller may not know of."""
        if work.call.op == "tell" and self._api is not None:
            request, state = api_request(work.call), self._decider.initial(work.call.target)
            command = self._api.command(state, request) if request.route in self._api.writes else None
            decision = self._decider.decide(state, command, self._now()) if isinstance(command, Command) else command
            if isinstance(decision, Refused):
                return decision
        return Refused(Code.NOT_FOUND, "There is no such game; see GET /api/games for those there are.")

    def answer(self, state: Any, request: ApiRequest) -> ApiReply | Refused:
        """Answer a route from a state."""
        if self._api is None:
            return Refused(Code.NOT_FOUND, "This game has no calls of its own.")
        return self._api.answer(state, request)

    def _decide(self, work: PendingCall, entry: CachedStream) -> Plan:
        at = self._time(entry)
        decision = self._decider.decide(entry.head.state, self._command(work), at)
        if isinstance(decision, Refused):
            return _refusal(entry, decision)
        change = Change(entry)
        self._append(change, decision, at, work)
        phase = change.head.summary.phase
        body: msgspec.Struct
        if work.call.op == "end":
            body = Ended(entry.stream, phase, change.head.version)
        else:
            receipt = change.records[0].hash if change.records else None
            body = ActionAccepted("accepted" if change.records else "pass", change.head.version, phase, receipt)
        remember = entry if change.records or work.call.fingerprint else None
        return Plan((change,), 200, _encode(body), remember_on=remember)

    def _tell(self, work: PendingCall, entry: CachedStream) -> Planned:
        """Decide a call of the game's own, with what it brings about in another stream."""
        api, change = self._api, Change(entry)
        request = api_request(work.call, self._draw_seed())
        if api is None or request.route not in api.writes:
            raise BadBody(f"no route {request.route} changes anything here")
        command = api.command(entry.head.state, request)
        if isinstance(command, Refused):
            return _refusal(entry, command)
        at = self._time(entry)
        decision = self._decider.decide(entry.head.state, command, at) if command else Accepted()
        if isinstance(decision, Refused):
            return _refusal(entry, decision)
        self._append(change, decision, at, work)
        changes = [change] if change.head.version else []
        linked = api.linked(entry.head.state, change.head.state) if change.records else None
        if linked:
            other = Change(self._streams(linked.stream) or fresh_stream(self._decider, linked.stream))
            follows = self._decider.decide(other.head.state, linked.command, at)
            if isinstance(follows, Refused):
                return _refusal(entry, follows)
            self._append(other, follows, at, work)
            changes.append(other)
        reply = api.answer(change.head.state, request)
        if isinstance(reply, Refused):
            reply = ApiReply(problem_bytes(reply.code, reply.detail, reply.errors), reply.code.status)
        worth = change.records or (work.call.fingerprint and changes)
        remember = entry if worth and not work.afresh else None
        return Plan(changes, reply.status, body_of(reply), remember_on=remember)

    def _command(self, work: PendingCall) -> Command:
        call = work.call
        if work.command is not None:
            return work.command
        try:
            if call.op == "act":
                return Act(agent_id=call.agent, action=parse_json(call.body))
            return EndGame(reason=msgspec.json.decode(call.body, type=EndRequest).reason)
        except ValueError as error:
            raise BadBody(str(error)) from error

    def _leave(self, work: PendingCall, entry: CachedStream) -> Planned:
        lobby = self._streams(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        at = max(self._time(entry), self._time(lobby))
        decision = self._decider.decide(entry.head.state, Leave(agent_id=work.call.agent), at)
        if isinstance(decision, Refused):
            return _refusal(entry, decision)
        change = Change(entry)
        self._append(change, decision, at, work)
        seat = Change(lobby)
        self._append(seat, Accepted((SeatLeft(agent_id=work.call.agent, game_id=entry.stream),)), at, work)
        return Plan((change, seat), 200, _encode(Left()), remember_on=entry)

    def _join(self, work: PendingCall) -> Planned:
        lobby = self._streams(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        if number_of(work.call.command_id) in lobby.seen:
            return Repeat(self._lobby)
        state: Lobby = lobby.head.state
        seated = state.seat_of(work.call.agent)
        if seated is not None and seated not in work.archived:
            entry = self._streams(seated)
            if entry is None:
                return Need(seated)
            if not entry.head.summary.over:
                remember = lobby if work.call.fingerprint else None
                return Plan(
                    (Change(lobby), Change(entry)),
                    200,
                    self._joined(entry.stream, entry.head.summary),
                    remember_on=remember,
                )
        return self._seat(work, lobby)

    def _seat(self, work: PendingCall, lobby: CachedStream) -> Planned:
        """Give a free seat: in the first open game that still waits, else in a new one."""
        at = self._time(lobby)
        happened: list[Event] = []
        chosen: CachedStream | None = None
        for game_id in lobby.head.state.open:
            if game_id in work.archived:
                happened.append(GameClosed(game_id=game_id))
                continue
            entry = self._streams(game_id)
            if entry is None:
                return Need(game_id)
            if entry.head.summary.phase == "waiting":
                chosen = entry
                break
            happened.append(GameClosed(game_id=game_id))
        if chosen is None:
            chosen = fresh_stream(self._decider, time_ordered_id(self._decider.game, at, work.call.command_id))
            happened.append(GameOpened(game_id=chosen.stream))
        change = Change(chosen)
        at = max(at, self._time(chosen))
        refused = self._seat_in(change, work, at)
        if refused:
            return _refusal(chosen, refused)
        happened.append(SeatTaken(agent_id=work.call.agent, game_id=chosen.stream))
        if change.head.summary.phase != "waiting":
            happened.append(GameClosed(game_id=chosen.stream))
        seat = Change(lobby)
        self._append(seat, Accepted(tuple(happened)), at, work)
        return Plan((seat, change), 200, self._joined(chosen.stream, change.head.summary), remember_on=lobby)

    def _seat_in(self, change: Change, work: PendingCall, at: datetime) -> Refused | None:
        commands: list[Command] = [Join(agent_id=work.call.agent, name=work.call.name)]
        if change.head.version == 0:
            commands.insert(0, Create(seed=self._draw_seed(), config=self._config))
        for command in commands:
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return decision
            self._append(change, decision, at, work, announce=isinstance(command, Join))
        return None

    def _joined(self, stream: str, summary: GameSummary) -> bytes:
        return _encode(Joined(stream, self._decider.game, summary.phase, summary.seated, summary.needed))

    def _time(self, entry: CachedStream) -> datetime:
        """Now, but never before the stream's last record: two replicas' clocks differ."""
        return max(self._now(), entry.head.at)

    def _append(
        self, change: Change, decided: Accepted, at: datetime, work: PendingCall, *, announce: bool = True
    ) -> None:
        """Move a change's head on by events and seal them as records; `announce` tells the lobby what they changed."""
        events, states = decided.events, decided.states
        if not events:
            return
        decider, stream, head = change.entry.decider, change.entry.stream, change.head
        game = decider.game
        state, version, prev_hash, summary = head.state, head.version, head.hash, head.summary
        before = summary if version else None
        written = rfc3339(at)
        last = len(events) - 1
        for index, event in enumerate(events):
            version += 1
            state = states[index] if states else decider.evolve(state, event, at)
            public = lobby = None
            if index == last:
                summary = decider.summary(state)
            if game != "lobby":
                public = message(decider, stream, version, written, state, event, PUBLIC)
                if announce and index == last and summary != before:
                    lobby = lobby_message(game, stream, before, summary, written)
            carries = carries_state_hash(game, version, closes=event.closes)
            record = seal(
                stream=stream,
                version=version,
                prev_hash=prev_hash,
                at=at,
                event_type=event.type,
                schema_version=event.schema_version,
                data=canonical_json(event),
                metadata=_metadata(work, state_hash(state) if carries else msgspec.UNSET),
                public=public,
                lobby=lobby,
                closes=event.closes,
                written=written,
            )
            change.records.append(record)
            prev_hash = record.hash
        change.head = Snapshot(state, version, prev_hash, at, summary)
        # Asked here and not at the commit: rules that break must fail this call alone.
        effects = decider.effects(state)
        change.due = min(effect.due for effect in effects) if effects else None


def body_of(reply: ApiReply) -> bytes:
    """Encode an answer's body."""
    return reply.body if isinstance(reply.body, bytes) else _encode(reply.body)


def _metadata(work: PendingCall, hashed: str | msgspec.UnsetType) -> Metadata:
    call = work.call
    return Metadata(
        command_id=call.command_id,
        correlation=call.command_id,
        causation=call.command_id,
        actor=call.agent or ("operator" if call.operator else "host"),
        trace=call.trace,
        state_hash=hashed,
    )


def _refusal(entry: CachedStream, refused: Refused) -> Plan:
    """A refusal rests on the stream's version like any answer: it is sent once that version is known to be current."""
    return Plan((Change(entry),) if entry.head.version else (), refused=refused)
