"""What anybody sees of a tournament. Everything in it is public, except its seed until it is over."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import UNSET, UnsetType
from playmolt_schemas.games.tournament import (
    EntrantView,
    Meetings,
    OwnerRef,
    RoundView,
    SeatRef,
    StandingView,
    TablePhase,
    TableView,
    TournamentView,
)
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.tournament import HOUSE_SEAT, BoardRow, StandingsRow

from playmolt_tournament.standings import meetings, standings
from playmolt_tournament.state import Entrant, State, Table

_SEATS_SHOWN: Final = 10_500
_SEATS_EACH: Final = 8
"""An entrant and its standing take as many bytes as so many seats; an answer has room for about so many seats."""


def view(state: State) -> TournamentView:
    """The state of a tournament. The engine knows owners by id alone: the gateway fills in their names."""
    terms = state.terms
    met = meetings(state) if state.format == "round_robin" else None
    return TournamentView(
        id=state.game_id,
        name=terms.name,
        version=state.version,
        state=state.phase,
        reason=state.reason,
        game_type=terms.game_type,
        format=terms.format,
        language=terms.language or None,
        pack=terms.pack or None,
        created_by=_owner(state.created_by),
        created_at=_time(state.created_at) or "",
        starts_at=_time(state.started_at or state.starts_at),
        ends_at=_time(state.ends_at),
        ended_at=_time(state.ended_at),
        changed_at=_time(state.changed_at),
        min_entrants=terms.min_entrants or None,
        max_entrants=terms.max_entrants or None,
        per_owner=terms.per_owner,
        rounds_planned=state.rounds_announced,
        round=len(state.rounds),
        duration_minutes=terms.duration_minutes or None,
        deadline_seconds=None if terms.deadline_seconds is UNSET else terms.deadline_seconds,
        rated=terms.rated,
        seats=state.seats,
        repeats=state.repeats if state.format == "swiss" else None,
        meetings=Meetings(min=met.min, max=met.max) if met else None,
        entrants=tuple(map(_entrant, state.entrants)),
        standings=tuple(_standings(state)),
        rounds=tuple(_rounds(state)),
    )


def _rounds(state: State) -> Iterator[RoundView]:
    """Every round; the oldest ones of a large tournament without their games, so that the view fits into an answer."""
    left = _SEATS_SHOWN - _SEATS_EACH * len(state.entrants)
    shown = len(state.rounds)
    while shown and (left > 0 or not state.rounds[shown - 1].closed):
        left -= len(state.rounds[shown - 1].tables) * state.seats
        shown -= 1
    for each in state.rounds:
        tables = tuple(_table(state, table) for table in each.tables) if each.number > shown else ()
        yield RoundView(round=each.number, state="closed" if each.closed or state.over else "running", games=tables)


def _time(at: datetime | None) -> str | None:
    return rfc3339(at) if at else None


def _owner(owner_id: str | UnsetType | None) -> OwnerRef | None:
    return OwnerRef(id=owner_id, name="") if owner_id else None


def _entrant(entrant: Entrant) -> EntrantView:
    return EntrantView(
        number=entrant.number,
        id=entrant.id,
        handle=entrant.handle or "",
        name=entrant.name,
        kind=entrant.kind or "bot",
        owner=_owner(entrant.owner_id),
        state=entrant.state,
    )


def _standings(state: State) -> Iterator[StandingView]:
    yield from map(_board_row, state.board)
    for row in standings(state):
        yield _standing(row, state.entrant(row.number))


def _standing(row: StandingsRow, entrant: Entrant) -> StandingView:
    return StandingView(
        rank=row.rank,
        id=entrant.id,
        handle=entrant.handle or "",
        name=entrant.name,
        owner=_owner(entrant.owner_id),
        points=row.points,
        wins=row.wins,
        buchholz=row.buchholz,
        games=row.games,
    )


def _board_row(row: BoardRow) -> StandingView:
    return StandingView(
        rank=row.rank,
        id=row.agent_id,
        handle=row.handle,
        name=row.name,
        owner=_owner(row.owner_id),
        points=row.points,
        wins=row.wins,
        buchholz=0,
        games=row.games,
    )


def _table(state: State, table: Table) -> TableView:
    house = iter(table.house)
    seats = []
    for place, number in enumerate(table.seats):
        agent = state.entrant(number).id if number != HOUSE_SEAT else next(house, None)
        if agent is not None:
            seats.append(SeatRef(id=agent, role=state.roles[place] if state.roles else UNSET))
    return TableView(game_id=table.game_id or None, phase=_phase(state, table), seats=tuple(seats))


def _phase(state: State, table: Table) -> TablePhase:
    """A game that goes on after the operator ended the tournament does not count."""
    if table.outcome is not None or state.over:
        return "end" if table.outcome == "ended" else "aborted"
    return "playing" if table.game_id else "waiting"
