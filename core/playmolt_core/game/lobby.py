"""The lobby of a game type: who has a seat in which game. A join appends to the lobby and to the game in one unit.

It is folded like a game, so that concurrent replicas can neither overfill a game nor seat an agent twice. Seats are
released lazily: an agent is free once its game is over, so the end of a game does not change the lobby.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.event import Event, stored_types
from rpds import HashTrieMap
from typing_extensions import override

from playmolt_core.game.decider import Refused, Viewer
from playmolt_core.game.game import Changes, Fold, Game

SNAPSHOT_EVERY: Final = 2_000
"""Folding this many events of a lobby, from about three hundred games, takes milliseconds."""

if TYPE_CHECKING:
    _Games: TypeAlias = HashTrieMap[str, str]
else:  # the class of the library takes no parameters
    _Games = HashTrieMap


class GameOpened(Event, frozen=True, kw_only=True):
    """A new game accepts agents."""

    type: ClassVar[str] = "game_opened"
    game_id: str


class SeatTaken(Event, frozen=True, kw_only=True):
    """An agent took a seat in a game, which replaces an earlier seat."""

    type: ClassVar[str] = "seat_taken"
    agent_id: str
    game_id: str


class SeatLeft(Event, frozen=True, kw_only=True):
    """An agent left a game before it started."""

    type: ClassVar[str] = "seat_left"
    agent_id: str
    game_id: str


class TableSeated(Event, frozen=True, kw_only=True):
    """The agents of a tournament's game took their seats, which replaces their seats in its earlier games."""

    type: ClassVar[str] = "table_seated"
    agent_ids: tuple[str, ...]
    game_id: str


class EntryTaken(Event, frozen=True, kw_only=True):
    """An agent takes part in a tournament, which replaces its earlier entry for games of this type."""

    type: ClassVar[str] = "entry_taken"
    agent_id: str
    game_type: str
    game_id: str


class GameClosed(Event, frozen=True, kw_only=True):
    """A game accepts no more agents: it is full, or it was aborted before it started."""

    type: ClassVar[str] = "game_closed"
    game_id: str


class Lobby(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """`seats` maps an agent to its latest game, `tables` to its latest game of a tournament, `entries` (by game type,
    then agent) to its latest tournament; `open` lists the games that accept agents."""

    version: int = 0
    seats: _Games = HashTrieMap()
    tables: _Games = HashTrieMap()
    entries: _Games = HashTrieMap()
    open: tuple[str, ...] = ()

    def seat_of(self, agent_id: str) -> str | None:
        """The latest game of an agent outside tournaments, which may be over."""
        return self.seats.get(agent_id)

    def table_of(self, agent_id: str) -> str | None:
        """The latest tournament game of an agent, which may be over."""
        return self.tables.get(agent_id)

    def entry_of(self, game_type: str, agent_id: str) -> str | None:
        """The latest tournament of an agent, which may be over or left."""
        return self.entries.get(_entry(game_type, agent_id))

    def games_of(self, agent_id: str) -> tuple[str, ...]:
        """The games of an agent that may be running, that of a tournament first."""
        return tuple(game for game in (self.table_of(agent_id), self.seat_of(agent_id)) if game)


def _entry(game_type: str, agent_id: str) -> str:
    return f"{game_type}/{agent_id}"


class _LobbySnapshot(msgspec.Struct, frozen=True):
    seats: dict[str, str]
    tables: dict[str, str]
    entries: dict[str, str]
    open: tuple[str, ...]


def encode_lobby(lobby: Lobby) -> bytes:
    """The state of a lobby for a snapshot."""
    snapshot = _LobbySnapshot(dict(lobby.seats), dict(lobby.tables), dict(lobby.entries), lobby.open)
    return msgspec.json.encode(snapshot)


def decode_lobby(version: int, state: bytes) -> Lobby | None:
    """The lobby in a snapshot; None if it is unreadable, because the log has all events."""
    try:
        kept = msgspec.json.decode(state, type=_LobbySnapshot)
    except msgspec.ValidationError:
        return None
    seats, tables, entries = (HashTrieMap(each) for each in (kept.seats, kept.tables, kept.entries))
    return Lobby(version=version, seats=seats, tables=tables, entries=entries, open=kept.open)


def _opened(lobby: Lobby, event: GameOpened, _: datetime) -> Changes:
    return {"open": (*lobby.open, event.game_id)}


def _taken(lobby: Lobby, event: SeatTaken, _: datetime) -> Changes:
    return {"seats": lobby.seats.insert(event.agent_id, event.game_id)}


def _left(lobby: Lobby, event: SeatLeft, _: datetime) -> Changes:
    return {"seats": lobby.seats.remove(event.agent_id)} if event.agent_id in lobby.seats else {}


def _seated(lobby: Lobby, event: TableSeated, _: datetime) -> Changes:
    return {"tables": lobby.tables.update(dict.fromkeys(event.agent_ids, event.game_id))}


def _entered(lobby: Lobby, event: EntryTaken, _: datetime) -> Changes:
    return {"entries": lobby.entries.insert(_entry(event.game_type, event.agent_id), event.game_id)}


def _closed(lobby: Lobby, event: GameClosed, _: datetime) -> Changes:
    return {"open": tuple(other for other in lobby.open if other != event.game_id)}


class LobbyRules(Game[Lobby]):
    """The fold of a lobby stream. `engine.writes.seat_planner` makes the decisions, which need the games' states.

    It shows only its size; it has no feed.
    """

    game = "lobby"
    rules_version = 1
    content_version = ""
    needed = 0
    events = stored_types(GameOpened, SeatTaken, SeatLeft, TableSeated, EntryTaken, GameClosed)
    folds: Mapping[type[Event], Fold] = {
        GameOpened: _opened,
        SeatTaken: _taken,
        SeatLeft: _left,
        TableSeated: _seated,
        EntryTaken: _entered,
        GameClosed: _closed,
    }
    opening = frozenset()
    foreign = unknown = Refused(Code.NOT_FOUND, "A lobby accepts no commands. Join a game type instead.")

    def __init__(self, snapshot_every: int = SNAPSHOT_EVERY) -> None:
        super().__init__({})
        self.snapshot_every = snapshot_every

    @override
    def initial(self, game_id: str) -> Lobby:
        return Lobby()

    @override
    def view(self, state: Lobby, viewer: Viewer) -> msgspec.Struct:
        return self.summary(state)

    @override
    def operator_view(self, state: Lobby) -> Mapping[str, object]:
        return {"open": list(state.open)}

    @override
    def summary(self, state: Lobby) -> GameSummary:
        return GameSummary("lobby", 0, len(state.seats), 0)

    @override
    def hashes_state(self, version: int, *, closes: bool) -> bool:
        """At powers of two before any snapshot: the state grows with every agent, and one that is read from a snapshot
        lacks the free agents."""
        return version < self.snapshot_every and version & (version - 1) == 0
