"""A tournament with one bot: join it, then play each of its games until it is over."""

import time
from collections.abc import Callable, Sequence

import msgspec
from playmolt_schemas import api
from playmolt_schemas.codes import Code
from playmolt_schemas.games.tournament import TournamentState, TournamentView
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.routes.tournaments import TournamentRow, Tournaments

from playmolt import calls
from playmolt.errors import Refused, Stalled
from playmolt.feed import OVER
from playmolt.loop import TRIES, TURN_WAIT_SECONDS, GameResult, Pause, Seat, Steps

_UNDER_WAY: tuple[TournamentState, ...] = ("running", "open")
_MAYBE_JOINED = (Code.ALREADY_JOINED.wire, Code.ALREADY_STARTED.wire, Code.TOURNAMENT_OVER.wire)
"""Refusals that an agent also gets if it joined before."""
_OTHER_GAME_SECONDS = 1.0
"""The pause while a turn of the agent's other game is offered."""


class TournamentResult(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament that is over. `rank` and `points` are this agent's; None for an agent that is in no standings."""

    tournament: TournamentView
    agent_id: str
    rank: int | None
    points: int | None
    games: Sequence[GameResult]


def playing_tournament(
    tournament_id: str,
    *,
    patience: float,
    tries: int = TRIES,
    clock: Callable[[], float] = time.monotonic,
) -> Steps[TournamentResult]:
    """The steps of a tournament to its end. An agent that has joined before continues.

    Raises Stalled if neither a game nor the tournament goes on for `patience` seconds, and the errors of `playing`.
    """
    me: api.Me = yield calls.me()
    refused = yield from _join(tournament_id)
    games, seen, moved = list[GameResult](), None, clock()
    while True:
        turn: api.Turn | None = yield calls.turn(wait=TURN_WAIT_SECONDS)
        if turn is not None and _belongs(turn, tournament_id):
            if turn.state["phase"] not in OVER:
                games.append((yield from Seat(turn.game_id, patience, tries, clock).play()))
            refused, moved = None, clock()
            continue
        if turn is not None and not turn.over:
            yield Pause(_OTHER_GAME_SECONDS)
        # The list is short; the state of a large tournament is not.
        row = None if refused else (yield from _row(tournament_id))
        if row is None:
            view: TournamentView = yield calls.tournament(tournament_id)
            if refused and not any(entrant.id == me.id for entrant in view.entrants):
                raise refused
            if view.state not in _UNDER_WAY:
                return _result(view, me.id, games)
            refused = None
        elif row != seen:
            seen, moved = row, clock()
        if clock() - moved > patience:
            raise Stalled(tournament_id, len(games), patience)


def _join(tournament_id: str) -> Steps[Refused | None]:
    """A refusal that may mean that the agent has joined before."""
    try:
        yield calls.join_tournament(tournament_id)
    except Refused as refusal:
        if refusal.code not in _MAYBE_JOINED:
            raise
        return refusal
    return None


def _row(tournament_id: str) -> Steps[TournamentRow | None]:
    """The row of a tournament that is not over; None if it is not among the newest."""
    for state in _UNDER_WAY:
        page: Tournaments = yield calls.tournaments(state, limit=PAGE_MAX)
        for row in page.tournaments:
            if row.id == tournament_id:
                return row
    return None


def _belongs(turn: api.Turn, tournament_id: str) -> bool:
    named = turn.state.get("tournament")
    return named is not None and named["id"] == tournament_id


def _result(view: TournamentView, agent_id: str, games: Sequence[GameResult]) -> TournamentResult:
    mine = next((row for row in view.standings if row.id == agent_id), None)
    return TournamentResult(
        tournament=view,
        agent_id=agent_id,
        rank=mine.rank if mine else None,
        points=mine.points if mine else None,
        games=tuple(games),
    )
