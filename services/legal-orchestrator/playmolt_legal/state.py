"""The state of a session: the fold of its events. Its tuples and dicts are never mutated."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace
from playmolt_core.game.game import Changes, Fold
from playmolt_schemas.games.legal import EarlierOutput, Failed, GateEntry, Role, SteeringVersion
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.legal import (
    Addition,
    AnsweredQuestion,
    AttemptMade,
    CaseType,
    Citation,
    Correction,
    DraftSetAside,
    EndForm,
    Evidence,
    EvidenceAdded,
    FactChanged,
    Facts,
    FactsCorrected,
    FactsForm,
    FactsPosted,
    FactsStipulated,
    GateAnswered,
    GateOpened,
    GateStatus,
    GuardrailHit,
    Hit,
    Language,
    MoreFacts,
    Narrative,
    RedoAsked,
    RiskAccepted,
    RiskTaken,
    SessionAborted,
    SessionDone,
    SessionOpened,
    SessionRested,
    Side,
    SteeringSet,
    SteeringSettings,
    TimelineItem,
    TurnFailed,
    TurnRecorded,
    TurnsStale,
    TurnStarted,
)

from playmolt_legal import fact_states, outputs, phases


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    phase: str
    role: Role
    round: int
    output: dict[str, Any]
    draft: dict[str, Any] | None
    hits: tuple[Hit, ...]
    unresolved: tuple[Hit, ...]
    warnings: tuple[Hit, ...]
    citations: tuple[Citation, ...] | None
    gate_status: GateStatus | None
    unverified: tuple[str, ...]
    stale: tuple[str, ...] = ()
    redone: int = 0
    earlier: tuple[EarlierOutput, ...] = ()


class FinalTurnState(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that the instructions of the end form requested, and its answer."""

    status: Literal["asked", "done", "failed"] = "asked"
    output: dict[str, Any] | None = None
    draft: dict[str, Any] | None = None
    hits: tuple[Hit, ...] = ()
    unresolved: tuple[Hit, ...] = ()
    unverified: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """`settled` is False while another event follows from the last one without a command."""

    game_id: str
    version: int = 0
    owner: str = ""
    name: str = ""
    seed: str = ""
    created_at: str = ""
    case_type: CaseType = "criminal"
    jurisdiction: str = ""
    title: str = ""
    language: Language = "ko"
    exclusions: tuple[str, ...] = ()
    model: str = ""
    side: Side = "neutral"
    previous_session: str | None = None
    next_session: str | None = None
    phase: str = phases.INTAKE
    settled: bool = True
    narrative: Narrative = Narrative()
    facts: Facts = Facts()
    added: int = 0
    """How often facts were added at the facts gate."""
    steering: SteeringSettings = SteeringSettings()
    steering_history: tuple[SteeringVersion, ...] = ()
    turns: tuple[TurnRecord, ...] = ()
    gate: GateOpened | None = None
    gate_history: tuple[GateEntry, ...] = ()
    failed: Failed | None = None
    draft: dict[str, Any] | None = None
    draft_hits: tuple[Hit, ...] = ()
    starts: int = 0
    started_at: datetime | None = None
    extended: bool = False
    redo: tuple[int, ...] = ()
    """Turns to redo, by number, the next one first."""
    reopening: GateOpened | None = None
    """The gate that reopens after them."""
    uploads: Mapping[str, str] = {}
    """The texts of the uploads, by id."""
    final_turn: FinalTurnState | None = None

    @property
    def over(self) -> bool:
        return self.phase in (phases.DONE, phases.ABORTED)

    @property
    def waiting(self) -> phases.Waiting:
        if self.final_turn and self.final_turn.status == "asked":
            return "model"
        if self.over:
            return "nothing"
        if self.gate is not None:
            return "person"
        if self.phase == phases.INTAKE:
            return "intake"
        return "retry" if self.failed else "model"

    @property
    def asked(self) -> str:
        """The phase of the pending turn."""
        return phases.FINAL if self.final_turn else self.phase

    @property
    def has_final_turn(self) -> bool:
        """Whether the form that ended the session asks for one more turn."""
        form = self.gate_history[-1].form if self.gate_history else None
        return isinstance(form, EndForm) and form.resolution == "final_report" and bool(form.final_instructions)

    @property
    def evidence_texts(self) -> tuple[str, ...]:
        """The texts of evidence, unchanged by changes of facts."""
        typed = (f"{item.title} {item.description}" for item in self.facts.evidence)
        return (*typed, *self.uploads.values())

    @property
    def before(self) -> tuple[TurnRecord, ...]:
        """The turns before the pending one."""
        return self.turns[: self.redo[0] - 1] if self.redo else self.turns

    @property
    def reported(self) -> bool:
        """Whether the session ended with a report of its own."""
        return self.phase == phases.DONE and self.next_session is None

    @property
    def round(self) -> int:
        """The round that was begun last; 0 before the first."""
        here = phases.turn(self.phase)
        return here.round if here else max((turn.round for turn in self.turns), default=0)

    def newest(self, role: Role, round_: int | None = None) -> TurnRecord | None:
        """A role's newest turn, or its turn of a round; None before it."""
        for turn in reversed(self.turns):
            if turn.role == role and round_ in (None, turn.round):
                return turn
        return None

    @property
    def last_form(self) -> GateEntry | None:
        """The newest form that steers; facts forms do not."""
        return next((entry for entry in reversed(self.gate_history) if entry.gate != "facts"), None)


