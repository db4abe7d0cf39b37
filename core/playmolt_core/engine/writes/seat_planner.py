"""Plans of `open`, `join`, `seat_table` and `leave`: the game and the lobby of its type change in one unit."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, Generic, Literal

import msgspec
from msgspec.structs import replace
from playmolt_schemas.api import Joined, Left
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.identifiers import lobby_of, time_ordered_id
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import (
    DEFAULT_LANGUAGE,
    DEFAULT_PACE,
    GameLanguage,
    Identity,
    Pace,
    TournamentGame,
    identity_of,
)

from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, number_of
from playmolt_core.engine.pending_call import NO_GAME, PendingCall, closed_to
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.plans import (
    Change,
    Known,
    Need,
    NeedAddresses,
    Plan,
    Planned,
    Repeat,
    draw_seed,
    refusal,
)
from playmolt_core.engine.writes.record_chain import append
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


class SeatRequest(msgspec.Struct, frozen=True):
    """Body of `join` and `open`."""

    language: GameLanguage | None = None
    pace: Pace = DEFAULT_PACE
    fill: Literal["house"] | None = None
    fill_after_seconds: int = 0
    deadline_seconds: int | None = None
    pack: str | None = None
    public: bool = True
    """Whether the caller may be seated in a public game."""

    def config(self) -> dict[str, object]:
        """Its part of the configuration of a new game. Without a language, a pack decides it."""
        named = {"fill": self.fill, "phase_deadline_seconds": self.deadline_seconds, "pack": self.pack}
        named["fill_after_seconds"] = self.fill_after_seconds if self.fill else None
        named["language"] = self.language or (None if self.pack else DEFAULT_LANGUAGE)
        named["pace"] = self.pace if self.pace != DEFAULT_PACE else None
        return {name: value for name, value in named.items() if value is not None}


class TableSeat(Identity, frozen=True, kw_only=True):
    """A seat of a tournament's game, with the agent's identity at this time."""

    id: str
    name: str
    role: str | None = None
    away: bool = False
    """Whether the game does not wait for it: the agent is banned."""


class TableRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `seat_table`. A role is given to all seats or to none."""

    tournament: TournamentGame
    seats: tuple[TableSeat, ...]
    language: GameLanguage | None = None
    pack: str | None = None
    deadline_seconds: int | None = None
    rated: bool = True
    begins_before: datetime | None = None
    """When it is too late to begin this game."""
    check: bool = False
    """Only check whether such a game can be created: nothing is stored, and the seats do not count."""

    def config(self) -> dict[str, object]:
        """Its part of the configuration of the new game."""
        asked = SeatRequest(language=self.language, pack=self.pack, deadline_seconds=self.deadline_seconds)
        roles = [seat.role for seat in self.seats if seat.role is not None]
        named: dict[str, object] = {"tournament": msgspec.to_builtins(self.tournament)}
        return asked.config() | named | ({"roles": roles} if roles else {}) | ({} if self.rated else {"rated": False})


