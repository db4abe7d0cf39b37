"""Stored events of a session. Their names and fields are the storage format: a change needs a new version."""

from typing import Any, ClassVar, Final

import msgspec
from playmolt_schemas.games.legal import (
    AnyForm,
    CaseType,
    Check,
    Citation,
    Evidence,
    Fact,
    FactChange,
    Facts,
    FailureCode,
    GateName,
    GateStatus,
    Hit,
    Kind,
    Language,
    NumberedText,
    RefusedItem,
    Side,
    SteeringSettings,
    TimelineItem,
)
from playmolt_schemas.stored.event import Event, stored_types


class AnsweredQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question and the person's answer."""

    question: str
    text: str


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """What the person added at a facts gate."""

    text: str = ""
    answers: tuple[AnsweredQuestion, ...] = ()


class Narrative(msgspec.Struct, frozen=True, kw_only=True):
    """The person's account in their own words."""

    overview: str = ""
    acts: str = ""
    opposing_claims: str = ""
    additions: tuple[Addition, ...] = ()


class SessionOpened(Event, frozen=True, kw_only=True):
    """Event 1: everything that the rules of this session depend on. A linked session starts with facts."""

    type: ClassVar[str] = "session_opened"
    owner: str
    name: str
    seed: str
    rules_version: int
    content_version: str
    case_type: CaseType
    jurisdiction: str
    title: str
    language: Language
    exclusions: tuple[str, ...]
    model: str
    previous_session: str | None = None
    narrative: Narrative | None = None
    facts: Facts | None = None
    side: Side = "neutral"
    """Whose side the person is on."""


class FactsPosted(Event, frozen=True, kw_only=True):
    """The person posted the facts; they replace earlier ones."""

    type: ClassVar[str] = "facts_posted"
    by: str
    narrative: Narrative
    timeline: tuple[TimelineItem, ...]
    evidence: tuple[Evidence, ...]


class TurnStarted(Event, frozen=True, kw_only=True):
    """A turn waits for the model. A retry of a failed turn starts its phase again."""

    type: ClassVar[str] = "turn_started"
    phase: str


class AttemptMade(Event, frozen=True, kw_only=True):
    """The model runtime's record of one request; no rule depends on it."""

    type: ClassVar[str] = "attempt_made"
    phase: str
    kind: Kind
    attempt: dict[str, Any]


class GuardrailHit(Event, frozen=True, kw_only=True):
    """A first answer broke a rule, by one check."""

    type: ClassVar[str] = "guardrail_hit"
    phase: str
    check: Check
    hits: tuple[Hit, ...]


class DraftSetAside(Event, frozen=True, kw_only=True):
    """A first answer is stored as a draft; the model is asked once to rewrite it."""

    type: ClassVar[str] = "draft_set_aside"
    phase: str
    output: dict[str, Any]


class FactsStipulated(Event, frozen=True, kw_only=True):
    """The facts are sorted; they replace all earlier ones. `refused` are proposals that no input supports."""

    type: ClassVar[str] = "facts_stipulated"
    confirmed: tuple[Fact, ...]
    disputed: tuple[Fact, ...]
    questions: tuple[NumberedText, ...]
    refused: tuple[RefusedItem, ...] = ()


class TurnRecorded(Event, frozen=True, kw_only=True):
    """A role has spoken. `unverified` are its statutes and case numbers that the person did not supply."""

    type: ClassVar[str] = "turn_recorded"
    phase: str
    output: dict[str, Any]
    unresolved: tuple[Hit, ...] = ()
    warnings: tuple[Hit, ...] = ()
    citations: tuple[Citation, ...] | None = None
    gate_status: GateStatus | None = None
    unverified: tuple[str, ...] = ()


class TurnFailed(Event, frozen=True, kw_only=True):
    """The model gave no usable answer; the turn waits for a retry."""

    type: ClassVar[str] = "turn_failed"
    phase: str
    code: FailureCode
    detail: str
    attempts: int


class GateOpened(Event, frozen=True, kw_only=True):
    """The person is asked."""

    type: ClassVar[str] = "gate_opened"
    gate: GateName
    round: int
    options: tuple[str, ...]
    """What the gate's first field may be: the choices still offered, or the resolutions."""
    banner: str | None = None
    missing_evidence: tuple[NumberedText, ...] = ()
    checklist: tuple[NumberedText, ...] = ()
    issues: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()


class GateAnswered(Event, frozen=True, kw_only=True):
    """The person's form, as it was checked."""

    type: ClassVar[str] = "gate_answered"
    gate: GateName
    by: str
    form: AnyForm


class RiskTaken(Event, frozen=True, kw_only=True):
    """The person continues with open questions."""

    type: ClassVar[str] = "risk_taken"
    by: str
    questions: tuple[str, ...]


class FactsCorrected(Event, frozen=True, kw_only=True):
    """The person corrected the facts."""

    type: ClassVar[str] = "facts_corrected"
    by: str
    text: str


class FactChanged(Event, frozen=True, kw_only=True):
    """A fact changed its state. `text` is a corrected one's new text, `new_id` the fact that takes its place."""

    type: ClassVar[str] = "fact_changed"
    fact_id: str
    action: FactChange
    by: str
    text: str | None = None
    new_id: str | None = None
    reason: str | None = None


class TurnsStale(Event, frozen=True, kw_only=True):
    """Turns, by number, relied on a fact that was superseded or withdrawn."""

    type: ClassVar[str] = "turns_stale"
    fact_id: str
    turns: tuple[int, ...]


class RedoAsked(Event, frozen=True, kw_only=True):
    """The person requested that turns, by number, be redone in this order; then the same gate reopens."""

    type: ClassVar[str] = "redo_asked"
    by: str
    turns: tuple[int, ...]


class EvidenceAdded(Event, frozen=True, kw_only=True):
    """The person uploaded evidence or a statute: what it is, and its text."""

    type: ClassVar[str] = "evidence_added"
    by: str
    evidence: Evidence
    text: str


class SteeringSet(Event, frozen=True, kw_only=True):
    """A new version of the steering, merged."""

    type: ClassVar[str] = "steering_set"
    by: str
    number: int
    steering: SteeringSettings


class SessionDone(Event, frozen=True, kw_only=True):
    """The session is over: with a report, or in favour of a linked session."""

    type: ClassVar[str] = "session_done"
    closes: ClassVar[bool] = True
    next_session: str | None = None


class SessionRested(Event, frozen=True, kw_only=True):
    """The session is over with a report although its last turn failed; that turn may be retried."""

    type: ClassVar[str] = "session_rested"
    rests: ClassVar[bool] = True


class SessionAborted(Event, frozen=True, kw_only=True):
    """The operator ended the session; it has no report."""

    type: ClassVar[str] = "session_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final = stored_types(
    SessionOpened,
    FactsPosted,
    TurnStarted,
    AttemptMade,
    GuardrailHit,
    DraftSetAside,
    FactsStipulated,
    TurnRecorded,
    TurnFailed,
    GateOpened,
    GateAnswered,
    RiskTaken,
    FactsCorrected,
    FactChanged,
    TurnsStale,
    RedoAsked,
    EvidenceAdded,
    SteeringSet,
    SessionDone,
    SessionRested,
    SessionAborted,
)
