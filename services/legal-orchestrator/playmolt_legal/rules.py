"""The legal simulation: four roles argue, a person steers, a report comes out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from msgspec.structs import replace
from playmolt_core.game.decider import Accepted, AllowedAction, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Game, ended
from playmolt_schemas.codes import Code, FieldFault, faults
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.games.legal import OPEN_QUESTIONS, Session, Unseen
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import (
    EVENTS,
    AttemptMade,
    CaseType,
    EndForm,
    FactsForm,
    FactsPosted,
    GateAnswered,
    Language,
    RiskTaken,
    Round1Form,
    SessionAborted,
    SessionDone,
    SessionOpened,
    SessionRested,
    SteeringSet,
    TurnFailed,
    TurnStarted,
)
from typing_extensions import override

from playmolt_legal import commands, effects, outputs, phases, recovery, texts, views
from playmolt_legal.codes import NO_SESSION, invalid_request, listed, refused
from playmolt_legal.effects import PendingTurn
from playmolt_legal.facts import fact_changes, uploads
from playmolt_legal.forms import gates
from playmolt_legal.forms.gate_forms import merged_steering, named_gate, read_form
from playmolt_legal.forms.intake import read_facts, read_opening
from playmolt_legal.roles import answers
from playmolt_legal.state import FOLDS, State

DETAIL_CHARS: Final = 2000


class Legal(Game[State]):
    """Private to its owner: `view` and `public` give nothing to anyone else."""

    game = "legal"
    rules_version = 2
    needed = 1
    events = EVENTS
    folds = FOLDS
    opening = frozenset((commands.OpenSession, commands.ContinueSession))
    unknown = NO_SESSION
    from_content = frozenset(("guardrail_hit", "draft_set_aside", "turn_recorded"))
    foreign = Refused(Code.INVALID_REQUEST, "A legal session is not a bot game. Use the routes under /api/sessions.")

    def __init__(self) -> None:
        self.content_version = texts.version()
        super().__init__(
            {
                commands.OpenSession: self._open,
                commands.ContinueSession: self._continue,
                commands.PostFacts: _post_facts,
                commands.PostForm: _post_form,
                commands.ChangeFact: fact_changes.change_fact,
                commands.AddEvidence: uploads.add_evidence,
                commands.Redo: fact_changes.redo,
                commands.Retry: _retry,
                commands.Attempted: _attempted,
                commands.TurnSpoken: _spoken,
                commands.FailTurn: _failed,
                EndGame: _end,
            }
        )

    @override
    def initial(self, game_id: str) -> State:
        return State(game_id=game_id)

    @override
    def follow(self, state: State, command: Command) -> Event | None:
        if state.settled:
            return None
        if state.final_turn or state.reopening is not None:
            return _after_again(state)
        if state.phase == phases.INTAKE:
            return TurnStarted(phase=phases.STIPULATE)
        if state.phase == phases.STIPULATE:
            gating = len(state.facts.questions) >= OPEN_QUESTIONS
            return gates.facts_gate(state) if gating else TurnStarted(phase=phases.first(1))
        if state.phase in (phases.USER_GATE, phases.END_GATE):
            return _after_gate(state, command)
        following = phases.following(state.phase)
        return TurnStarted(phase=following) if following else gates.round_gate(state, state.turns[-1])

    @override
    def public(self, event: Event, viewer: Viewer, state: State | None = None) -> FeedMessage | None:
        return views.public(state, event) if state and _owns(state, viewer.agent_id) else None

    @override
    def view(self, state: State, viewer: Viewer) -> Session | Unseen:
        return views.session(state) if _owns(state, viewer.agent_id) else Unseen()

    @override
    def operator_view(self, state: State) -> Mapping[str, object]:
        # Metadata only; the person's words are visible to them alone.
        return {"case_type": state.case_type, "language": state.language, "model": state.model, "seed": state.seed}

    @override
    def summary(self, state: State) -> GameSummary:
        return GameSummary(phase=state.phase, round=state.round, seated=1, needed=1, over=state.over)

    @override
    def participants(self, state: State) -> Mapping[str, str]:
        return {state.owner: state.name} if state.version else {}

    @override
    def allowed_actions(self, state: State, agent_id: str) -> Sequence[AllowedAction]:
        return views.allowed_actions(state) if _owns(state, agent_id) else ()

    @override
    def effects(self, state: State) -> Sequence[Effect[PendingTurn]]:
        return effects.effects(state)

    @override
    def recovered(self, state: State, events: Sequence[Event], at: datetime) -> Iterable[Command]:
        return recovery.recovered(state, events)

    @override
    def pinned(self, decided: Event, stored: Event) -> Event:
        return recovery.pinned(decided, stored)

    def successor(self, state: State) -> commands.ContinueSession | None:
        """The command that opens the linked session, on the stream `next_session` names.

        The facts are carried over, the risk that was accepted is not: it was about questions of this session. It
        belongs into the unit that closes this session, so that neither is there without the other; given twice, it
        changes nothing.
        """
        if state.next_session is None:
            return None
        return commands.ContinueSession(
            agent_id=state.owner,
            name=state.name,
            seed=state.seed,
            previous_session=state.game_id,
            case_type=state.case_type,
            jurisdiction=state.jurisdiction,
            title=state.title,
            language=state.language,
            exclusions=state.exclusions,
            model=state.model,
            narrative=state.narrative,
            facts=replace(uploads.typed(state.facts), risk_accepted=None),
            uploads=uploads.stored(state),
            side=state.side,
        )

    def _open(self, state: State, command: commands.OpenSession) -> Decision:
        if state.version:
            return Refused(Code.ALREADY_STARTED, "This session already exists. Open another one.")
        request = read_opening(command.body, command.aliases)
        if isinstance(request, tuple):
            return invalid_request(request)
        opened = SessionOpened(
            owner=command.agent_id,
            name=command.name,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
            case_type=request.case_type,
            jurisdiction=request.jurisdiction,
            title=request.title,
            language=request.language,
            exclusions=tuple(request.exclusions),
            model=request.model,
            side=request.side,
        )
        return Accepted((opened,))

    def _continue(self, state: State, command: commands.ContinueSession) -> Decision:
        if state.version:
            same = state.previous_session == command.previous_session
            return Accepted() if same else Refused(Code.ALREADY_STARTED, "This session already exists.")
        opened = SessionOpened(
            owner=command.agent_id,
            name=command.name,
            seed=command.seed,
            rules_version=self.rules_version,
            content_version=self.content_version,
            case_type=cast("CaseType", command.case_type),
            jurisdiction=command.jurisdiction,
            title=command.title,
            language=cast("Language", command.language),
            exclusions=command.exclusions,
            model=command.model,
            previous_session=command.previous_session,
            narrative=command.narrative,
            facts=command.facts,
            side=command.side,
        )
        return Accepted((opened, *command.uploads))


def _owns(state: State, agent_id: str | None) -> bool:
    return bool(state.version) and agent_id == state.owner


def _post_facts(state: State, command: commands.PostFacts) -> Decision:
    if not _owns(state, command.agent_id):
        return Legal.unknown
    if state.waiting != "intake":
        return refused(
            Code.SESSION_PHASE,
            f"The session is in {state.phase} and does not accept facts. Add facts at a gate.",
        )
    carried = (state.narrative, state.facts) if state.previous_session else None
    read = read_facts(command.body, carried, state.facts)
    if isinstance(read, tuple):
        return invalid_request(read)
    posted = FactsPosted(by=command.agent_id, narrative=read.narrative, timeline=read.timeline, evidence=read.evidence)
    return Accepted((posted,))


def _post_form(state: State, command: commands.PostForm) -> Decision:
    if not _owns(state, command.agent_id):
        return Legal.unknown
    named = named_gate(command.body)
    if not isinstance(named, str):
        return _invalid_form(named)
    gate = state.gate
    if gate is None or gate.gate != named:
        now = f'The gate "{gate.gate}" is open' if gate else f"No gate is open in {state.phase}"
        return refused(Code.WRONG_GATE, f"{now}. GET the session and send the form that its gate.schema describes.")
    form = read_form(command.body, state, gate)
    if isinstance(form, tuple):
        return _invalid_form(form)
    if isinstance(form, EndForm) and form.resolution == "new_session" and not command.next_session:
        raise ValueError("a form may ask for a new session, so the command must bring its id")
    answered = GateAnswered(gate=gate.gate, by=command.agent_id, form=form)
    return Accepted((answered, *_consequences(state, command.agent_id, form)))


def _consequences(state: State, by: str, form: Any) -> tuple[Event, ...]:
    if isinstance(form, FactsForm):
        open_questions = tuple(question.id for question in state.facts.questions)
        return (RiskTaken(by=by, questions=open_questions),) if form.choice == "proceed_unclear" else ()
    merged = SteeringSet(by=by, number=len(state.steering_history) + 1, steering=merged_steering(state.steering, form))
    if isinstance(form, Round1Form) and form.fact_corrections:
        return (*fact_changes.corrected(state, by, form.fact_corrections), merged)
    return (merged,)


def _invalid_form(errors: Sequence[FieldFault]) -> Refused:
    detail = f"The gate stays open. Fix the form and retry: {listed(errors)}."
    return refused(Code.INVALID_FORM, detail, errors)


def _retry(state: State, command: commands.Retry) -> Decision:
    if not _owns(state, command.agent_id):
        return Legal.unknown
    if state.failed is None:
        return refused(Code.NOTHING_TO_RETRY, f"No turn has failed; the session is in {state.phase}.")
    return Accepted((TurnStarted(phase=state.failed.phase),))


def _attempted(state: State, command: commands.Attempted) -> Decision:
    if state.over and state.waiting != "model":
        return Accepted()
    return Accepted((AttemptMade(phase=command.phase, kind=command.kind, attempt=command.attempt),))


def _failed(state: State, command: commands.FailTurn) -> Decision:
    if not effects.owes(state, command.effect_id):
        return Accepted()
    failed = TurnFailed(
        phase=state.asked, code=command.code, detail=command.detail[:DETAIL_CHARS], attempts=command.attempts
    )
    return Accepted((failed,))


def _spoken(state: State, command: commands.TurnSpoken) -> Decision:
    if not effects.owes(state, command.effect_id):
        return Accepted()
    try:
        return Accepted(answers.events(state, command.output))
    except outputs.InvalidReply as error:
        return Refused(
            Code.INVALID_REQUEST,
            f"The model's reply is invalid: {error}. Ask the model again.",
            faults({"output": str(error)}),
        )


def _end(state: State, command: EndGame) -> Decision:
    if state.over:
        return Refused(Code.GAME_OVER, "This session is over.")
    return ended(command, SessionAborted)


def _after_again(state: State) -> Event | None:
    """The end after the last turn; otherwise the next turn to redo, or the gate that reopens after them."""
    if state.final_turn:
        return SessionDone() if state.final_turn.status == "done" else SessionRested()
    if state.redo:
        return TurnStarted(phase=state.turns[state.redo[0] - 1].phase)
    return gates.reopened(state, state.reopening) if state.reopening else None


def _after_gate(state: State, command: Command) -> Event:
    phase = gates.after_form(state)
    if phase is not None:
        return TurnStarted(phase=phase)
    form = state.gate_history[-1].form
    if isinstance(form, EndForm) and form.resolution == "new_session" and isinstance(command, commands.PostForm):
        return SessionDone(next_session=command.next_session)
    return SessionDone()
