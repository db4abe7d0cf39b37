"""A tournament as the fold of its events."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.games.tournament import EntrantState, TournamentState
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.tournament import (
    HOUSE_SEAT,
    ArenaClosed,
    BoardRow,
    EntrantJoined,
    EntrantLeft,
    EntrantPaused,
    EntrantResumed,
    Format,
    GameScored,
    GameSeated,
    GameVoided,
    Outcome,
    RoundClosed,
    RoundPaired,
    StandingsRow,
    TableDropped,
    Terms,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
    TournamentStarted,
)
from playmolt_schemas.stored.tournament import Table as Seats
from playmolt_schemas.stored.values import Identity, identity_of
from rpds import HashTrieMap

if TYPE_CHECKING:
    _Numbers: TypeAlias = HashTrieMap[str, int]
    _Owners: TypeAlias = HashTrieMap[str, tuple[int, ...]]
    _Places: TypeAlias = HashTrieMap[str, tuple[int, int]]
else:  # the class of the library takes no parameters
    _Numbers = _Owners = _Places = HashTrieMap

NO_TERMS: Final = Terms(name="", game_type="", format="swiss")


class Entrant(Identity, frozen=True, gc=False, kw_only=True):
    """An entrant, with what its games gave it so far."""

    number: int
    id: str
    name: str
    state: EntrantState = "in"
    points: int = 0
    wins: int = 0
    games: int = 0
    playing: int = 0
    """The games paired for it that do not count yet."""


class Table(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A table of a round, with its present attempt at a game."""

    seats: Seats
    attempt: int = 1
    game_id: str = ""
    """"" until the game exists."""
    house: tuple[str, ...] = ()
    outcome: Outcome | None = None
    """None until the game counts."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its entrants."""
        return tuple(number for number in self.seats if number != HOUSE_SEAT)


