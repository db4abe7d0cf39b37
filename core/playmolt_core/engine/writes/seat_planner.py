"""Plans of `open`, `join` and `leave`: the game and the lobby of its type change in one unit."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from playmolt_schemas.api import Joined, Left
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import DEFAULT_LANGUAGE, GameLanguage, GameSummary
from playmolt_schemas.identifiers import lobby_of, time_ordered_id

from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, number_of
from playmolt_core.engine.pending_call import NO_GAME, PendingCall, closed_to
from playmolt_core.engine.writes.plans import Change, Known, Need, Plan, Planned, Recall, Repeat, refusal
from playmolt_core.engine.writes.record_chain import append
from playmolt_core.game.decider import Accepted, Command, Create, Decider, Event, Join, Leave, Refused
from playmolt_core.game.lobby import GameClosed, GameOpened, Lobby, SeatLeft, SeatTaken
from playmolt_core.ops.telemetry import log

_encode = msgspec.json.encode
_log = log("seating")


class SeatRequest(msgspec.Struct, frozen=True):
    """Body of `join` and `open`."""

    language: GameLanguage | None = None
    fill: Literal["house"] | None = None
    fill_after_seconds: int = 0
    deadline_seconds: int | None = None
    pack: str | None = None

    def opening(self) -> dict[str, Any]:
        """The language in the configuration of a new game; absent if the pack decides."""
        return {} if self.language is None and self.pack else {"language": self.language or DEFAULT_LANGUAGE}


class SeatPlanner:
    """Plans seats. `config` is the base configuration of new games."""

    def __init__(
        self,
        decider: Decider[Any],
        streams: Callable[[str], CachedStream | None],
        now: Callable[[], datetime],
        config: dict[str, Any],
        draw_seed: Callable[[], str],
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._config = config
        self._draw_seed = draw_seed
        self._lobby = lobby_of(decider.game)

    def leave(self, pending: PendingCall, entry: CachedStream) -> Planned:
        lobby = self._streams(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        agent, at = pending.call.agent, max(self._now(), entry.head.at, lobby.head.at)
        decision = self._decider.decide(entry.head.state, Leave(agent_id=agent), at)
        if isinstance(decision, Refused):
            return refusal(entry, decision)
        change, seat = Change(entry), Change(lobby)
        append(change, decision, at, pending.call)
        append(seat, Accepted((SeatLeft(agent_id=agent, game_id=entry.stream),)), at, pending.call)
        return Plan((change, seat), 200, _encode(Left()), remember_on=entry)

    def seat(self, pending: PendingCall, known: Known) -> Planned:
        """Seat the caller: in a new private game (`open`), in the private game of its invite, or in a public one."""
        lobby = self._streams(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        if decided := _decided_before(pending, lobby, known):
            return decided
        seated = self._sits(pending, lobby, known)
        if isinstance(seated, Need):
            return seated
        if pending.call.op == "open":
            return self._open(pending, lobby) if seated is None else _already_seated(seated)
        if pending.call.target:
            return self._enter(pending, lobby, seated)
        return self._seat(pending, lobby, known) if seated is None else self._seated_already(pending, lobby, seated)

    def _open(self, pending: PendingCall, lobby: CachedStream) -> Plan:
        """Open a private game with the id in the call."""
        wanted = _wanted(pending)
        config = self._config | wanted.opening() | {"invite_sha256": pending.call.invite}
        if wanted.fill is not None:
            config |= {"fill": wanted.fill, "fill_after_seconds": wanted.fill_after_seconds}
        if wanted.deadline_seconds is not None:
            config |= {"phase_deadline_seconds": wanted.deadline_seconds}
        if wanted.pack is not None:
            config |= {"pack": wanted.pack}
        return self._take_seat(pending, lobby, fresh_stream(self._decider, pending.call.target), [], config)

    def _enter(self, pending: PendingCall, lobby: CachedStream, seated: CachedStream | None) -> Planned:
        """Seat the caller in the private game of the call, if the invite is valid."""
        game = self._streams(pending.call.target)
        if game is None:
            return Need(pending.call.target)
        if not game.head.summary.invite or closed_to(self._decider, game.head, pending.call):
            return refusal(game, NO_GAME)
        if seated is game:
            return self._seated_already(pending, lobby, game)
        return self._take_seat(pending, lobby, game, []) if seated is None else _already_seated(seated)

    def _sits(self, pending: PendingCall, lobby: CachedStream, known: Known) -> CachedStream | Need | None:
        """The unfinished game of this type in which the caller has a seat."""
        state: Lobby = lobby.head.state
        seated = state.seat_of(pending.call.agent)
        if seated is None or seated in known.archived:
            return None
        entry = self._streams(seated)
        if entry is None:
            return Need(seated)
        done = entry.head.summary.over or self._decider.resigned(entry.head.state, pending.call.agent)
        return None if done else entry

    def _seated_already(self, pending: PendingCall, lobby: CachedStream, entry: CachedStream) -> Plan:
        body = self._joined(entry.stream, entry.head.summary)
        remember = lobby if pending.call.fingerprint else None
        return Plan((Change(lobby), Change(entry)), 200, body, remember_on=remember)

    def _seat(self, pending: PendingCall, lobby: CachedStream, known: Known) -> Planned:
        """Seat the caller in the first waiting game, or in a new one."""
        happened: list[Event] = []
        found = self._waiting(pending, lobby, known, happened)
        if isinstance(found, Need):
            return found
        at = max(self._now(), lobby.head.at)
        if found is None:
            found = fresh_stream(self._decider, time_ordered_id(self._decider.game, at, pending.call.command_id))
            happened.append(GameOpened(game_id=found.stream))
        return self._take_seat(pending, lobby, found, happened)

    def _take_seat(
        self,
        pending: PendingCall,
        lobby: CachedStream,
        game: CachedStream,
        happened: list[Event],
        config: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Seat the caller in a game; `happened` are further events of the lobby."""
        change = Change(game)
        at = max(self._now(), lobby.head.at, game.head.at)
        refused = self._seat_in(change, pending, at, config)
        if refused:
            return refusal(game, refused)
        happened.append(SeatTaken(agent_id=pending.call.agent, game_id=game.stream))
        if change.head.summary.phase != "waiting" and not change.head.summary.invite:
            happened.append(GameClosed(game_id=game.stream))
        seat = Change(lobby)
        append(seat, Accepted(tuple(happened)), at, pending.call)
        return Plan((seat, change), 200, self._joined(game.stream, change.head.summary), remember_on=lobby)

    def _waiting(
        self, pending: PendingCall, lobby: CachedStream, known: Known, happened: list[Event]
    ) -> CachedStream | Need | None:
        """Find the first waiting game in the language; the lobby has not closed games before it that no longer wait."""
        language = _wanted(pending).language or DEFAULT_LANGUAGE
        for game_id in lobby.head.state.open:
            if game_id not in known.archived:
                entry = self._streams(game_id)
                if entry is None:
                    return Need(game_id)
                if entry.head.summary.phase == "waiting":
                    if entry.head.summary.language == language:
                        return entry
                    continue
            happened.append(GameClosed(game_id=game_id))
        return None

    def _seat_in(
        self, change: Change, pending: PendingCall, at: datetime, config: Mapping[str, Any] | None
    ) -> Refused | None:
        commands: list[Command] = [
            Join(agent_id=pending.call.agent, name=pending.call.name, identity=pending.call.identity)
        ]
        if change.head.version == 0:
            opened = config or self._config | _wanted(pending).opening()
            commands.insert(0, Create(seed=self._draw_seed(), config=opened))
        for command in commands:
            if missing := self._decider.lacks(change.head.state):
                return _pack_missing(missing)
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return decision
            append(change, decision, at, pending.call)
        return None

    def _joined(self, stream: str, summary: GameSummary) -> bytes:
        return _encode(Joined(stream, self._decider.game, summary.phase, summary.seated, summary.needed))


def _decided_before(pending: PendingCall, lobby: CachedStream, known: Known) -> Repeat | Recall | None:
    if number_of(pending.call.command_id) in lobby.seen:
        return Repeat(lobby.stream)
    asked = not lobby.since or known.not_in_log == lobby.since
    return None if asked else Recall(lobby.stream, lobby.since)


def _wanted(pending: PendingCall) -> SeatRequest:
    return msgspec.json.decode(pending.call.body, type=SeatRequest)


def _pack_missing(digest: str) -> Refused:
    _log.error("pack_missing", digest=digest)
    return Refused(Code.UNAVAILABLE, f"The pack of this game is missing ({digest}). Ask the operator to restore it.")


def _already_seated(entry: CachedStream) -> Plan:
    detail = f"You already have a seat in {entry.stream}. Leave that game or finish it before you join another one."
    return refusal(entry, Refused(Code.ALREADY_SEATED, detail, game_id=entry.stream))
