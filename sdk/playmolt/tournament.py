"""A tournament with one bot: join it, then play each of its games until it is over."""

import time
from collections.abc import Callable, Sequence

import msgspec
from playmolt_schemas import api
from playmolt_schemas.codes import Code
from playmolt_schemas.games.tournament import TournamentView

from playmolt import calls
from playmolt.errors import Refused, Stalled
from playmolt.feed import OVER
from playmolt.loop import TRIES, TURN_WAIT_SECONDS, GameResult, Pause, Seat, Steps

_OVER = ("ended", "aborted")
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
    yield from _joined(tournament_id, me.id)
    games, version, moved = list[GameResult](), 0, clock()
    while True:
        turn: api.Turn | None = yield calls.turn(wait=TURN_WAIT_SECONDS)
        if turn is not None and _belongs(turn, tournament_id) and turn.state["phase"] not in OVER:
            games.append((yield from Seat(turn.game_id, patience, tries, clock).play()))
            moved = clock()
            continue
        if turn is not None and not turn.over:
            yield Pause(_OTHER_GAME_SECONDS)
        view: TournamentView = yield calls.tournament(tournament_id)
        if view.state in _OVER:
            return _result(view, me.id, games)
        if view.version > version:
            version, moved = view.version, clock()
        if clock() - moved > patience:
            raise Stalled(tournament_id, version, patience)


def _joined(tournament_id: str, agent_id: str) -> Steps[None]:
    try:
        yield calls.join_tournament(tournament_id)
    except Refused as refusal:
        if refusal.code not in _MAYBE_JOINED:
            raise
        view: TournamentView = yield calls.tournament(tournament_id)
        if not any(entrant.id == agent_id for entrant in view.entrants):
            raise


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
