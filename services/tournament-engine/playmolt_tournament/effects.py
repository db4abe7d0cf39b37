"""Effects of a tournament: deadlines, pairings, tables to seat, games to watch, a season to close.

Workers fulfil all but the deadlines. Each effect is named after the state, so that it is the same after a crash.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.tournament import HOUSE_SEAT

from playmolt_tournament.state import Entrant, State

DEADLINE: Final = "deadline"
PAIR: Final = "pair_round"
SEAT: Final = "seat_table"
WATCH: Final = "watch_games"
CLOSE_SEASON: Final = "close_season"

_SEATED_AT_ONCE: Final = 32
"""The most tables that wait for their game at a time; the others follow. It bounds what every step costs."""


class RoundToPair(msgspec.Struct, frozen=True, gc=False):
    """Payload of `pair_round`: answer with `PairRound` of `pairing.paired`, computed outside the event loop."""

    round: int
    basis: int


class TableToSeat(msgspec.Struct, frozen=True, gc=False):
    """Payload of `seat_table`: create the game, once for this round, table and attempt, and answer with `SeatTable`."""

    round: int
    table: int
    attempt: int
    entrants: tuple[Entrant | None, ...]
    """In the order of the seats; None: a house bot."""
    roles: tuple[str, ...]
    """The role of each seat; empty for a game without roles."""


class GamesToWatch(msgspec.Struct, frozen=True, gc=False):
    """Payload of `watch_games`: answer each game that is over with `ScoreGame`. The ids are `state.games`."""

    count: int


class SeasonToClose(msgspec.Struct, frozen=True, gc=False):
    """Payload of `close_season`: answer with `CloseSeason` over the rated public games that ended in this time."""

    until: datetime


Payload = RoundToPair | TableToSeat | GamesToWatch | SeasonToClose | datetime | None


def effects(state: State, wait: timedelta) -> Iterator[Effect[Payload]]:
    """`wait`: how long the first free entrant of an arena waits for others."""
    if state.over or state.since is None:
        return
    if state.phase == "open":
        if state.starts_at is not None:
            yield deadline(state, "start", state.starts_at)
        elif state.ends_at is not None:
            yield deadline(state, "end", state.ends_at)
        return
    if state.format == "season":
        yield from _season(state)
        return
    if state.format == "arena" and not state.closing and state.ends_at is not None:
        yield deadline(state, "end", state.ends_at)
    if (due := pairing_due(state, wait)) is not None:
        number = len(state.rounds) + 1
        named = digest([PAIR, state.game_id, number, state.basis])[:32]
        yield Effect(id=named, kind=PAIR, due=due, payload=RoundToPair(number, state.basis))
    for number, table in state.unseated[:_SEATED_AT_ONCE]:
        yield _table(state, state.since, number, table)
    if len(state.games):
        named = digest([WATCH, state.game_id])[:32]
        yield Effect(id=named, kind=WATCH, due=state.since, payload=GamesToWatch(len(state.games)))


def deadline(state: State, what: str, due: datetime) -> Effect[Payload]:
    return Effect(id=deadline_id(state, what, due), kind=DEADLINE, due=due, payload=None)


def deadline_id(state: State, what: str, due: datetime) -> str:
    """Name the deadline of a start or an end; another one once the time was changed."""
    return digest([DEADLINE, state.game_id, what, due.isoformat()])[:32]


def pairing_due(state: State, wait: timedelta) -> datetime | None:
    """When to pair the next round; None if none is to be paired now."""
    if state.format == "arena":
        if state.closing or state.waiting_since is None:
            return None
        # Without a game that runs, no other entrant can become free.
        return state.waiting_since if not state.running else state.waiting_since + wait
    if state.running or len(state.rounds) >= (state.rounds_planned or 0):
        return None
    return state.since if any(True for _ in state.present) else None


def _season(state: State) -> Iterator[Effect[Payload]]:
    if state.started_at is None or state.ends_at is None:
        return
    season = SeasonToClose(state.ends_at)
    named = digest([CLOSE_SEASON, state.game_id])[:32]
    yield Effect(id=named, kind=CLOSE_SEASON, due=state.ends_at, payload=season)


def _table(state: State, since: datetime, number: int, place: int) -> Effect[Payload]:
    table = state.rounds[number - 1].tables[place - 1]
    entrants = tuple(state.entrant(seat) if seat != HOUSE_SEAT else None for seat in table.seats)
    named = digest([SEAT, state.game_id, number, place, table.attempt])[:32]
    payload = TableToSeat(number, place, table.attempt, entrants, state.roles)
    return Effect(id=named, kind=SEAT, due=since, payload=payload)
