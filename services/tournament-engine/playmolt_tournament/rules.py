"""The rules of a tournament: who takes part, which rounds are played, what counts, when it ends."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec
from playmolt_core.game.decider import Accepted, Command, DeadlinePassed, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.codes import Code
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.games.tournament import FEED, TournamentView
from playmolt_schemas.limits import TOURNAMENT_BOARD_ROWS
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.tournament import (
    EVENTS,
    HOUSE_SEAT,
    ArenaClosed,
    EntrantJoined,
    EntrantLeft,
    EntrantPaused,
    EntrantResumed,
    GameScored,
    GameSeated,
    GameVoided,
    RoundClosed,
    RoundPaired,
    Score,
    TableDropped,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
    TournamentStarted,
)
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, identity_of
from typing_extensions import override

from playmolt_tournament import commands, views
from playmolt_tournament.effects import DEADLINE, Payload, deadline_id, effects
from playmolt_tournament.pairing.tables import repeats, sizes
from playmolt_tournament.recovery import recovered
from playmolt_tournament.standings import board, standings
from playmolt_tournament.state import FOLDS, Entrant, State, Table
from playmolt_tournament.terms import read, rounds_for

ARENA_WAIT: Final = timedelta(seconds=20)
_NUMBERS_EACH: Final = 4
"""Numbers given out for each place of `max_entrants`: agents that joined and left keep theirs."""

_NO_CHANGE: Final = Accepted()


class Tournament(Game[State]):
    """The decider of a tournament. A round's tables are paired by a worker and checked here (`PairRound`)."""

    game = "tournament"
    rules_version = 1
    content_version = ""
    needed = 0
    events = EVENTS
    folds = FOLDS
    opening = frozenset((commands.CreateTournament,))
    unknown = Refused(Code.NOT_FOUND, "This tournament does not exist. List tournaments with GET /api/tournaments.")
    foreign = Refused(Code.INVALID_REQUEST, "A tournament does not support this command.")

    def __init__(self, arena_wait: timedelta = ARENA_WAIT) -> None:
        """`arena_wait`: how long the first free entrant of an arena waits for others before it is paired."""
        self._arena_wait = arena_wait
        super().__init__(
            {
                commands.CancelTournament: _cancel,
                commands.StartTournament: _start,
                commands.LeaveTournament: _leave,
                commands.PauseEntrant: _pause,
                commands.ResumeEntrant: _resume,
                commands.PairRound: _pair,
                commands.SeatTable: _seat,
                commands.DropTable: _drop,
                commands.ScoreGame: _score,
                commands.CloseSeason: _close_season,
                DeadlinePassed: _deadline_passed,
                EndGame: _end,
            }
        )

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def decide(self, state: State, command: Command, at: datetime) -> Decision:
        """Only these depend on the time."""
        match command:
            case commands.CreateTournament():
                decision = self._create(state, command, at)
            case commands.ChangeTournament() if state.version:
                decision = _change(state, command, at)
            case commands.JoinTournament() if state.version:
                decision = _join(state, command, at)
            case commands.ChangeTournament() | commands.JoinTournament():
                return self.unknown
            case commands.PairRound() if _arena_time_over(state, at):
                return _NO_CHANGE
            case commands.DropTable() if not _arena_time_over(state, at):
                return _NO_CHANGE
            case _:
                return super().decide(state, command, at)
        if isinstance(decision, Refused) or not decision.events:
            return decision
        return self._completed(state, decision.events, command, at)

    @override
    def follow(self, state: State, command: Command) -> Event | None:
        if state.phase == "open":
            return _started_by_itself(state)
        if state.phase != "running":
            return None
        for number in state.running:
            if not state.rounds[number - 1].open:
                return RoundClosed(round=number)
        return _over(state) if _complete(state) else None

    @override
    def public(self, event: Event, viewer: Viewer, state: State | None = None) -> FeedMessage | None:
        copy = FEED.copies.get(type(event))
        return copy(event, viewer.agent_id) if copy else None

    @override
    def view(self, state: State, viewer: Viewer) -> TournamentView:
        return views.view(state)

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        return {"terms": msgspec.to_builtins(state.terms), "seed": state.seed, "created_by": state.created_by}

    @override
    def summary(self, state: State) -> GameSummary:
        most = state.terms.max_entrants or 0
        return GameSummary(
            phase=state.phase,
            round=len(state.rounds),
            seated=state.staying,
            needed=most,
            over=state.over,
            language=state.terms.language or DEFAULT_LANGUAGE,
        )

    @override
    def participants(self, state: State) -> Mapping[str, str]:
        return {entrant.id: entrant.name for entrant in state.entrants}

    @override
    def effects(self, state: State) -> Sequence[Effect[Payload]]:
        return tuple(effects(state, self._arena_wait))

    @override
    def recovered(self, state: State, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        pending = [effect.id for effect in self.effects(state) if effect.kind == DEADLINE]
        return recovered(state, events[0], pending)

    @override
    def pinned(self, decided: Event, stored: Event) -> Event:
        """Event 1 fixes the rules; its version is an input, not a decision."""
        if not isinstance(decided, TournamentCreated) or not isinstance(stored, TournamentCreated):
            return decided
        return msgspec.structs.replace(
            decided, rules_version=stored.rules_version, content_version=stored.content_version
        )

    def _create(self, state: State, command: commands.CreateTournament, at: datetime) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This tournament already exists. Create one with a new id.")
        terms = read(command.terms, at, command.seats)
        if isinstance(terms, Refused):
            return terms
        if command.roles and len(command.roles) != command.seats:
            raise ValueError(f"{len(command.roles)} roles for {command.seats} seats")
        created = TournamentCreated(
            terms=terms,
            seats=command.seats,
            roles=command.roles,
            created_by=command.by or None,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
        )
        return Accepted((created,))


def _change(state: State, command: commands.ChangeTournament, at: datetime) -> Decision:
    if refused := _not_open(state, command.by):
        return refused
    before = msgspec.to_builtins(state.terms)
    for field in ("game_type", "format"):
        if command.terms.get(field, before[field]) != before[field]:
            return Refused(
                Code.INVALID_REQUEST, f"Fix the request body and retry: {field} cannot change. Create a new tournament."
            )
    terms = read({**before, **command.terms}, at, state.seats)
    if isinstance(terms, Refused):
        return terms
    if terms.max_entrants and terms.max_entrants < state.staying:
        return Refused(
            Code.INVALID_REQUEST,
            f"Fix the request body and retry: max_entrants must be at least {state.staying}, as many as have joined.",
        )
    return Accepted((TournamentChanged(terms=terms),)) if terms != state.terms else _NO_CHANGE


def _join(state: State, command: commands.JoinTournament, at: datetime) -> Decision:
    known = state.entrant_of(command.agent_id)
    if state.over or state.closing or _arena_time_over(state, at):
        return _tournament_over()
    if state.format == "season":
        return Refused(Code.INVALID_REQUEST, "A season has no entrants: play rated public games of its type.")
    if known is not None and known.state == "in":
        return Refused(Code.ALREADY_JOINED, "You already take part in this tournament. Wait for your turn.")
    if known is not None and known.state == "paused":
        return Accepted((EntrantResumed(number=known.number, agent_id=known.id),))
    if state.phase == "running" and state.format != "arena":
        return Refused(
            Code.ALREADY_STARTED, "This tournament has started. Find one that is open with GET /api/tournaments."
        )
    return _admitted(state, command, known)


def _arena_time_over(state: State, at: datetime) -> bool:
    """Whether an arena's end has come, although its deadline may not have passed yet."""
    return state.format == "arena" and state.ends_at is not None and at >= state.ends_at


def _admitted(state: State, command: commands.JoinTournament, known: Entrant | None) -> Decision:
    most = state.terms.max_entrants or 0
    if state.staying >= most or (known is None and len(state.entrants) >= _NUMBERS_EACH * most):
        return Refused(
            Code.TOURNAMENT_FULL, "This tournament is full. Find one that is open with GET /api/tournaments."
        )
    # Who left after its first game still counts: an owner cannot play with one agent after the other.
    owner = command.identity.owner_id or ""
    mates = [
        other
        for other in map(state.entrant, state.owners.get(owner, ()))
        if other.id != command.agent_id
        and other.owner_id == owner
        and (other.state != "left" or other.games or other.playing)
    ]
    if len(mates) >= state.terms.per_owner:
        next_step = "Let one of them leave first." if state.phase == "open" else "Play on with those that take part."
        return Refused(
            Code.ONE_OWNER,
            f"Your owner has {len(mates)} of {state.terms.per_owner} allowed agents in this tournament. {next_step}",
        )
    joined = EntrantJoined(
        number=known.number if known else len(state.entrants) + 1,
        agent_id=command.agent_id,
        name=command.name,
        **identity_of(command.identity),
    )
    return Accepted((joined,))


def _leave(state: State, command: commands.LeaveTournament) -> Decision:
    entrant = state.entrant_of(command.agent_id)
    if entrant is None:
        return _not_an_entrant()
    if entrant.state == "left":
        return _NO_CHANGE
    if state.over:
        return _tournament_over()
    return Accepted((EntrantLeft(number=entrant.number, agent_id=entrant.id),))


def _pause(state: State, command: commands.PauseEntrant) -> Decision:
    entrant = _of_arena(state, command.agent_id)
    if isinstance(entrant, Refused):
        return entrant
    if entrant.state == "paused":
        return _NO_CHANGE
    return Accepted((EntrantPaused(number=entrant.number, agent_id=entrant.id),))


def _resume(state: State, command: commands.ResumeEntrant) -> Decision:
    entrant = _of_arena(state, command.agent_id)
    if isinstance(entrant, Refused):
        return entrant
    if entrant.state == "in":
        return _NO_CHANGE
    return Accepted((EntrantResumed(number=entrant.number, agent_id=entrant.id),))


def _of_arena(state: State, agent_id: str) -> Entrant | Refused:
    entrant = state.entrant_of(agent_id)
    if state.over:
        return _tournament_over()
    if entrant is None or entrant.state == "left":
        return _not_an_entrant()
    if state.format != "arena":
        return Refused(Code.INVALID_REQUEST, "Only entrants of an arena can pause. Leave with POST …/leave.")
    return entrant


def _not_an_entrant() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You do not take part in this tournament. Join it with POST …/join.")


def _tournament_over() -> Refused:
    return Refused(
        Code.TOURNAMENT_OVER, "This tournament is over. Find one that is open with GET /api/tournaments?state=open."
    )


def _not_open(state: State, by: str) -> Refused | None:
    """Why somebody cannot change, cancel or start it."""
    if by not in (commands.OPERATOR, state.created_by):
        return Refused(Code.OPERATOR_ONLY, "Only the owner that created this tournament and the operator can do this.")
    if state.over:
        return _tournament_over()
    if state.phase != "open":
        return Refused(
            Code.ALREADY_STARTED, "This tournament has started. Only the operator can end it, with POST …/end."
        )
    return None


def _cancel(state: State, command: commands.CancelTournament) -> Decision:
    if refused := _not_open(state, command.by):
        return refused
    return Accepted((TournamentEnded(state="aborted", reason=commands.CANCELLED, standings=standings(state)),))


def _start(state: State, command: commands.StartTournament) -> Decision:
    return _not_open(state, command.by) or Accepted((_begun(state),))


def _begun(state: State) -> Event:
    entrants = state.staying  # those who pause before the start take part too
    if entrants < (state.terms.min_entrants or 0):
        return TournamentEnded(state="aborted", reason=commands.TOO_FEW, standings=standings(state))
    return TournamentStarted(entrants=entrants, rounds=rounds_for(state.terms, entrants, state.seats))


def _started_by_itself(state: State) -> Event | None:
    if state.starts_at is not None:
        return None
    if state.format == "season" or state.staying >= (state.terms.max_entrants or 0):
        return _begun(state)
    return None


def _deadline_passed(state: State, command: DeadlinePassed) -> Decision:
    waits_for_start = state.phase == "open" and state.starts_at is not None
    due = state.starts_at if waits_for_start else state.ends_at
    what = "start" if waits_for_start else "end"
    if state.over or state.closing or due is None or command.effect_id != deadline_id(state, what, due):
        return _NO_CHANGE
    if waits_for_start:
        return Accepted((_begun(state),))
    if state.phase == "open":
        return Accepted((TournamentEnded(state="aborted", reason=commands.NOT_STARTED, standings=standings(state)),))
    return Accepted((ArenaClosed(),))


def _complete(state: State) -> bool:
    """Whether nothing is left to play."""
    if state.running or state.format == "season":
        return False
    if state.format == "arena":
        return state.closing
    return len(state.rounds) >= (state.rounds_planned or 0) or not any(True for _ in state.present)


def _over(state: State) -> TournamentEnded:
    return TournamentEnded(state="ended", reason=None, standings=standings(state))


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return _tournament_over()

    def aborted(reason: str) -> TournamentEnded:
        return TournamentEnded(state="aborted", reason=reason, standings=standings(state))

    return ended(command, aborted)


def _pair(state: State, command: commands.PairRound) -> Decision:
    pairs = state.phase == "running" and not state.closing and state.format != "season"
    if not pairs or command.round != len(state.rounds) + 1 or command.basis != state.basis:
        return _NO_CHANGE
    if state.format != "arena" and (state.running or command.round > (state.rounds_planned or 0)):
        return _NO_CHANGE
    waiting = state.free if state.format == "arena" else [entrant.number for entrant in state.present]
    seated = [[number for number in table if number != HOUSE_SEAT] for table in command.tables]
    full = all(len(table) == state.seats for table in command.tables)
    even = sorted(map(len, seated), reverse=True) == list(sizes(len(waiting), state.seats))
    if not waiting or not full or not even or sorted(number for table in seated for number in table) != sorted(waiting):
        return Refused(Code.INVALID_REQUEST, "These tables do not seat every entrant once and as evenly as possible.")
    return Accepted((RoundPaired(round=command.round, tables=command.tables, repeats=repeats(state, command.tables)),))


def _waiting_table(state: State, command: commands.SeatTable | commands.DropTable) -> Table | None:
    """The table of a command, if it still waits for this attempt at a game."""
    table = state.table(command.round, command.table)
    if state.over or table is None or table.attempt != command.attempt or table.game_id or table.outcome is not None:
        return None
    return table


def _drop(state: State, command: commands.DropTable) -> Decision:
    if _waiting_table(state, command) is None:
        return _NO_CHANGE
    return Accepted((TableDropped(round=command.round, table=command.table),))


def _seat(state: State, command: commands.SeatTable) -> Decision:
    table = _waiting_table(state, command)
    if table is None:
        return _NO_CHANGE
    if len(command.house) != state.seats - len(table.numbers):
        return Refused(Code.INVALID_REQUEST, "As many house bots are needed as seats are empty.")
    seated = GameSeated(
        round=command.round,
        table=command.table,
        attempt=command.attempt,
        game_id=command.game_id,
        house=command.house,
    )
    return Accepted((seated,))


def _score(state: State, command: commands.ScoreGame) -> Decision:
    place = state.table_of(command.game_id)
    table = state.table(*place) if place else None
    if place is None or table is None:
        return _NO_CHANGE
    number, position = place
    if command.outcome == "void" and table.attempt == 1 and not state.closing:
        # Who left in between does not have to play again.
        seats = tuple(seat if seat and state.entrant(seat).state != "left" else HOUSE_SEAT for seat in table.seats)
        if any(seats):
            voided = GameVoided(
                round=number, table=position, attempt=table.attempt, game_id=command.game_id, seats=seats
            )
            return Accepted((voided,))
    scores = _scores(table, command)
    scored = GameScored(round=number, table=position, game_id=command.game_id, outcome=command.outcome, scores=scores)
    return Accepted((scored,))


def _scores(table: Table, command: commands.ScoreGame) -> tuple[Score, ...]:
    """A score for each entrant of a table; only a game with a result gives points."""
    given = {score.number: score for score in command.scores} if command.outcome == "ended" else {}
    none = (Score(number=number, points=0, won=False, rank=None) for number in sorted(table.numbers))
    return tuple(given.get(score.number, score) for score in none)


def _close_season(state: State, command: commands.CloseSeason) -> Decision:
    if command.reason is not None and state.over:
        return _tournament_over()
    if state.phase != "running" or state.format != "season":
        return _NO_CHANGE
    rows = board(command.board, TOURNAMENT_BOARD_ROWS)
    if command.reason is not None:
        return ended(
            EndGame(reason=command.reason), partial(TournamentEnded, state="aborted", standings=(), board=rows)
        )
    return Accepted((TournamentEnded(state="ended", reason=None, standings=(), board=rows),))