class Round(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A round. `open` counts the tables whose game does not count yet."""

    number: int
    tables: tuple[Table, ...]
    open: int
    closed: bool = False


class State(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A tournament. Its tuples and maps are never changed in place."""

    game_id: str
    version: int = 0
    phase: TournamentState = "open"
    reason: str | None = None
    terms: Terms = NO_TERMS
    seats: int = 0
    roles: tuple[str, ...] = ()
    created_by: str | None = None
    seed: str = ""
    since: datetime | None = None
    """When what it waits for now arose."""
    created_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    changed_at: datetime | None = None
    """When its terms, entrants or standings changed last, or its phase."""
    entrants: tuple[Entrant, ...] = ()
    """Entrant n at place n - 1."""
    numbers: _Numbers = HashTrieMap()
    """Agent id → number."""
    owners: _Owners = HashTrieMap()
    """Owner id → numbers of its agents."""
    staying: int = 0
    """How many have not left."""
    started_with: tuple[int, ...] = ()
    rounds_planned: int | None = None
    rounds: tuple[Round, ...] = ()
    running: tuple[int, ...] = ()
    """The rounds that are not closed."""
    unseated: tuple[tuple[int, int], ...] = ()
    """Round and number of the tables without a game, the oldest first."""
    games: _Places = HashTrieMap()
    """Game id → round and number of its table, of the games that do not count yet."""
    free: tuple[int, ...] = ()
    """Of an arena: who waits for a game, the longest waiting first."""
    waiting_since: datetime | None = None
    """Of an arena: since when anybody waits for a game."""
    basis: int = 0
    """The version of the last event on which pairings depend."""
    repeats: int = 0
    closing: bool = False
    """Whether an arena begins no more games."""
    standings: tuple[StandingsRow, ...] = ()
    """The final ones."""
    board: tuple[BoardRow, ...] = ()
    """The final ones of a season."""

    @property
    def over(self) -> bool:
        return self.phase in ("ended", "aborted")

    @property
    def format(self) -> Format:
        return self.terms.format

    @property
    def rounds_announced(self) -> int | None:
        """How many rounds are planned; before the start those of the terms, if they say it."""
        return self.rounds_planned or self.terms.rounds or None

    def number_of(self, agent_id: str) -> int:
        """0 for an agent that never joined."""
        return self.numbers.get(agent_id, 0)

    def entrant(self, number: int) -> Entrant:
        return self.entrants[number - 1]

    def entrant_of(self, agent_id: str) -> Entrant | None:
        number = self.number_of(agent_id)
        return self.entrants[number - 1] if number else None

    @property
    def present(self) -> Iterator[Entrant]:
        """Who takes part: neither left nor paused."""
        return (entrant for entrant in self.entrants if entrant.state == "in")

    def table(self, number: int, table: int) -> Table | None:
        if not 1 <= number <= len(self.rounds) or not 1 <= table <= len(self.rounds[number - 1].tables):
            return None
        return self.rounds[number - 1].tables[table - 1]

    def table_of(self, game_id: str) -> tuple[int, int] | None:
        """Round and number of the table whose present game this is."""
        return self.games.get(game_id)


def parsed(time: str | msgspec.UnsetType) -> datetime | None:
    """A stored time. Raises ValueError for other texts."""
    return datetime.fromisoformat(time) if time else None


def _times(terms: Terms) -> Changes:
    return {"terms": terms, "starts_at": parsed(terms.starts_at), "ends_at": parsed(terms.ends_at)}


def _created(_: State, event: TournamentCreated, at: datetime) -> Changes:
    return {
        **_times(event.terms),
        "seats": event.seats,
        "roles": event.roles,
        "created_by": event.created_by,
        "seed": event.seed,
        "created_at": at,
        "since": at,
    }


def _changed(_: State, event: TournamentChanged, __: datetime) -> Changes:
    return _times(event.terms)


def _with_entrants(state: State, *changed: Entrant) -> tuple[Entrant, ...]:
    entrants = list(state.entrants)
    for entrant in changed:
        entrants[entrant.number - 1] = entrant
    return tuple(entrants)


def _joined(state: State, event: EntrantJoined, at: datetime) -> Changes:
    known = state.entrant_of(event.agent_id)
    owner = event.owner_id or ""
    entrant = Entrant(number=event.number, id=event.agent_id, name=event.name, **identity_of(event))
    if known is None:
        changes: Changes = {
            "entrants": (*state.entrants, entrant),
            "numbers": state.numbers.insert(entrant.id, entrant.number),
        }
    else:
        entrant = replace(entrant, points=known.points, wins=known.wins, games=known.games, playing=known.playing)
        changes = {"entrants": _with_entrants(state, entrant)}
    mates = state.owners.get(owner, ())
    if owner and entrant.number not in mates:
        changes["owners"] = state.owners.insert(owner, (*mates, entrant.number))
    return {**changes, **_freed(state, (entrant,), at), "staying": state.staying + 1, "basis": state.version + 1}


def _freed(state: State, entrants: tuple[Entrant, ...], at: datetime) -> Changes:
    """These entrants of an arena wait for a game now, unless they are at a table or do not take part."""
    if state.format != "arena":
        return {}
    more = [each.number for each in entrants if each.state == "in" and not each.playing]
    free = (*state.free, *(number for number in more if number not in state.free))
    return {"free": free, "waiting_since": state.waiting_since or (at if free else None)}


def _state_changed(state: EntrantState) -> Fold:
    def fold(before: State, event: EntrantLeft | EntrantPaused | EntrantResumed, at: datetime) -> Changes:
        entrant = replace(before.entrant(event.number), state=state)
        changes: Changes = {
            "entrants": _with_entrants(before, entrant),
            "basis": before.version + 1,
            "staying": before.staying - (state == "left"),
        }
        if state == "in":
            return changes | _freed(before, (entrant,), at)
        free = tuple(number for number in before.free if number != event.number)
        return changes | {"free": free, "waiting_since": before.waiting_since if free else None}

    return fold


def _started(state: State, event: TournamentStarted, at: datetime) -> Changes:
    minutes = state.terms.duration_minutes
    ends_at = at + timedelta(minutes=minutes) if minutes else state.ends_at
    return {
        "phase": "running",
        "started_at": at,
        "since": at,
        "ends_at": ends_at,
        "started_with": tuple(entrant.number for entrant in state.present),
        "rounds_planned": event.rounds,
        "basis": state.version + 1,
    }


def _paired(state: State, event: RoundPaired, at: datetime) -> Changes:
    tables = tuple(Table(seats=seats) for seats in event.tables)
    entrants = list(state.entrants)
    for table in tables:
        for number in table.numbers:
            entrant = entrants[number - 1]
            entrants[number - 1] = replace(entrant, playing=entrant.playing + 1)
    return {
        "entrants": tuple(entrants),
        "rounds": (*state.rounds, Round(number=event.round, tables=tables, open=len(tables))),
        "running": (*state.running, event.round),
        "unseated": (*state.unseated, *((event.round, table) for table in range(1, len(tables) + 1))),
        "free": (),
        "waiting_since": None,
        "repeats": state.repeats + event.repeats,
        "since": at,
    }


def _with_table(state: State, number: int, place: int, table: Table, *, closed: int = 0) -> tuple[Round, ...]:
    tables, rounds = list(state.rounds[number - 1].tables), list(state.rounds)
    tables[place - 1] = table
    before = rounds[number - 1]
    rounds[number - 1] = replace(before, tables=tuple(tables), open=before.open - closed)
    return tuple(rounds)


def _without(unseated: tuple[tuple[int, int], ...], place: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    if unseated and unseated[0] == place:
        return unseated[1:]
    return tuple(other for other in unseated if other != place)


def _seated(state: State, event: GameSeated, at: datetime) -> Changes:
    place = (event.round, event.table)
    before = state.rounds[event.round - 1].tables[event.table - 1]
    table = replace(before, game_id=event.game_id, house=event.house)
    return {
        "rounds": _with_table(state, *place, table),
        "games": state.games.insert(event.game_id, place),
        "unseated": _without(state.unseated, place),
        "since": at,
    }


def _voided(state: State, event: GameVoided, at: datetime) -> Changes:
    place = (event.round, event.table)
    before = state.rounds[event.round - 1].tables[event.table - 1]
    gone = [
        replace(entrant, playing=entrant.playing - 1)
        for entrant in map(state.entrant, before.numbers)
        if entrant.number not in event.seats
    ]
    table = Table(seats=event.seats, attempt=event.attempt + 1)
    return {
        "entrants": _with_entrants(state, *gone),
        "rounds": _with_table(state, *place, table),
        "games": state.games.remove(event.game_id),
        "unseated": (*state.unseated, place),
        "since": at,
    }


def _scored(state: State, event: GameScored, at: datetime) -> Changes:
    place = (event.round, event.table)
    before = state.rounds[event.round - 1].tables[event.table - 1]
    counts = event.outcome == "ended"
    scored = tuple(
        replace(
            entrant,
            points=entrant.points + score.points,
            wins=entrant.wins + score.won,
            games=entrant.games + counts,
            playing=entrant.playing - 1,
        )
        for score in event.scores
        for entrant in (state.entrant(score.number),)
    )
    return {
        "entrants": _with_entrants(state, *scored),
        "rounds": _with_table(state, *place, replace(before, outcome=event.outcome), closed=1),
        "games": state.games.remove(event.game_id),
        "basis": state.version + 1,
        **_freed(state, scored, at),
    }


def _dropped(state: State, event: TableDropped, _: datetime) -> Changes:
    place = (event.round, event.table)
    before = state.rounds[event.round - 1].tables[event.table - 1]
    gone = [replace(entrant, playing=entrant.playing - 1) for entrant in map(state.entrant, before.numbers)]
    return {
        "entrants": _with_entrants(state, *gone),
        "rounds": _with_table(state, *place, replace(before, outcome="void"), closed=1),
        "unseated": _without(state.unseated, place),
    }


def _round_closed(state: State, event: RoundClosed, at: datetime) -> Changes:
    rounds = list(state.rounds)
    rounds[event.round - 1] = replace(rounds[event.round - 1], closed=True)
    running = tuple(number for number in state.running if number != event.round)
    return {"rounds": tuple(rounds), "running": running, "since": at}


def _closing(_: State, __: ArenaClosed, ___: datetime) -> Changes:
    return {"closing": True}


def _ended(_: State, event: TournamentEnded, at: datetime) -> Changes:
    return {
        "phase": event.state,
        "reason": event.reason,
        "ended_at": at,
        "standings": event.standings,
        "board": () if event.board is UNSET else event.board,
        "unseated": (),
        "games": HashTrieMap(),
        "free": (),
        "waiting_since": None,
    }


_left: Final[Callable[..., Changes]] = _state_changed("left")
_paused: Final[Callable[..., Changes]] = _state_changed("paused")
_resumed: Final[Callable[..., Changes]] = _state_changed("in")


def _seen(fold: Fold) -> Fold:
    """A fold that changes what a reader of a list or feed sees."""
    return lambda state, event, at: {**fold(state, event, at), "changed_at": at}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    TournamentCreated: _seen(_created),
    TournamentChanged: _seen(_changed),
    EntrantJoined: _seen(_joined),
    EntrantLeft: _seen(_left),
    EntrantPaused: _seen(_paused),
    EntrantResumed: _seen(_resumed),
    TournamentStarted: _seen(_started),
    RoundPaired: _paired,
    GameSeated: _seated,
    GameVoided: _voided,
    GameScored: _seen(_scored),
    RoundClosed: _round_closed,
    ArenaClosed: _closing,
    TableDropped: _dropped,
    TournamentEnded: _seen(_ended),
}
