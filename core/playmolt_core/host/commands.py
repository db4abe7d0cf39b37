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
from playmolt_schemas.cards import Card
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.identifiers import lobby_of, rfc3339, time_ordered_id
from playmolt_schemas.records import Metadata

from playmolt_core.decider import (
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
from playmolt_core.desk import Ask, Desk, Reply
from playmolt_core.fold import carries_state_hash, state_hash
from playmolt_core.host.asks import BadBody, ask_of
from playmolt_core.host.entry import Entry, Snapshot, fresh_entry, number_of
from playmolt_core.host.messages import lobby_message, message
from playmolt_core.host.work import Work
from playmolt_core.lobby import GameClosed, GameOpened, Lobby, SeatLeft, SeatTaken
from playmolt_core.log.chain import seal
from playmolt_core.log.port import NewRecord, StreamAppend
from playmolt_core.parsing import parse_json

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

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.before: Snapshot = entry.head
        self.head: Snapshot = entry.head
        self.records: list[NewRecord] = []
        self.due: datetime | None = None
        """When the stream's earliest wish after these records is due."""

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
            card=None if self.entry.decider.game == "lobby" else self.head.card,
            due=self.due,
        )


class Plan(msgspec.Struct, frozen=True, gc=False):
    """What is to be stored in one unit and answered after its commit."""

    changes: Sequence[Change]
    status: int
    body: bytes
    remember_on: Entry | None = None
    """The stream, one of those that change, that keeps the outcome; None when a repeat may be decided afresh."""


Planned = Need | Repeat | Plan


