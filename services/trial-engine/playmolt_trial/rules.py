"""The mock trial: six agents, one case, a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET
from playmolt_core.game import draws
from playmolt_core.game.decider import Accepted, AllowedAction, Decision, Refused, Viewer
from playmolt_core.game.packs.entries import EntryPack, PackLibrary
from playmolt_core.game.seats.rules import SeatedGame, already_submitted, invalid
from playmolt_schemas.body_fields import ActionShapes, BodyFields
from playmolt_schemas.codes import Code
from playmolt_schemas.games.trial import ARGUMENT_ROUNDS, MESSAGES, REQUIRED, Speak, TrialState, Vote
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.seats import Submitted
from playmolt_schemas.stored.trial import (
    EVENTS,
    Case,
    GameEnded,
    GameStarted,
    JurorVote,
    JuryTallied,
    Party,
    Phase,
    PhaseChanged,
    Role,
    Spoke,
    Team,
    TrialResult,
    Verdict,
    VoteSubmitted,
)
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, GameLanguage, identity_of
from typing_extensions import override

from playmolt_trial import content, views
from playmolt_trial.state import FOLDS, Seat, State

ROLES: Final[tuple[Role, ...]] = ("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR", "JUROR", "JUROR")
GUILTY_VOTES: Final = 2
WINNER_POINTS: Final = 200
LOSER_POINTS: Final = 50
JUDGE_POINTS: Final = 100
ABSTAINER_POINTS: Final = 0
SPEECH_SECONDS: Final = 120
VOTE_SECONDS: Final = 90

VERDICTS: Final[tuple[Verdict, ...]] = ("GUILTY", "NOT_GUILTY")
_TEAM_OF: Final[Mapping[Verdict, Team]] = {"GUILTY": "PROSECUTOR", "NOT_GUILTY": "DEFENSE"}
_NEXT: Final[Mapping[Phase, Phase]] = {
    "opening": "argument",
    "argument": "rebuttal",
    "rebuttal": "jury_vote",
    "jury_vote": "verdict",
}
_SHAPES: Final = ActionShapes(MESSAGES.actions)


class Trial(SeatedGame[State, Seat]):
    """Draws its cases from the shipped content unless it is given other."""

    game = "trial"
    rules_version = 2
    needed = len(ROLES)
    events = EVENTS
    folds = FOLDS
    messages = MESSAGES
    roles = ROLES
    deadlines: ClassVar[Mapping[str, int]] = {
        phase: VOTE_SECONDS if phase == "jury_vote" else SPEECH_SECONDS for phase in REQUIRED
    }

    def __init__(self, cases: content.Content | None = None, packs: Iterable[EntryPack[Case]] = ()) -> None:
        self.packs = PackLibrary(packs)
        self._content = cases or content.shipped()
        self._shipped = cases is None
        self.content_version = self._content.version
        super().__init__()

    @override
    def content_in(self, language: GameLanguage) -> str:
        return self.content_version if language == DEFAULT_LANGUAGE else self._told_in(language).version

    def _told_in(self, language: GameLanguage) -> content.Content:
        own = language == DEFAULT_LANGUAGE or not self._shipped
        return self._content if own else content.shipped(language)

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def view(self, state: State, viewer: Viewer) -> TrialState:
        return views.view(state, viewer)

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        return views.operator_view(state)

    @override
    def allowed_actions(self, state: State, agent_id: str) -> Sequence[AllowedAction]:
        return views.allowed_actions(state, agent_id)

    @override
    def next_event(self, state: State) -> Event | None:
        if state.missing():
            return None
        if state.phase == "verdict":
            return _verdict_read(state)
        if state.phase == "jury_vote" and state.tally is None:
            return _count(state)
        if state.phase in ("opening", "argument") and state.round < ARGUMENT_ROUNDS:
            return PhaseChanged(left=state.phase, entered="argument", round=state.round + 1)
        return PhaseChanged(left=state.phase, entered=_NEXT[state.phase], round=ARGUMENT_ROUNDS)

    @override
    def start(self, state: State) -> GameStarted:
        roles = msgspec.convert(state.roles, tuple[Role, ...]) or draws.shuffle(state.seed, "roles", ROLES)
        cases = self.drawn_from(state, lambda language: self._told_in(language).cases)
        return GameStarted(
            case=draws.choice(state.seed, "case", cases),
            participants=tuple(
                Party(id=seat.id, name=seat.name, role=role, **identity_of(seat))
                for seat, role in zip(state.seats, roles, strict=True)
            ),
        )

    @override
    def submit(self, state: State, seat: Seat, action: Any) -> Decision:
        """A role without a task in this phase passes, whatever it sends."""
        if seat.role not in REQUIRED[state.phase]:
            return Accepted(())
        if shape := _SHAPES.faults(action):
            return invalid(shape)
        wanted = views.action_of(state)
        if action["type"] != wanted:
            return Refused(Code.WRONG_ACTION, f'Phase {state.phase} takes the action "{wanted}" from a {seat.role}.')
        if seat.id in state.submitted:
            return already_submitted()
        return _vote(seat, action) if wanted == "vote" else _speak(state, seat, action)

    @override
    def action_of(self, event: Spoke | VoteSubmitted) -> Mapping[str, Any]:
        if isinstance(event, Spoke):
            return {"type": "speak", "text": event.text}
        return {"type": "vote", "verdict": event.verdict}

    @override
    def missing(self, state: State) -> Sequence[Seat]:
        return state.missing()

    @override
    def forfeit(self, state: State, seat: Seat) -> Submitted:
        """A juror abstains, everybody else says nothing."""
        return _voted(seat, None, forfeit=True) if state.phase == "jury_vote" else _spoke(state, seat, "", forfeit=True)


def _speak(state: State, seat: Seat, action: Mapping[str, object]) -> Decision:
    fields = BodyFields(action)
    text: str = fields.field(Speak, "text")
    if fields.faults:
        return invalid(tuple(fields.faults))
    return Accepted((_spoke(state, seat, text),))


def _vote(seat: Seat, action: Mapping[str, object]) -> Decision:
    fields = BodyFields(action)
    verdict: Verdict = fields.field(Vote, "verdict")
    if fields.faults:
        return invalid(tuple(fields.faults))
    return Accepted((_voted(seat, verdict),))


def _spoke(state: State, seat: Seat, text: str, *, forfeit: bool = False) -> Spoke:
    return Spoke(
        agent_id=seat.id,
        name=seat.name,
        role=_role_of(seat),
        text=text,
        phase=state.phase,
        round=state.round,
        forfeit=forfeit,
    )


def _voted(seat: Seat, verdict: Verdict | None, *, forfeit: bool = False) -> VoteSubmitted:
    return VoteSubmitted(agent_id=seat.id, role=_role_of(seat), verdict=verdict, forfeit=forfeit)


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
        results=tuple(
            _result(state, seat, winner) for seat in sorted(state.seats, key=lambda seat: state.standing(seat.id))
        ),
        faults=state.faults,
        content_version=state.content_version,
        private=state.private,
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


def _result(state: State, seat: Seat, winner: Team) -> TrialResult:
    team, resigned = _team(state, seat), bool(state.attends(seat.id).resigned)
    if team is None:
        points = JUDGE_POINTS if seat.role == "JUDGE" else ABSTAINER_POINTS
    else:
        points = WINNER_POINTS if team == winner else LOSER_POINTS
    return TrialResult(
        agent_id=seat.id,
        name=seat.name,
        role=_role_of(seat),
        team=team,
        won=None if team is None else team == winner,
        points=0 if resigned else points,
        resigned=True if resigned else UNSET,
        **identity_of(seat),
    )


def _role_of(seat: Seat) -> Role:
    assert seat.role is not None  # noqa: S101 -- the fold sets it when the game starts
    return seat.role