def numbered_timeline(facts: Facts, more: MoreFacts) -> tuple[TimelineItem, ...]:
    """Added entries of the timeline with the ids that follow."""
    first = 1 + max((int(item.id[1:]) for item in facts.timeline), default=0)
    return tuple(
        TimelineItem(id=f"T{number}", when=entry.when, what=entry.what, agreed=entry.agreed)
        for number, entry in enumerate(more.timeline, first)
    )


def numbered_evidence(facts: Facts, more: MoreFacts) -> tuple[Evidence, ...]:
    """Added evidence with the ids that follow."""
    return tuple(
        Evidence(id=f"E{number}", title=entry.title, description=entry.description)
        for number, entry in enumerate(more.evidence, evidence_number(facts, "E"))
    )


def evidence_number(facts: Facts, letter: str) -> int:
    """The next number of evidence (`E`) or of statutes (`L`)."""
    return 1 + max((int(item.id[1:]) for item in facts.evidence if item.id[0] == letter), default=0)


def _opened(_: State, event: SessionOpened, at: datetime) -> Changes:
    return {
        "owner": event.owner,
        "name": event.name,
        "seed": event.seed,
        "created_at": rfc3339(at),
        "case_type": event.case_type,
        "jurisdiction": event.jurisdiction,
        "title": event.title,
        "language": event.language,
        "exclusions": event.exclusions,
        "model": event.model,
        "side": event.side,
        "previous_session": event.previous_session,
        "narrative": event.narrative or Narrative(),
        "facts": event.facts or Facts(),
    }


def _posted(state: State, event: FactsPosted, _: datetime) -> Changes:
    facts = replace(
        state.facts,
        evidence=event.evidence,
        timeline=event.timeline,
        questions=(),
        refused=(),
        risk_accepted=None,
    )
    if event.timeline != state.facts.timeline or event.evidence != state.facts.evidence:
        narrative = event.narrative
        added = (text for each in narrative.additions for text in (each.text, *(one.text for one in each.answers)))
        entries = (f"{entry.when} {entry.what}" for entry in event.timeline)
        evidence = (f"{item.title} {item.description}" for item in event.evidence)
        texts = (narrative.overview, narrative.acts, narrative.opposing_claims, *added, *state.uploads.values())
        facts = fact_states.kept(state.facts, facts, (*texts, *entries, *evidence))
    return {"narrative": event.narrative, "facts": facts, "settled": False}


