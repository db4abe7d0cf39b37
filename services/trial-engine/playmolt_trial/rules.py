"""The mock trial: six agents, one case, a verdict."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from playmolt_core import draws
from playmolt_core.decider import (
    Accepted,
    Act,
    Command,
    Create,
    DeadlinePassed,
    Decision,
    EndGame,
    Event,
    Join,
    Leave,
    Offer,
    Refused,
    Viewer,
    Wish,
)
from playmolt_schemas.action_fields import ActionShapes, FieldReader
from playmolt_schemas.canonical import digest
from playmolt_schemas.cards import Card
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.game_messages import Action, PublicMessage
from playmolt_schemas.limits import REASON_CHARS, SPEAK_CHARS
from playmolt_schemas.text import trimmed, unstorable
from playmolt_schemas.trial import (
    ACTIONS,
    ARGUMENT_ROUNDS,
    JurorVote,
    Party,
    Phase,
    Role,
    Team,
    TrialResult,
    TrialState,
    Verdict,
)

from playmolt_trial import content, views
from playmolt_trial.events import (
    EVENTS,
    AgentJoined,
    AgentLeft,
    Config,
    GameAborted,
    GameCreated,
    GameEnded,
    GameStarted,
    JuryTallied,
    PhaseChanged,
    Spoke,
    VoteSubmitted,
)
from playmolt_trial.state import REQUIRED, Seat, State, evolve

ROLES: Final[tuple[Role, ...]] = ("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR", "JUROR", "JUROR")
GUILTY_VOTES: Final = 2
WINNER_POINTS: Final = 200
LOSER_POINTS: Final = 50
JUDGE_POINTS: Final = 100
ABSTAINER_POINTS: Final = 0

VERDICTS: Final[tuple[Verdict, ...]] = ("GUILTY", "NOT_GUILTY")
_TEAM_OF: Final[Mapping[Verdict, Team]] = {"GUILTY": "PROSECUTOR", "NOT_GUILTY": "DEFENSE"}
_NEXT: Final[Mapping[Phase, Phase]] = {
    "opening": "argument",
    "argument": "rebuttal",
    "rebuttal": "jury_vote",
    "jury_vote": "verdict",
}
_SHAPES: Final = ActionShapes(ACTIONS)


class Trial:
    """The decider of the mock trial; draws its cases from the shipped content unless it is given other."""

    game: str = "trial"
    rules_version: int = 1
    needed: int = len(ROLES)
    events: Mapping[tuple[str, int], type[Event]] = EVENTS
    actions: Mapping[str, type[Action]] = ACTIONS

    def __init__(self, cases: content.Content | None = None) -> None:
        self._content = cases or content.shipped()
        self.content_version = self._content.version
        self._decide: Mapping[type[Command], Callable[[State, Any], Decision]] = {
            Create: self._create,
            Join: _join,
            Leave: _leave,
            Act: _act,
            DeadlinePassed: _deadline_passed,
            EndGame: _end,
        }

    def initial(self, game_id: str) -> State:
        """Give the state of a trial of which nothing is stored yet."""
        return State(game_id=game_id)

    def decide(self, state: State, command: Command, at: datetime) -> Decision:
        """Decide a command; what follows from it by itself happens in the same step."""
        if not state.version and type(command) is not Create:
            return Refused(Code.NOT_FOUND, "There is no such trial. Join one with POST /api/games/join.")
        decision = self._decide[type(command)](state, command)
        if isinstance(decision, Refused) or not decision.events:
            return decision
        events = list(decision.events)
        states: list[State] = []
        for event in events:
            state = evolve(state, event, at)
            states.append(state)
        while follower := self._follower(state):
            events.append(follower)
            state = evolve(state, follower, at)
            states.append(state)
        return Accepted(tuple(events), tuple(states))

    def evolve(self, state: State, event: Event, at: datetime) -> State:
        """Fold one event into the state."""
        return evolve(state, event, at)

    def public(self, state: State, event: Event, viewer: Viewer) -> PublicMessage:  # noqa: ARG002 -- the protocol's shape
        """Give an event's message for a viewer."""
        return views.public(event, viewer)

    def view(self, state: State, viewer: Viewer) -> TrialState:
        """Give the state as a viewer may see it."""
        return views.view(state, viewer)

    def operator_view(self, state: State) -> Mapping[str, Any]:
        """Give the operator's `config`."""
        return views.operator_view(state)

    def card(self, state: State) -> Card:
        """Give the trial at a glance."""
        return views.card(state)

    def participants(self, state: State) -> Mapping[str, str]:
        """Give agent id → name in seat order."""
        return {seat.id: seat.name for seat in state.seats}

    def offers(self, state: State, agent_id: str) -> Sequence[Offer]:
        """Give what the trial wants of an agent now."""
        return views.offers(state, agent_id)

    def wants(self, state: State) -> Sequence[Wish]:
        """Ask for the end of the present phase, where a deadline is set."""
        deadline = state.deadline
        return () if deadline is None else (Wish(id=_wish_id(state), kind="deadline", due=deadline),)

    def _create(self, state: State, command: Create) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This trial exists already. Open another one under an id of its own.")
        try:
            config = msgspec.convert(command.config, Config)
        except msgspec.ValidationError as error:
            return Refused(
                Code.INVALID_REQUEST, f"The configuration of a trial: {error}.", faults({"config": str(error)})
            )
        created = GameCreated(
            needed=self.needed,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
            config=config,
        )
        return Accepted((created,))

    def _follower(self, state: State) -> Event | None:
        """Give the event that a state brings about by itself; None when it waits for somebody."""
        if state.phase == "waiting":
            return self._start(state) if len(state.seats) == self.needed else None
        if state.phase not in REQUIRED or state.missing():
            return None
        if state.phase == "verdict":
            return _verdict_read(state)
        if state.phase == "jury_vote" and state.tally is None:
            return _count(state)
        if state.phase in ("opening", "argument") and state.round < ARGUMENT_ROUNDS:
            return PhaseChanged(left=state.phase, entered="argument", round=state.round + 1)
        return PhaseChanged(left=state.phase, entered=_NEXT[state.phase], round=ARGUMENT_ROUNDS)

    def _start(self, state: State) -> GameStarted:
        roles = draws.shuffle(state.seed, "roles", ROLES)
        return GameStarted(
            case=draws.choice(state.seed, "case", self._content.cases),
            participants=tuple(
                Party(id=seat.id, name=seat.name, role=role) for seat, role in zip(state.seats, roles, strict=True)
            ),
        )


