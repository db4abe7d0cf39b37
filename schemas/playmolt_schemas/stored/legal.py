"""The stored events of a legal session, and what they hold. Their names and fields are the storage format.

The person's form at a gate is stored as it was checked, so the body of its request is declared here too.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.stored.event import Event, Public, stored_types
from playmolt_schemas.text import BLANK, LINE, STORABLE, text_schema

CaseType = Literal["criminal", "civil"]
Language = Literal["ko", "en", "zh"]
Side = Literal["claimant", "opposing", "neutral"]
"""The side that the user is on."""
GateName = Literal["facts", "round1", "round2", "end"]
FactsChoice = Literal["add_facts", "proceed_unclear"]
Goal = Literal["win_likelihood", "risk_minimization", "early_settlement", "evidence_reinforcement"]
Stance = Literal["hardline", "neutral", "flexible"]
EvidenceLevel = Literal["none", "weak", "moderate", "strong"]
Resolution = Literal["final_report", "extend", "new_session"]
ReportStyle = Literal["risk", "strategy", "settlement"]
GateStatus = Literal["Go", "Conditional", "No-Go"]
Check = Literal["unsupported_fact", "certain_advice", "out_of_focus", "exclusion"]
FailureCode = Literal["model_unavailable", "invalid_reply", "refused", "budget_spent"]
Kind = Literal["ask", "repair", "rewrite"]
FactState = Literal["proposed", "agreed", "disputed", "superseded", "withdrawn"]
FactSource = Literal["agreed", "evidence", "person", "model"]
"""The source of a fact: an agreed timeline entry, evidence, the user, or only a model."""
FactChange = Literal["stipulated", "confirm", "correct", "dispute", "withdraw", "questioned"]
"""A change of a fact: what a user does, and `questioned` by a correction that names no fact."""
RefusalReason = Literal["quote_not_found", "particular_not_supplied"]
EvidenceKind = Literal["evidence", "statute"]
MediaType = Literal[
    "text/plain",
    "application/pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/hwp+zip",
]
NoteKind = Literal[
    "picture", "recognised", "insertion", "deletion", "moved", "comment", "hidden", "embedded", "unidentified", "pages",
    "type", "extension",
]  # fmt: skip
"""What a reader of an upload's text has to know about its file."""
NOTE_CHARS: Final = 300
"""Corrections of facts and instructions (legal.md, Gates)."""
FORM_TEXT_CHARS: Final = 1000
NARRATIVE_CHARS: Final = 20_000
"""Overview, acts, opposing claims, and facts added by the user."""
ENTRY_CHARS: Final = 2000
ENTRIES: Final = 100
"""Timeline entries, pieces of evidence, answers and list items in a body."""
FOCUS_ISSUES: Final = 2
QUESTION_ID_CHARS: Final = 16


def distinct(most: int, least: int = 0) -> Meta:
    return Meta(extra_json_schema={"minItems": least, "maxItems": most, "uniqueItems": True})


UP_TO_ENTRIES: Final = Meta(extra_json_schema={"maxItems": ENTRIES})
_Texts = Annotated[tuple[Annotated[str, text_schema(FORM_TEXT_CHARS)], ...], distinct(ENTRIES, 1)]


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A timeline entry; `agreed`: the parties agree on it."""

    when: Annotated[str, text_schema(ENTRY_CHARS)]
    what: Annotated[str, text_schema(ENTRY_CHARS)]
    agreed: bool = False


class EvidenceEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A piece of evidence."""

    title: Annotated[str, text_schema(ENTRY_CHARS, LINE)]
    description: Annotated[str, text_schema(ENTRY_CHARS)]


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="gate", omit_defaults=True):
    """The user's form at a gate (`POST /api/sessions/{id}/steering`)."""

    missing_evidence_answers: dict[str, Annotated[str, text_schema(FORM_TEXT_CHARS)]] = {}


class QuestionAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer to an open question, by the question's id."""

    id: Annotated[str, text_schema(QUESTION_ID_CHARS)]
    text: Annotated[str, text_schema(ENTRY_CHARS)]


class MoreFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Facts added at the facts gate; at least one field must not be empty."""

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "not": {
            "properties": {
                "text": {"pattern": BLANK},
                "answers": {"maxItems": 0},
                "timeline": {"maxItems": 0},
                "evidence": {"maxItems": 0},
            }
        }
    }

    text: Annotated[str, text_schema(NARRATIVE_CHARS, STORABLE)] = ""
    answers: Annotated[tuple[QuestionAnswer, ...], UP_TO_ENTRIES] = ()
    timeline: Annotated[tuple[TimelineEntry, ...], UP_TO_ENTRIES] = ()
    evidence: Annotated[tuple[EvidenceEntry, ...], UP_TO_ENTRIES] = ()


class FactsForm(Form, frozen=True, kw_only=True, tag="facts"):
    """Add facts, or proceed with open questions and accept the risk."""

    SCHEMA: ClassVar[Mapping[str, Any]] = {
        "not": {
            "anyOf": [
                {"properties": {"choice": {"enum": ["add_facts"]}}, "not": {"required": ["facts"]}},
                {"properties": {"choice": {"enum": ["add_facts"]}, "facts": {"type": "null"}}},
                {
                    "required": ["facts"],
                    "properties": {
                        "choice": {"enum": ["proceed_unclear"]},
                        "facts": {"type": "object", "minProperties": 1},
                    },
                },
            ]
        }
    }

    choice: FactsChoice
    facts: MoreFacts | None = None


class Round1Form(Form, frozen=True, kw_only=True, tag="round1"):
    """Focus issues, goal and stance."""

    focus_issues: Annotated[tuple[Annotated[str, text_schema(FORM_TEXT_CHARS)], ...], distinct(FOCUS_ISSUES, 1)]
    goal: Goal
    stance: Stance
    fact_corrections: Annotated[str, text_schema(NOTE_CHARS, STORABLE)] = ""


class Round2Form(Form, frozen=True, kw_only=True, tag="round2"):
    """What to prove with which evidence and under which constraints; settlement applies to civil cases only."""

    proof_priority: Annotated[str, text_schema(FORM_TEXT_CHARS)]
    evidence_level: EvidenceLevel
    obtainable_evidence: _Texts
    settlement_interest: bool | None = None
    concession_range: Annotated[str, text_schema(FORM_TEXT_CHARS, STORABLE)] = ""
    constraints: _Texts
    instructions: Annotated[str, text_schema(NOTE_CHARS, STORABLE)] = ""


class EndForm(Form, frozen=True, kw_only=True, tag="end"):
    """How the session ends, and the style of the report."""

    resolution: Resolution
    report_style: ReportStyle
    final_instructions: Annotated[str, text_schema(FORM_TEXT_CHARS, STORABLE)] = ""


AnyForm = FactsForm | Round1Form | Round2Form | EndForm


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact with its state and source. The first letter of its id shows its origin.

    `text` is the wording of the input, `wording` a model's version of it; `quote` is the passage of an input that
    supports a proposal. `replaces` and `replaced_by` are ids; `reason` explains the latest change.
    """

    id: str
    text: str
    wording: str | None = None
    quote: str | None = None
    state: FactState = "proposed"
    source: FactSource = "model"
    evidence: tuple[str, ...] = ()
    timeline: tuple[str, ...] = ()
    replaces: str | None = None
    replaced_by: str | None = None
    reason: str | None = None


class RefusedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A model's proposal that no input supports. `particular` is the date, sum, name or law that no input contains."""

    text: str
    quote: str | None
    reason: RefusalReason
    particular: str | None


class NumberedText(msgspec.Struct, frozen=True, kw_only=True):
    """A text with its id."""

    id: str
    text: str


