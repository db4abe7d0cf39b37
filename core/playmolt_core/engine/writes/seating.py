"""Plans of `join` and `leave`: a seat is taken in a game and in the lobby of its type, in one unit."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from playmolt_schemas.api import Joined, Left
from playmolt_schemas.games.game_summary import GameSummary
from playmolt_schemas.identifiers import lobby_of, time_ordered_id

from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, number_of
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.writes.plans import Change, Need, Plan, Planned, Repeat, refusal
from playmolt_core.engine.writes.sealing import append
from playmolt_core.game.decider import Accepted, Command, Create, Decider, Event, Join, Leave, Refused
from playmolt_core.game.lobby import GameClosed, GameOpened, Lobby, SeatLeft, SeatTaken

_encode = msgspec.json.encode


class Seating:
    """Plans who sits where. `config` is what a game is opened with."""

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

    def join(self, pending: PendingCall) -> Planned:
        lobby = self._streams(self._lobby)
        if lobby is None:
            return Need(self._lobby)
        if number_of(pending.call.command_id) in lobby.seen:
            return Repeat(self._lobby)
        state: Lobby = lobby.head.state
        seated = state.seat_of(pending.call.agent)
        if seated is not None and seated not in pending.archived:
            entry = self._streams(seated)
            if entry is None:
                return Need(seated)
            if not entry.head.summary.over and not self._decider.resigned(entry.head.state, pending.call.agent):
                return self._seated_already(pending, lobby, entry)
        return self._seat(pending, lobby)

    def _seated_already(self, pending: PendingCall, lobby: CachedStream, entry: CachedStream) -> Plan:
        body = self._joined(entry.stream, entry.head.summary)
        remember = lobby if pending.call.fingerprint else None
        return Plan((Change(lobby), Change(entry)), 200, body, remember_on=remember)

    def _seat(self, pending: PendingCall, lobby: CachedStream) -> Planned:
        """Give a free seat: in the first open game that still waits, else in a new one."""
        happened: list[Event] = []
        found = self._waiting(pending, lobby, happened)
        if isinstance(found, Need):
            return found
        at = max(self._now(), lobby.head.at)
        if found is None:
            found = fresh_stream(self._decider, time_ordered_id(self._decider.game, at, pending.call.command_id))
            happened.append(GameOpened(game_id=found.stream))
        change = Change(found)
        at = max(at, found.head.at)
        refused = self._seat_in(change, pending, at)
        if refused:
            return refusal(found, refused)
        happened.append(SeatTaken(agent_id=pending.call.agent, game_id=found.stream))
        if change.head.summary.phase != "waiting":
            happened.append(GameClosed(game_id=found.stream))
        seat = Change(lobby)
        append(seat, Accepted(tuple(happened)), at, pending.call)
        return Plan((seat, change), 200, self._joined(found.stream, change.head.summary), remember_on=lobby)

    def _waiting(self, pending: PendingCall, lobby: CachedStream, happened: list[Event]) -> CachedStream | Need | None:
        """Find the first game that waits; those before it are closed to the lobby, which had not heard of it."""
        for game_id in lobby.head.state.open:
            if game_id not in pending.archived:
                entry = self._streams(game_id)
                if entry is None:
                    return Need(game_id)
                if entry.head.summary.phase == "waiting":
                    return entry
            happened.append(GameClosed(game_id=game_id))
        return None

    def _seat_in(self, change: Change, pending: PendingCall, at: datetime) -> Refused | None:
        commands: list[Command] = [
            Join(agent_id=pending.call.agent, name=pending.call.name, identity=pending.call.identity)
        ]
        if change.head.version == 0:
            commands.insert(0, Create(seed=self._draw_seed(), config=self._config))
        for command in commands:
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return decision
            append(change, decision, at, pending.call, announce=isinstance(command, Join))
        return None

    def _joined(self, stream: str, summary: GameSummary) -> bytes:
        return _encode(Joined(stream, self._decider.game, summary.phase, summary.seated, summary.needed))