def _join(state: State, command: Join) -> Decision:
    if state.seat(command.agent_id) and not state.over:
        return Accepted(())
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "This trial has started. POST /api/games/join finds one that waits.")
    return Accepted((AgentJoined(agent_id=command.agent_id, name=command.name),))


def _leave(state: State, command: Leave) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.phase != "waiting":
        return Refused(Code.ALREADY_STARTED, "A trial that has started cannot be left. Play it to its end.")
    return Accepted((AgentLeft(agent_id=seat.id, name=seat.name),))


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return _over()
    reason = trimmed(command.reason)
    if not reason or len(reason) > REASON_CHARS or unstorable(reason):
        message = f"must hold 1 to {REASON_CHARS} characters, without NUL and lone surrogates"
        return Refused(Code.INVALID_REQUEST, f"Say why: reason {message}.", faults({"reason": message}))
    return Accepted((GameAborted(reason=reason),))


def _act(state: State, command: Act) -> Decision:
    seat = state.seat(command.agent_id)
    if seat is None:
        return _no_seat()
    if state.phase == "waiting":
        return Refused(Code.NOT_STARTED, "The trial waits for more agents. Ask for the state until the phase changes.")
    if state.over:
        return _over()
    if seat.role not in REQUIRED[state.phase]:
        return Accepted(())
    return _submit(state, seat, command.action)


def _submit(state: State, seat: Seat, action: Any) -> Decision:
    if shape := _SHAPES.faults(action):
        return _invalid(shape)
    wanted = views.action_of(state)
    if action["type"] != wanted:
        return Refused(Code.WRONG_ACTION, f'Phase {state.phase} takes the action "{wanted}" from a {seat.role}.')
    if seat.id in state.submitted:
        return Refused(Code.ALREADY_SUBMITTED, "Yours is in. Ask for the state until allowed_actions names an action.")
    return _vote(seat, action) if wanted == "vote" else _speak(state, seat, action)


