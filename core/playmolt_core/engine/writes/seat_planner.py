"""Plans of `open`, `join`, `seat_table` and `leave`: the game and the lobby of its type change in one unit."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Generic

import msgspec
from msgspec.structs import replace
from playmolt_schemas.api import Joined, Left
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Call, SeatBody, TableBody
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import lobby_of, time_ordered_id
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, Identity, identity_of

from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, number_of
from playmolt_core.engine.pending_call import NO_GAME, PendingCall, closed_to
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.plans import AddressesNotLoaded, Change, Known, Plan, Repeat, draw_seed, refusal
from playmolt_core.game.decider import Absent, Accepted, Command, Create, Decider, Join, Leave, Refused, S
from playmolt_core.game.lobby import GameClosed, GameOpened, Lobby, SeatLeft, SeatTaken, TableSeated
from playmolt_core.ops.telemetry import log

_encode = msgspec.json.encode
_log = log("seating")


_TOO_LATE: Final = Refused(
    Code.TOURNAMENT_OVER, "The time of this tournament was over before this game began. Let it end without the game."
)
PEOPLE_CLOSED: Final = Refused(
    Code.PEOPLE_CLOSED,
    "On this server people play private games only. Open one with POST /api/games, or join one with its invite.",
)


class SeatPlanner(Generic[S]):
    """Plans seats; raises NotLoaded. `config` is the base configuration of new games."""

    def __init__(
        self, decider: Decider[S], streams: StreamCache[S], now: Callable[[], datetime], config: dict[str, object]
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._config = config
        self._lobby = lobby_of(decider.game)

    def leave(self, pending: PendingCall, entry: CachedStream[S]) -> Plan:
        lobby, call = self._streams.lobby(self._lobby), pending.call
        change, seats, at = Change(entry), Change(lobby), max(self._now(), entry.head.at, lobby.head.at)
        if refused := change.decide(Leave(agent_id=call.agent), at, call):
            return refusal(entry, refused)
        seats.append(Accepted((SeatLeft(agent_id=call.agent, game_id=entry.stream),)), at, call)
        return Plan((change, seats), 200, _encode(Left()), remember_on=entry)

    def seat(self, pending: PendingCall, known: Known) -> Plan:
        """Seat the caller: in a new private game (`open`), in the private game of its invite, or in a public one; or
        all agents of a tournament's game (`seat_table`)."""
        lobby, call = self._streams.lobby(self._lobby), pending.call
        _check_new(pending, lobby, known)
        if call.op == "seat_table":
            return self._seat_table(pending, lobby, known)
        seated = self._unfinished(lobby.head.state.seat_of(call.agent), call.agent, known)
        if call.target:
            return self._seat_privately(pending, lobby, known, seated)
        if seated is not None:
            return self._seated_already(pending, lobby, seated)
        if not pending.decoded(SeatBody).public:
            return refusal(lobby, PEOPLE_CLOSED)
        return self._seat_publicly(pending, lobby, known)

    def _seat_table(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Plan:
        """Create a tournament's game with all its agents, so that it starts at once."""
        asked, call = pending.decoded(TableBody), pending.call
        create = Create(seed=draw_seed(), config=self._config | asked.config())
        game, at = fresh_stream(self._decider, call.target), max(self._now(), lobby.head.at)
        change, seats, agents = Change(game), Change(lobby), tuple(seat.id for seat in asked.seats)
        if asked.check:
            refused = change.decide(create, at, call)
            return refusal(lobby, refused) if refused else Plan((seats,), 200, b"{}")
        if not len(set(agents)) == len(agents) == self._decider.needed:
            detail = f"Fix the request body and retry: seats must name {self._decider.needed} different agents."
            return refusal(lobby, Refused(Code.INVALID_REQUEST, detail))
        for agent in agents:
            if busy := self._unfinished(lobby.head.state.table_of(agent), agent, known):
                return _already_seated(busy)
        one_address = asked.rated and self._one_address(agents, known)
        if asked.begins_before is not None and at >= asked.begins_before:
            return refusal(game, _TOO_LATE)
        joins = [Join(agent_id=seat.id, name=seat.name, identity=Identity(**identity_of(seat))) for seat in asked.seats]
        joins[-1] = replace(joins[-1], one_address=one_address)
        if refused := self._begin(change, [create, *joins], at, call):
            return refusal(game, refused)
        for absent in (Absent(agent_id=seat.id) for seat in asked.seats if seat.away):
            change.decide(absent, at, call)  # refused once all are absent, and the game is over
        seats.append(Accepted((TableSeated(agent_ids=agents, game_id=game.stream),)), at, call)
        return Plan((seats, change), 200, self._joined(game.stream, change.head.summary), remember_on=lobby)

    def _begin(self, change: Change, commands: Sequence[Command], at: datetime, call: Call) -> Refused | None:
        """Decide the commands that create and join a game, up to the first refusal."""
        for command in commands:
            if digest := self._decider.lacks(change.head.state):
                _log.error("pack_missing", digest=digest)
                detail = f"The pack of this game is missing ({digest}). Ask the operator to restore it."
                return Refused(Code.UNAVAILABLE, detail)
            if refused := change.decide(command, at, call):
                return refused
        return None

    def _unfinished(self, seated: str | None, agent: str, known: Known) -> CachedStream[S] | None:
        """A game, unless it is over or the agent resigned from it."""
        if seated is None or seated in known.archived:
            return None
        entry = self._streams.held(seated)
        done = entry.head.summary.over or self._decider.resigned(entry.head.state, agent)
        return None if done else entry

    def _seated_already(self, pending: PendingCall, lobby: CachedStream[Lobby], entry: CachedStream[S]) -> Plan:
        body = self._joined(entry.stream, entry.head.summary)
        return Plan((Change(lobby), Change(entry)), 200, body, remember_on=lobby if pending.call.fingerprint else None)

    def _seat_privately(
        self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known, seated: CachedStream[S] | None
    ) -> Plan:
        """Seat the caller in a new private game, or in the one of the call if the invite is valid."""
        call = pending.call
        if call.op == "open":
            game = fresh_stream(self._decider, call.target)
        else:
            game = self._streams.held(call.target)
            if not game.head.summary.invite or closed_to(self._decider, game.head, call):
                return refusal(game, NO_GAME)
            if seated is game:
                return self._seated_already(pending, lobby, game)
        return self._take_seat(pending, lobby, known, game, []) if seated is None else _already_seated(seated)

    def _seat_publicly(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Plan:
        """Seat the caller in the first waiting game of the language and pace, or in a new one.

        Games in which an agent of the same owner waits come last. Games before it that no longer wait are closed in the
        lobby.
        """
        asked = pending.decoded(SeatBody)
        wanted = (asked.language or DEFAULT_LANGUAGE, asked.pace)
        owner, shared = pending.call.identity.owner_id, None
        happened: list[Event] = []
        for game_id in lobby.head.state.open:
            game = None if game_id in known.archived else self._streams.held(game_id)
            if game is None or game.head.summary.phase != "waiting":
                happened.append(GameClosed(game_id=game_id))
            elif (game.head.summary.language, game.head.summary.pace) == wanted:
                if owner not in self._decider.owners(game.head.state):
                    return self._take_seat(pending, lobby, known, game, happened)
                shared = shared or game
        if shared is None:
            at = max(self._now(), lobby.head.at)
            shared = fresh_stream(self._decider, time_ordered_id(self._decider.game, at, pending.call.command_id))
            happened.append(GameOpened(game_id=shared.stream))
        return self._take_seat(pending, lobby, known, shared, happened)

    def _take_seat(
        self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known, game: CachedStream[S],
        happened: list[Event],
    ) -> Plan:  # fmt: skip
        """Seat the caller in a game; `happened` are further events of the lobby."""
        call, change, seat = pending.call, Change(game), Change(lobby)
        private = bool(game.head.summary.invite) or call.op == "open"
        agents = () if private else (*self._decider.participants(game.head.state), call.agent)
        one_address = self._one_address(agents, known)
        at = max(self._now(), lobby.head.at, game.head.at)
        commands: list[Command] = [
            Join(agent_id=call.agent, name=call.name, identity=call.identity, one_address=one_address)
        ]
        if not game.head.version:
            config = self._config | pending.decoded(SeatBody).config()
            invite = {"invite_sha256": call.invite} if call.op == "open" else {}
            commands.insert(0, Create(seed=draw_seed(), config=config | invite))
        if refused := self._begin(change, commands, at, call):
            # Who holds the invite may watch, and knows no id.
            named = private and refused.code is Code.ALREADY_STARTED
            return refusal(game, replace(refused, game_id=game.stream) if named else refused)
        happened.append(SeatTaken(agent_id=call.agent, game_id=game.stream))
        if change.head.summary.phase != "waiting" and not change.head.summary.invite:
            happened.append(GameClosed(game_id=game.stream))
        seat.append(Accepted(tuple(happened)), at, call)
        return Plan((seat, change), 200, self._joined(game.stream, change.head.summary), remember_on=lobby)

    def _one_address(self, agents: tuple[str, ...], known: Known) -> bool:
        """Whether two agents of a game that is full with them were registered from one address."""
        if len(agents) < self._decider.needed:
            return False
        if known.addresses[0] != agents:
            raise AddressesNotLoaded(agents)
        return known.addresses[1]

    def _joined(self, stream: str, summary: GameSummary) -> bytes:
        return _encode(Joined(stream, self._decider.game, summary.phase, summary.seated, summary.needed))


def _check_new(pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> None:
    """Raises Repeat if the command was already decided, or may have been before the lobby's snapshot."""
    if number_of(pending.call.command_id) in lobby.seen:
        raise Repeat(lobby.stream)
    if lobby.since and known.not_in_log != lobby.since:
        raise Repeat(lobby.stream, lobby.since)


def _already_seated(entry: CachedStream[S]) -> Plan:
    detail = f"You already have a seat in {entry.stream}. Leave that game or finish it before you join another one."
    return refusal(entry, Refused(Code.ALREADY_SEATED, detail, game_id=entry.stream))