class EvidenceNote(msgspec.Struct, frozen=True, kw_only=True):
    """What was left out of an upload or is special in it, and how often.

    It is stored with `detail` (numbers of pages, a type) and shown with `text`, in the session's language.
    """

    kind: NoteKind
    count: int
    detail: str | UnsetType = UNSET
    text: str | UnsetType = UNSET


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of evidence, or a statute, with its id. Typed evidence has no `media_type`, an upload no `description`.

    A session shows all fields; the stored form of typed evidence has only the first three. `prompt_chars` is shown and
    not stored: the number of characters, from the beginning, that prompts contain.
    """

    id: str
    title: str
    description: str
    kind: EvidenceKind | UnsetType = UNSET
    media_type: MediaType | UnsetType | None = UNSET
    bytes: int | UnsetType | None = UNSET
    chars: int | UnsetType | None = UNSET
    pages: int | UnsetType | None = UNSET
    sha256: str | UnsetType | None = UNSET
    encoding: str | UnsetType | None = UNSET
    sure: float | UnsetType | None = UNSET
    notes: tuple[EvidenceNote, ...] | UnsetType = UNSET
    prompt_chars: int | UnsetType | None = UNSET

    @property
    def uploaded(self) -> bool:
        return bool(self.media_type)


class TimelineItem(msgspec.Struct, frozen=True, kw_only=True):
    """A timeline entry with its id."""

    id: str
    when: str
    what: str
    agreed: bool


class FactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A change of a fact, with old and new text if it was corrected. `by` is null for a model's proposal."""

    n: int
    id: str
    action: FactChange
    from_: FactState | None = msgspec.field(name="from")
    to: FactState
    old: str | None
    new: str | None
    new_id: str | None
    reason: str | None
    by: str | None
    at: str


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """A correction by the user."""

    id: str = ""
    text: str
    by: str
    at: str


class RiskAccepted(msgspec.Struct, frozen=True, kw_only=True):
    """Who accepted the risk of open questions, and when."""

    by: str
    at: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a session; `questions` are still open.

    `confirmed` facts are agreed or supported by evidence, `past` ones are superseded or withdrawn, and `refused` ones
    were proposed by a model without support in any input.
    """

    confirmed: tuple[Fact, ...] = ()
    disputed: tuple[Fact, ...] = ()
    questions: tuple[NumberedText, ...] = ()
    refused: tuple[RefusedItem, ...] = ()
    past: tuple[Fact, ...] = ()
    history: tuple[FactRecord, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    timeline: tuple[TimelineItem, ...] = ()
    corrections: tuple[Correction, ...] = ()
    risk_accepted: RiskAccepted | None = None


class SteeringSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The user's instructions, merged field by field; null and empty values are unset."""

    focus_issues: tuple[str, ...] = ()
    goal: Goal | None = None
    stance: Stance | None = None
    constraints: tuple[str, ...] = ()
    note: str = ""
    proof_priority: str = ""
    evidence_level: EvidenceLevel | None = None
    obtainable_evidence: tuple[str, ...] = ()
    settlement_interest: bool | None = None
    concession_range: str = ""
    report_style: ReportStyle | None = None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A guardrail violation: the field of the output and the sentence."""

    check: Check
    field: str
    text: str


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """A citation; `unverified`: the user did not supply it."""

    text: str
    unverified: bool


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
    """A turn started: the model was called. A retry of a failed turn starts its phase again."""

    type: ClassVar[str] = "turn_started"
    message_name: ClassVar[str] = "LegalTurnStartedMessage"
    phase: Public[str]


class AttemptMade(Event, frozen=True, kw_only=True):
    """The model runtime's record of one request; no rule depends on it."""

    type: ClassVar[str] = "attempt_made"
    phase: str
    kind: Kind
    attempt: dict[str, Any]


class GuardrailHit(Event, frozen=True, kw_only=True):
    """An output violated a guardrail and is rewritten once."""

    type: ClassVar[str] = "guardrail_hit"
    phase: Public[str]
    check: Public[Check]
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
    """A gate opened and waits for the user."""

    type: ClassVar[str] = "gate_opened"
    gate: Public[GateName]
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
    """Turns, by number, rely on a fact that is no longer valid."""

    type: ClassVar[str] = "turns_stale"
    fact_id: str
    turns: Public[tuple[int, ...]]


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