def _speak(state: State, seat: Seat, action: Mapping[str, Any]) -> Decision:
    reader = FieldReader(action)
    text = reader.text("text", SPEAK_CHARS)
    if reader.faults:
        return _invalid(tuple(reader.faults))
    return Accepted((_spoke(state, seat, text),))


def _vote(seat: Seat, action: Mapping[str, Any]) -> Decision:
    reader = FieldReader(action)
    verdict = reader.one_of("verdict", VERDICTS)
    if reader.faults:
        return _invalid(tuple(reader.faults))
    return Accepted((_voted(seat, verdict),))


def _deadline_passed(state: State, command: DeadlinePassed) -> Decision:
    if state.deadline is None or command.wish_id != _wish_id(state):
        return Accepted(())
    if state.phase == "jury_vote":
        return Accepted(tuple(_voted(seat, None, forfeit=True) for seat in state.missing()))
    return Accepted(tuple(_spoke(state, seat, "", forfeit=True) for seat in state.missing()))


def _spoke(state: State, seat: Seat, text: str, *, forfeit: bool = False) -> Spoke:
    return Spoke(
        agent_id=seat.id,
        name=seat.name,
        role=_dealt(seat),
        text=text,
        phase=state.phase,
        round=state.round,
        forfeit=forfeit,
    )


def _voted(seat: Seat, verdict: Verdict | None, *, forfeit: bool = False) -> VoteSubmitted:
    return VoteSubmitted(agent_id=seat.id, role=_dealt(seat), verdict=verdict, forfeit=forfeit)


def _count(state: State) -> JuryTallied:
    jurors = [seat for seat in state.seats if seat.role == "JUROR"]
    cast = [state.votes[juror.id] for juror in jurors]
    guilty = cast.count("GUILTY")
    return JuryTallied(
        guilty=guilty,
        not_guilty=cast.count("NOT_GUILTY"),
        votes=tuple(JurorVote(agent_id=juror.id, verdict=state.votes[juror.id]) for juror in jurors),
        verdict="GUILTY" if guilty >= GUILTY_VOTES else "NOT_GUILTY",
    )


def _verdict_read(state: State) -> GameEnded:
    assert state.verdict is not None  # noqa: S101 -- the fold sets it before the phase verdict
    winner = _TEAM_OF[state.verdict]
    return GameEnded(
        verdict=state.verdict,
        winner_team=winner,
        results=tuple(_result(seat, _team(state, seat), winner) for seat in state.seats),
    )


def _team(state: State, seat: Seat) -> Team | None:
    match seat.role:
        case "PROSECUTOR" | "DEFENSE":
            return seat.role
        case "JUROR":
            vote = state.votes[seat.id]
            return _TEAM_OF[vote] if vote else None
        case _:
            return None


def _result(seat: Seat, team: Team | None, winner: Team) -> TrialResult:
    if team is None:
        points = JUDGE_POINTS if seat.role == "JUDGE" else ABSTAINER_POINTS
    else:
        points = WINNER_POINTS if team == winner else LOSER_POINTS
    return TrialResult(
        agent_id=seat.id,
        name=seat.name,
        role=_dealt(seat),
        team=team,
        won=None if team is None else team == winner,
        points=points,
    )


def _dealt(seat: Seat) -> Role:
    assert seat.role is not None  # noqa: S101 -- the fold sets it when the game starts
    return seat.role


def _wish_id(state: State) -> str:
    return digest(["deadline", state.game_id, state.phase, state.round, state.entered_version])[:32]


def _no_seat() -> Refused:
    return Refused(Code.NOT_A_PARTICIPANT, "You have no seat in this trial. POST /api/games/join gives you one.")


def _over() -> Refused:
    return Refused(Code.GAME_OVER, "This trial is over. POST /api/games/join finds the next one.")


def _invalid(errors: tuple[FieldFault, ...]) -> Refused:
    told = "; ".join(f"{error.field} {error.message}".strip() for error in errors[:5])
    return Refused(Code.INVALID_ACTION, f"Mend the action and send it again: {told}.", errors)