def _started(state: State, event: TurnStarted, at: datetime) -> Changes:
    again = event.phase == state.asked
    final = event.phase == phases.FINAL
    return {
        "phase": state.phase if final else event.phase,
        "final_turn": FinalTurnState() if final else state.final_turn,
        "settled": True,
        "failed": None,
        "draft": state.draft if again else None,
        "draft_hits": state.draft_hits if again else (),
        "starts": state.starts + 1,
        "started_at": at,
    }


def _attempted(_: State, __: AttemptMade, ___: datetime) -> Changes:
    return {}


def _hit(state: State, event: GuardrailHit, _: datetime) -> Changes:
    return {"draft_hits": (*state.draft_hits, *event.hits)}


def _set_aside(_: State, event: DraftSetAside, at: datetime) -> Changes:
    return {"draft": outputs.in_order(event.output), "started_at": at}


def _stipulated(state: State, event: FactsStipulated, at: datetime) -> Changes:
    facts = replace(
        state.facts,
        confirmed=event.confirmed,
        disputed=event.disputed,
        questions=event.questions,
        refused=event.refused,
    )
    return {"facts": fact_states.recorded(state.facts, facts, rfc3339(at)), "settled": False}


def _recorded(state: State, event: TurnRecorded, at: datetime) -> Changes:
    if event.phase == phases.FINAL:
        return _closed(state, event)
    here = phases.turn(event.phase)
    if here is None:
        raise LookupError(f"{event.phase} is not a role's turn")
    spoken = TurnRecord(
        phase=event.phase,
        role=here.role,
        round=here.round,
        output=outputs.in_order(event.output),
        draft=state.draft,
        hits=state.draft_hits,
        unresolved=event.unresolved,
        warnings=event.warnings,
        citations=event.citations,
        gate_status=event.gate_status,
        unverified=event.unverified,
    )
    if state.redo:
        return _redone(state, spoken, at)
    return {"turns": (*state.turns, spoken), "draft": None, "draft_hits": (), "settled": False}


def _closed(state: State, event: TurnRecorded) -> Changes:
    final_turn = FinalTurnState(
        status="done",
        output=outputs.in_order(event.output),
        draft=state.draft,
        hits=state.draft_hits,
        unresolved=event.unresolved,
        unverified=event.unverified,
    )
    return {"final_turn": final_turn, "draft": None, "draft_hits": (), "settled": False}


def _redone(state: State, spoken: TurnRecord, at: datetime) -> Changes:
    place = state.redo[0] - 1
    old = state.turns[place]
    earlier = (*old.earlier, EarlierOutput(output=old.output, stale=old.stale, at=rfc3339(at)))
    new = replace(spoken, redone=old.redone + 1, earlier=earlier)
    turns = (*state.turns[:place], new, *state.turns[place + 1 :])
    return {"turns": turns, "redo": state.redo[1:], "draft": None, "draft_hits": (), "settled": False}


def _failed(_: State, event: TurnFailed, __: datetime) -> Changes:
    failed = Failed(phase=event.phase, code=event.code, detail=event.detail, attempts=event.attempts)
    if event.phase == phases.FINAL:
        return {"failed": failed, "final_turn": FinalTurnState(status="failed"), "settled": False}
    return {"failed": failed}


def _gate_opened(_: State, event: GateOpened, __: datetime) -> Changes:
    return {
        "phase": phases.END_GATE if event.gate == "end" else phases.USER_GATE,
        "gate": event,
        "reopening": None,
        "settled": True,
    }


def _answered(state: State, event: GateAnswered, at: datetime) -> Changes:
    gate = state.gate
    entry = GateEntry(
        gate=event.gate,
        form=event.form,
        by=event.by,
        at=rfc3339(at),
        banner=gate.banner if gate else None,
        missing_evidence=gate.missing_evidence if gate else (),
        checklist=gate.checklist if gate else (),
    )
    changes: Changes = {"gate": None, "gate_history": (*state.gate_history, entry), "settled": False}
    match event.form:
        case FactsForm(choice="add_facts", facts=more):
            return changes | _added(state, more or MoreFacts())
        case EndForm(resolution="extend"):
            return changes | {"extended": True}
    return changes