class SeatPlanner(Generic[S]):
    """Plans seats. `config` is the base configuration of new games."""

    def __init__(
        self, decider: Decider[S], streams: StreamCache[S], now: Callable[[], datetime], config: dict[str, object]
    ) -> None:
        self._decider = decider
        self._streams = streams
        self._now = now
        self._config = config
        self._lobby = lobby_of(decider.game)

    def leave(self, pending: PendingCall, entry: CachedStream[S]) -> Planned:
        if (lobby := self._streams.lobby(self._lobby)) is None:
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
        """Seat the caller: in a new private game (`open`), in the private game of its invite, or in a public one; or
        all agents of a tournament's game (`seat_table`)."""
        if (lobby := self._streams.lobby(self._lobby)) is None:
            return Need(self._lobby)
        if decided := _decided_before(pending, lobby, known):
            return decided
        seat = self._seat_table if pending.call.op == "seat_table" else self._seat_caller
        return seat(pending, lobby, known)

    def _seat_caller(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Planned:
        seated = self._sits(pending, lobby, known)
        if isinstance(seated, Need):
            return seated
        if pending.call.op == "open":
            game = fresh_stream(self._decider, pending.call.target)
            return self._take_seat(pending, lobby, known, game, []) if seated is None else _already_seated(seated)
        if pending.call.target:
            return self._enter(pending, lobby, known, seated)
        if seated is not None:
            return self._seated_already(pending, lobby, seated)
        if not pending.decoded(SeatRequest).public:
            return refusal(lobby, PEOPLE_CLOSED)
        return self._seat(pending, lobby, known)

    def _seat_table(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Planned:
        """Create a tournament's game with all its agents, so that it starts at once."""
        asked = pending.decoded(TableRequest)
        if asked.check:
            create = Create(seed=draw_seed(), config=self._config | asked.config())
            decision = self._decider.decide(self._decider.initial(pending.call.target), create, self._now())
            return refusal(lobby, decision) if isinstance(decision, Refused) else Plan((Change(lobby),), 200, b"{}")
        if not len({seat.id for seat in asked.seats}) == len(asked.seats) == self._decider.needed:
            detail = f"Fix the request body and retry: seats must name {self._decider.needed} different agents."
            return refusal(lobby, Refused(Code.INVALID_REQUEST, detail))
        for seat in asked.seats:
            busy = self._unfinished(lobby.head.state.table_of(seat.id), seat.id, known)
            if isinstance(busy, Need):
                return busy
            if busy is not None:
                return _already_seated(busy)
        one_address = self._one_address(tuple(seat.id for seat in asked.seats), known) if asked.rated else False
        if isinstance(one_address, NeedAddresses):
            return one_address
        return self._seat_all(pending, lobby, asked, one_address=one_address)

    def _seat_all(
        self, pending: PendingCall, lobby: CachedStream[Lobby], asked: TableRequest, *, one_address: bool
    ) -> Plan:
        call, game = pending.call, fresh_stream(self._decider, pending.call.target)
        change, seats = Change(game), Change(lobby)
        at = max(self._now(), lobby.head.at)
        if asked.begins_before is not None and at >= asked.begins_before:
            return refusal(game, _TOO_LATE)
        joins = [Join(agent_id=seat.id, name=seat.name, identity=Identity(**identity_of(seat))) for seat in asked.seats]
        joins[-1] = replace(joins[-1], one_address=one_address)
        for command in (Create(seed=draw_seed(), config=self._config | asked.config()), *joins):
            if missing := self._decider.lacks(change.head.state):
                return refusal(game, _pack_missing(missing))
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return refusal(game, decision)
            append(change, decision, at, call)
        for absent in (Absent(agent_id=seat.id) for seat in asked.seats if seat.away):
            left = self._decider.decide(change.head.state, absent, at)
            if isinstance(left, Accepted):  # else all are absent, and the game is over
                append(change, left, at, call)
        seated = TableSeated(agent_ids=tuple(seat.id for seat in asked.seats), game_id=game.stream)
        append(seats, Accepted((seated,)), at, call)
        return Plan((seats, change), 200, self._joined(game.stream, change.head.summary), remember_on=lobby)

    def _enter(
        self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known, seated: CachedStream[S] | None
    ) -> Planned:
        """Seat the caller in the private game of the call, if the invite is valid."""
        if (game := self._streams.get(pending.call.target)) is None:
            return Need(pending.call.target)
        if not game.head.summary.invite or closed_to(self._decider, game.head, pending.call):
            return refusal(game, NO_GAME)
        if seated is game:
            return self._seated_already(pending, lobby, game)
        return self._take_seat(pending, lobby, known, game, []) if seated is None else _already_seated(seated)

    def _sits(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> CachedStream[S] | Need | None:
        """The unfinished game of this type in which the caller has a seat outside tournaments."""
        agent = pending.call.agent
        return self._unfinished(lobby.head.state.seat_of(agent), agent, known)

    def _unfinished(self, seated: str | None, agent: str, known: Known) -> CachedStream[S] | Need | None:
        """A game, unless it is over or the agent resigned from it."""
        if seated is None or seated in known.archived:
            return None
        if (entry := self._streams.get(seated)) is None:
            return Need(seated)
        done = entry.head.summary.over or self._decider.resigned(entry.head.state, agent)
        return None if done else entry

    def _seated_already(self, pending: PendingCall, lobby: CachedStream[Lobby], entry: CachedStream[S]) -> Plan:
        body = self._joined(entry.stream, entry.head.summary)
        return Plan((Change(lobby), Change(entry)), 200, body, remember_on=lobby if pending.call.fingerprint else None)

    def _seat(self, pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Planned:
        """Seat the caller in the first waiting game of the language and pace, or in a new one.

        Games in which an agent of the same owner waits come last. Games before it that no longer wait are closed in the
        lobby.
        """
        asked = pending.decoded(SeatRequest)
        wanted = (asked.language or DEFAULT_LANGUAGE, asked.pace)
        owner, shared = pending.call.identity.owner_id, None
        happened: list[Event] = []
        for game_id in lobby.head.state.open:
            game = None if game_id in known.archived else self._streams.get(game_id)
            if game is None and game_id not in known.archived:
                return Need(game_id)
            if game is None or game.head.summary.phase != "waiting":
                happened.append(GameClosed(game_id=game_id))
            elif (game.head.summary.language, game.head.summary.pace) == wanted:
                if owner not in self._decider.owners(game.head.state):
                    return self._take_seat(pending, lobby, known, game, happened)
                shared = shared or game
        if shared is not None:
            return self._take_seat(pending, lobby, known, shared, happened)
        at = max(self._now(), lobby.head.at)
        game = fresh_stream(self._decider, time_ordered_id(self._decider.game, at, pending.call.command_id))
        happened.append(GameOpened(game_id=game.stream))
        return self._take_seat(pending, lobby, known, game, happened)

    def _take_seat(
        self,
        pending: PendingCall,
        lobby: CachedStream[Lobby],
        known: Known,
        game: CachedStream[S],
        happened: list[Event],
    ) -> Planned:
        """Seat the caller in a game; `happened` are further events of the lobby."""
        call, change, seat = pending.call, Change(game), Change(lobby)
        private = bool(game.head.summary.invite) or call.op == "open"
        agents = () if private else (*self._decider.participants(game.head.state), call.agent)
        one_address = self._one_address(agents, known)
        if isinstance(one_address, NeedAddresses):
            return one_address
        at = max(self._now(), lobby.head.at, game.head.at)
        join = Join(agent_id=call.agent, name=call.name, identity=call.identity, one_address=one_address)
        commands: list[Command] = [join]
        if not game.head.version:
            config = self._config | pending.decoded(SeatRequest).config()
            invite = {"invite_sha256": call.invite} if call.op == "open" else {}
            commands.insert(0, Create(seed=draw_seed(), config=config | invite))
        for command in commands:
            if missing := self._decider.lacks(change.head.state):
                return refusal(game, _pack_missing(missing))
            decision = self._decider.decide(change.head.state, command, at)
            if isinstance(decision, Refused):
                return refusal(game, decision)
            append(change, decision, at, call)
        happened.append(SeatTaken(agent_id=call.agent, game_id=game.stream))
        if change.head.summary.phase != "waiting" and not change.head.summary.invite:
            happened.append(GameClosed(game_id=game.stream))
        append(seat, Accepted(tuple(happened)), at, call)
        return Plan((seat, change), 200, self._joined(game.stream, change.head.summary), remember_on=lobby)

    def _one_address(self, agents: tuple[str, ...], known: Known) -> bool | NeedAddresses:
        """Whether two agents of a game that is full with them were registered from one address."""
        if len(agents) < self._decider.needed:
            return False
        return known.addresses[1] if known.addresses[0] == agents else NeedAddresses(agents)

    def _joined(self, stream: str, summary: GameSummary) -> bytes:
        return _encode(Joined(stream, self._decider.game, summary.phase, summary.seated, summary.needed))


def _decided_before(pending: PendingCall, lobby: CachedStream[Lobby], known: Known) -> Repeat | None:
    if number_of(pending.call.command_id) in lobby.seen:
        return Repeat(lobby.stream)
    asked = not lobby.since or known.not_in_log == lobby.since
    return None if asked else Repeat(lobby.stream, lobby.since)


def _pack_missing(digest: str) -> Refused:
    _log.error("pack_missing", digest=digest)
    return Refused(Code.UNAVAILABLE, f"The pack of this game is missing ({digest}). Ask the operator to restore it.")


def _already_seated(entry: CachedStream[S]) -> Plan:
    detail = f"You already have a seat in {entry.stream}. Leave that game or finish it before you join another one."
    return refusal(entry, Refused(Code.ALREADY_SEATED, detail, game_id=entry.stream))
