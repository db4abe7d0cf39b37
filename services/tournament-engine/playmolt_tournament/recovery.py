"""Recovers the commands that caused the stored events of a tournament, so that they can be decided again."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET
from playmolt_core.game.decider import Command, DeadlinePassed, EndGame
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.tournament import (
    ArenaClosed,
    EntrantJoined,
    EntrantLeft,
    EntrantPaused,
    EntrantResumed,
    GameScored,
    GameSeated,
    GameVoided,
    RoundPaired,
    TableDropped,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
    TournamentStarted,
)
from playmolt_schemas.stored.values import Identity, identity_of

from playmolt_tournament import commands
from playmolt_tournament.pairing import paired
from playmolt_tournament.state import State


def recovered(state: State, event: Event, deadlines: Sequence[str]) -> Iterator[Command]:
    """The commands that may have caused this event first, likeliest first; `deadlines` are the ids of those pending.

    The tables of a round are paired again, so a round that does not follow from seed and log differs.
    """
    match event:
        case TournamentCreated():
            terms = msgspec.to_builtins(event.terms)
            by = event.created_by or commands.OPERATOR
            yield commands.CreateTournament(terms=terms, seats=event.seats, roles=event.roles, by=by, seed=event.seed)
        case TournamentChanged():
            unset = dict.fromkeys(event.terms.__struct_fields__)
            yield commands.ChangeTournament(terms=unset | msgspec.to_builtins(event.terms))
        case EntrantJoined() | EntrantLeft() | EntrantPaused() | EntrantResumed():
            yield _of_entrant(event)
        case TournamentStarted() | ArenaClosed():
            yield from (DeadlinePassed(effect_id=each) for each in deadlines)
            yield commands.StartTournament()
        case RoundPaired():
            yield commands.PairRound(round=event.round, basis=state.basis, tables=paired(state))
        case GameSeated():
            yield commands.SeatTable(
                round=event.round, table=event.table, attempt=event.attempt, game_id=event.game_id, house=event.house
            )
        case TableDropped():
            table = state.table(event.round, event.table)
            attempt = table.attempt if table else 0
            yield commands.DropTable(round=event.round, table=event.table, attempt=attempt)
        case GameVoided():
            yield commands.ScoreGame(game_id=event.game_id, outcome="void")
        case GameScored():
            yield commands.ScoreGame(game_id=event.game_id, outcome=event.outcome, scores=event.scores)
        case TournamentEnded():
            yield from _ended(event, deadlines)


def _of_entrant(event: EntrantJoined | EntrantLeft | EntrantPaused | EntrantResumed) -> Command:
    match event:
        case EntrantJoined():
            return commands.JoinTournament(
                agent_id=event.agent_id,
                name=event.name,
                identity=Identity(**identity_of(event)),
            )
        case EntrantLeft():
            return commands.LeaveTournament(agent_id=event.agent_id)
        case EntrantPaused():
            return commands.PauseEntrant(agent_id=event.agent_id)
        case EntrantResumed():
            return commands.ResumeEntrant(agent_id=event.agent_id)


def _ended(event: TournamentEnded, deadlines: Sequence[str]) -> Iterator[Command]:
    if event.board is not UNSET:
        yield commands.CloseSeason(board=event.board, reason=event.reason)
    if event.reason == commands.CANCELLED:
        yield commands.CancelTournament()
    yield from (DeadlinePassed(effect_id=each) for each in deadlines)
    yield commands.StartTournament()
    yield EndGame(reason=event.reason or "")