class Commands:
    """Plans for one game type."""

    def __init__(
        self,
        decider: Decider[Any],
        hot: Callable[[str], Entry | None],
        now: Callable[[], datetime],
        config: dict[str, Any],
        draw_seed: Callable[[], str] = lambda: str(secrets.randbits(_SEED_BITS)),
        desk: Desk[Any] | None = None,
    ) -> None:
        self._decider = decider
        self._hot = hot
        self._now = now
        self._config = config
        self._draw_seed = draw_seed
        self._desk = desk
        self._lobby = lobby_of(decider.game)

    def plan(self, work: Work) -> Planned:
        """Plan a call that changes something."""
        call = work.call
        if call.op == "join":
            return self._join(work)
        entry = self._hot(call.target)
        if entry is None:
            return Need(call.target)
        if number_of(call.command_id) in entry.seen and not work.afresh:
            return Repeat(entry.stream)
        if call.op == "leave":
            return self._leave(work, entry)
        if call.op == "tell":
            return self._tell(work, entry)
        return self._decide(work, entry)

    def opens(self, work: Work) -> bool:
        """Say whether a call may open the stream it names: workers are trusted to, and their command says so."""
        if work.call.op == "wish":
            return True
        if work.call.op != "tell" or self._desk is None:
            return False
        return ask_of(work.call).route in self._desk.opens

    def unknown(self, work: Work) -> Refused:
        """Refuse a call about a stream that is not there, worded as for one that the caller may not know of."""
        if work.call.op == "tell" and self._desk is not None:
            ask, state = ask_of(work.call), self._decider.initial(work.call.target)
            command = self._desk.command(state, ask) if ask.route in self._desk.writes else None
            decision = self._decider.decide(state, command, self._now()) if isinstance(command, Command) else command
            if isinstance(decision, Refused):
                return decision
        return Refused(Code.NOT_FOUND, "There is no such game; see GET /api/games for those there are.")

    def answer(self, state: Any, ask: Ask) -> Reply | Refused:
        """Answer a route from a state."""
        if self._desk is None:
            return Refused(Code.NOT_FOUND, "This game has no calls of its own.")
        return self._desk.answer(state, ask)

    def _decide(self, work: Work, entry: Entry) -> Plan:
        at = self._time(entry)
        decision = self._decider.decide(entry.head.state, self._command(work), at)
        if isinstance(decision, Refused):
            return _refusal(entry, decision)
        change = Change(entry)
        self._append(change, decision, at, work)
        phase = change.head.card.phase
        body: msgspec.Struct
        if work.call.op == "end":
            body = Ended(entry.stream, phase, change.head.version)
        else:
            receipt = change.records[0].hash if change.records else None
            body = ActionAccepted("accepted" if change.records else "pass", change.head.version, phase, receipt)
        remember = entry if change.records or work.call.fingerprint else None
        return Plan((change,), 200, _encode(body), remember)

    def _tell(self, work: Work, entry: Entry) -> Planned:
        """Decide a call of the game's own, with what it brings about in another stream."""
        desk, change = self._desk, Change(entry)
        ask = ask_of(work.call, self._draw_seed())
        if desk is None or ask.route not in desk.writes:
            raise BadBody(f"no route {ask.route} changes anything here")
        command = desk.command(entry.head.state, ask)
        if isinstance(command, Refused):
            return _refusal(entry, command)
        at = self._time(entry)
        decision = self._decider.decide(entry.head.state, command, at) if command else Accepted()
        if isinstance(decision, Refused):
            return _refusal(entry, decision)
        self._append(change, decision, at, work)
        changes = [change] if change.head.version else []
        linked = desk.linked(entry.head.state, change.head.state) if change.records else None
        if linked:
            other = Change(self._hot(linked.stream) or fresh_entry(self._decider, linked.stream))
            follows = self._decider.decide(other.head.state, linked.command, at)
            if isinstance(follows, Refused):
                return _refusal(entry, follows)
            self._append(other, follows, at, work)
            changes.append(other)
        reply = desk.answer(change.head.state, ask)
        if isinstance(reply, Refused):
            reply = Reply(problem_bytes(reply.code, reply.detail, reply.errors), reply.code.status)
        worth = change.records or (work.call.fingerprint and changes)
        remember = entry if worth and not work.afresh else None
        return Plan(changes, reply.status, body_of(reply), remember)

    def _command(self, work: Work) -> Command:
        call = work.call
        if work.command is not None:
            return work.command
        try:
            if call.op == "act":
                return Act(agent_id=call.agent, action=parse_json(call.body))
            return EndGame(reason=msgspec.json.decode(call.body, type=EndRequest).reason)
        except ValueError as error:
            raise BadBody(str(error)) from error

    def _leave(self, work: Work, entry: Entry) -> Planned:
        lobby = self._hot(self._lobby)
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
        return Plan((change, seat), 200, _encode(Left()), entry)

    def _join(self, work: Work) -> Planned:
        lobby = self._hot(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        if number_of(work.call.command_id) in lobby.seen:
            return Repeat(self._lobby)
        state: Lobby = lobby.head.state
        seated = state.seat_of(work.call.agent)
        if seated is not None and seated not in work.archived:
            entry = self._hot(seated)
            if entry is None:
                return Need(seated)
            if not entry.head.card.over:
                remember = lobby if work.call.fingerprint else None
                return Plan((Change(lobby), Change(entry)), 200, self._joined(entry.stream, entry.head.card), remember)
        return self._seat(work, lobby)

    def _seat(self, work: Work, lobby: Entry) -> Planned:
        """Give a free seat: in the first open game that still waits, else in a new one."""
        at = self._time(lobby)
        happened: list[Event] = []
        chosen: Entry | None = None
        for game_id in lobby.head.state.open:
            if game_id in work.archived:
                happened.append(GameClosed(game_id=game_id))
                continue
            entry = self._hot(game_id)
            if entry is None:
                return Need(game_id)
            if entry.head.card.phase == "waiting":
                chosen = entry
                break
            happened.append(GameClosed(game_id=game_id))
        if chosen is None:
            chosen = fresh_entry(self._decider, time_ordered_id(self._decider.game, at, work.call.command_id))
            happened.append(GameOpened(game_id=chosen.stream))
        change = Change(chosen)
        at = max(at, self._time(chosen))
        refused = self._seat_in(change, work, at)
        if refused:
            return _refusal(chosen, refused)
        happened.append(SeatTaken(agent_id=work.call.agent, game_id=chosen.stream))
        if change.head.card.phase != "waiting":
            happened.append(GameClosed(game_id=chosen.stream))
        seat = Change(lobby)
        self._append(seat, Accepted(tuple(happened)), at, work)
        return Plan((seat, change), 200, self._joined(chosen.stream, change.head.card), lobby)

    def _seat_in(self, change: Change, work: Work, at: datetime) -> Refused | None:
        commands: list[Command] = [Join(agent_id=work.call.agent, name=work.call.name)]
        if change.head.version == 0:
            commands.insert(0, Create(seed=self._draw_seed(), config=self._config))
        for command in commands:
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return decision
            self._append(change, decision, at, work, announce=isinstance(command, Join))
        return None

    def _joined(self, stream: str, card: Card) -> bytes:
        return _encode(Joined(stream, self._decider.game, card.phase, card.seated, card.needed))

    def _time(self, entry: Entry) -> datetime:
        """Now, but never before the stream's last record: two replicas' clocks differ."""
        return max(self._now(), entry.head.at)

    def _append(self, change: Change, decided: Accepted, at: datetime, work: Work, *, announce: bool = True) -> None:
        """Move a change's head on by events and seal them as records; `announce` tells the lobby what they changed."""
        events, states = decided.events, decided.states
        if not events:
            return
        decider, stream, head = change.entry.decider, change.entry.stream, change.head
        game = decider.game
        state, version, prev_hash, card = head.state, head.version, head.hash, head.card
        before = card if version else None
        written = rfc3339(at)
        last = len(events) - 1
        for index, event in enumerate(events):
            version += 1
            state = states[index] if states else decider.evolve(state, event, at)
            public = lobby = None
            if index == last:
                card = decider.card(state)
            if game != "lobby":
                public = message(decider, stream, version, written, state, event, PUBLIC)
                if announce and index == last and card != before:
                    lobby = lobby_message(game, stream, before, card, written)
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
        change.head = Snapshot(state, version, prev_hash, at, card)
        # Asked here and not at the commit: rules that break must fail this call alone.
        wishes = decider.wants(state)
        change.due = min(wish.due for wish in wishes) if wishes else None


def body_of(reply: Reply) -> bytes:
    """Encode an answer's body."""
    return reply.body if isinstance(reply.body, bytes) else _encode(reply.body)


def _metadata(work: Work, hashed: str | msgspec.UnsetType) -> Metadata:
    call = work.call
    return Metadata(
        command_id=call.command_id,
        correlation=call.command_id,
        causation=call.command_id,
        actor=call.agent or ("operator" if call.operator else "host"),
        trace=call.trace,
        state_hash=hashed,
    )


def _refusal(entry: Entry, refused: Refused) -> Plan:
    """A refusal rests on the stream's version like any answer: it is sent once that version is known to be current."""
    body = problem_bytes(refused.code, refused.detail, refused.errors)
    return Plan((Change(entry),) if entry.head.version else (), refused.code.status, body)