def _added(state: State, more: MoreFacts) -> Changes:
    asked = {question.id: question.text for question in state.facts.questions}
    answers = tuple(
        AnsweredQuestion(question=asked.get(answer.id, answer.id), text=answer.text) for answer in more.answers
    )
    addition = Addition(text=more.text, answers=answers)
    facts = replace(
        state.facts,
        timeline=(*state.facts.timeline, *numbered_timeline(state.facts, more)),
        evidence=(*state.facts.evidence, *numbered_evidence(state.facts, more)),
    )
    narrative = replace(state.narrative, additions=(*state.narrative.additions, addition))
    return {"narrative": narrative, "facts": facts, "added": state.added + 1}


def _risk_taken(state: State, event: RiskTaken, at: datetime) -> Changes:
    return {"facts": replace(state.facts, risk_accepted=RiskAccepted(by=event.by, at=rfc3339(at)))}


def _corrected(state: State, event: FactsCorrected, at: datetime) -> Changes:
    correction = Correction(id=f"C{len(state.facts.corrections) + 1}", text=event.text, by=event.by, at=rfc3339(at))
    return {"facts": replace(state.facts, corrections=(*state.facts.corrections, correction))}


def _fact_changed(state: State, event: FactChanged, at: datetime) -> Changes:
    return {"facts": fact_states.changed(state.facts, event, rfc3339(at))}


def _stale(state: State, event: TurnsStale, _: datetime) -> Changes:
    turns = tuple(
        replace(turn, stale=tuple(dict.fromkeys((*turn.stale, event.fact_id)))) if number in event.turns else turn
        for number, turn in enumerate(state.turns, 1)
    )
    return {"turns": turns}


def _redo_asked(state: State, event: RedoAsked, _: datetime) -> Changes:
    return {"redo": event.turns, "reopening": state.gate, "gate": None, "settled": False}


def _evidence_added(state: State, event: EvidenceAdded, _: datetime) -> Changes:
    evidence = (*state.facts.evidence, event.evidence)
    return {
        "facts": replace(state.facts, evidence=evidence),
        "uploads": {**state.uploads, event.evidence.id: event.text},
    }


def _steered(state: State, event: SteeringSet, at: datetime) -> Changes:
    version = SteeringVersion(version=event.number, steering=event.steering, by=event.by, at=rfc3339(at))
    return {"steering": event.steering, "steering_history": (*state.steering_history, version)}


def _done(_: State, event: SessionDone, __: datetime) -> Changes:
    return {"phase": phases.DONE, "next_session": event.next_session, "settled": True}


def _rested(_: State, __: SessionRested, ___: datetime) -> Changes:
    return {"phase": phases.DONE, "settled": True}


def _aborted(_: State, __: SessionAborted, ___: datetime) -> Changes:
    return {"phase": phases.ABORTED, "gate": None, "failed": None, "final_turn": None, "settled": True}


FOLDS: Final[Mapping[type[Event], Fold]] = {
    SessionOpened: _opened,
    FactsPosted: _posted,
    TurnStarted: _started,
    AttemptMade: _attempted,
    GuardrailHit: _hit,
    DraftSetAside: _set_aside,
    FactsStipulated: _stipulated,
    TurnRecorded: _recorded,
    TurnFailed: _failed,
    GateOpened: _gate_opened,
    GateAnswered: _answered,
    RiskTaken: _risk_taken,
    FactsCorrected: _corrected,
    FactChanged: _fact_changed,
    TurnsStale: _stale,
    RedoAsked: _redo_asked,
    EvidenceAdded: _evidence_added,
    SteeringSet: _steered,
    SessionDone: _done,
    SessionRested: _rested,
    SessionAborted: _aborted,
}
