"""Messages of the legal simulation: requests, forms, model replies, the session, its stream and its report."""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.api import ModelAlias, Request, Schema
from playmolt_schemas.feed_messages import FeedMessages, SessionMessage
from playmolt_schemas.stored.legal import (
    ENTRIES,
    ENTRY_CHARS,
    EVENTS,
    NARRATIVE_CHARS,
    NOTE_CHARS,
    UP_TO_ENTRIES,
    AnyForm,
    CaseType,
    Check,
    Citation,
    Correction,
    Evidence,
    EvidenceEntry,
    EvidenceKind,
    EvidenceNote,
    Fact,
    FactChange,
    FactRecord,
    Facts,
    FactState,
    FailureCode,
    GateName,
    GateStatus,
    Hit,
    Kind,
    Language,
    MediaType,
    NoteKind,
    NumberedText,
    RefusedItem,
    Side,
    SteeringSettings,
    TimelineEntry,
    TimelineItem,
    distinct,
)
from playmolt_schemas.text import LINE, STORABLE, WORDS, text_schema

Role = Literal["judge", "claimant", "opposing", "verifier"]
Constraint = Literal["decide_within_2_weeks", "budget_cap", "no_outside_counsel"]
Compliance = Literal["OK", "NOT_OK"]
FactAction = Literal["confirm", "correct", "dispute", "withdraw"]

TITLE_CHARS: Final = 200
JURISDICTION_CHARS: Final = 100
OPEN_QUESTIONS: Final = 3
"""The number of open questions from which the facts gate opens."""
FACTS_ADDED: Final = 3
"""How many times `add_facts` is accepted."""
UPLOAD_BYTES: Final = 8 * 1024 * 1024
UPLOAD_CHARS: Final = 100_000
UPLOADS: Final = 20
UPLOADS_CHARS: Final = 400_000
"""The decoded size and text of one upload; the number of uploads in a session and the total of their texts."""
UPLOAD_TEXT_BYTES: Final = 370_000
"""The size of one upload's text as JSON: sealed, it has to fit into a record."""
UPLOAD_BODY_BYTES: Final = 11 * 1024 * 1024
ENCODING_CHARS: Final = 40
PAGES_CHARS: Final = 100
MEDIA_TYPE_CHARS: Final = 200
UploadReason = Literal[
    "password", "unreadable_text", "no_text", "format", "encoding", "too_large", "unreadable", "empty", "pages",
    "base64", "too_many",
]  # fmt: skip
"""Why an upload is refused, in `errors`."""
_BASE64: Final = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$(?!\n)"


_Line = Annotated[str, text_schema(NARRATIVE_CHARS, STORABLE)]
_Lines = Annotated[list[_Line], Meta(extra_json_schema={"minItems": 1, "contains": {"pattern": WORDS}})]


class OpenSessionRequest(Request, frozen=True, kw_only=True):
    """`POST /api/sessions`. `exclusions` may be a single text; `side` is the user's own side."""

    case_type: CaseType
    jurisdiction: Annotated[str, text_schema(JURISDICTION_CHARS, LINE)]
    title: Annotated[str, text_schema(TITLE_CHARS, LINE)]
    language: Language
    exclusions: (
        Annotated[tuple[Annotated[str, text_schema(NOTE_CHARS)], ...], distinct(ENTRIES)]
        | Annotated[str, text_schema(NOTE_CHARS, STORABLE)]
    ) = ()
    model: ModelAlias = "scripted"
    side: Side = "neutral"


class FactsRequest(Request, frozen=True, kw_only=True):
    """`POST /api/sessions/{id}/facts`. All fields are required; a follow-up session keeps fields that are omitted."""

    SCHEMA: ClassVar[Schema] = {"required": ["overview", "acts", "timeline", "evidence", "opposing_claims"]}

    overview: Annotated[str, text_schema(NARRATIVE_CHARS)] | _Lines | UnsetType = UNSET
    acts: Annotated[str, text_schema(NARRATIVE_CHARS)] | _Lines | UnsetType = UNSET
    timeline: Annotated[list[TimelineEntry], UP_TO_ENTRIES] | UnsetType = UNSET
    evidence: Annotated[list[EvidenceEntry], UP_TO_ENTRIES] | UnsetType = UNSET
    opposing_claims: Annotated[str, text_schema(NARRATIVE_CHARS, STORABLE)] | list[_Line] | UnsetType = UNSET


class FactChangeRequest(Request, frozen=True, kw_only=True):
    """`POST …/facts/{fid}`. `text` is required for `correct` and not allowed otherwise."""

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "anyOf": [
                {"required": ["text"], "properties": {"action": {"enum": ["confirm", "dispute", "withdraw"]}}},
                {"properties": {"action": {"enum": ["correct"]}}, "not": {"required": ["text"]}},
            ]
        }
    }

    action: FactAction
    text: Annotated[str, text_schema(ENTRY_CHARS)] | UnsetType = UNSET
    reason: Annotated[str, text_schema(NOTE_CHARS, STORABLE)] | UnsetType = UNSET


class UploadRequest(Request, frozen=True, kw_only=True):
    """`POST …/evidence`: a PDF, DOCX or HWPX document or a text, as base64; its bytes decide which.

    `encoding` names that of a text, `pages` takes a part such as `3-9`. A file without pages has one for about 2,000
    characters.
    """

    title: Annotated[str, text_schema(TITLE_CHARS, LINE)]
    kind: EvidenceKind
    media_type: Annotated[str, text_schema(MEDIA_TYPE_CHARS, STORABLE)] | UnsetType = UNSET
    encoding: Annotated[str, text_schema(ENCODING_CHARS, STORABLE)] | UnsetType = UNSET
    pages: Annotated[str, text_schema(PAGES_CHARS, STORABLE)] | UnsetType = UNSET
    content: Annotated[
        str,
        Meta(
            min_length=4,
            max_length=(UPLOAD_BYTES + 2) // 3 * 4,
            pattern=_BASE64,
            extra_json_schema={"contentEncoding": "base64"},
        ),
    ]


ReportSection = Literal[
    "answer", "facts", "issues", "burden", "findings", "risks", "strategy", "settlement", "matrix", "marks",
    "chronology", "steering", "citations", "appendix",
]  # fmt: skip
"""The sections of a report that its owner may share."""


class ShareRequest(Request, frozen=True, kw_only=True):
    """`POST …/share`. Default: all sections."""

    sections: list[ReportSection] | UnsetType = UNSET


class RedoRequest(Request, frozen=True, kw_only=True):
    """`POST …/redo`: the numbers of stale turns. Default: all stale turns."""

    turns: list[int] | UnsetType = UNSET


# Model replies

Text = Annotated[str, Meta(min_length=1, max_length=16_000, pattern=r"\S")]
Id = Annotated[str, Meta(min_length=1, max_length=16)]
NO_CITATION: Final = "No citation"
UNKNOWN: Final = "Unknown"


class Reply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """JSON in a model's reply."""


Quote = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"\S")]


class ProposedFact(Reply, frozen=True, kw_only=True):
    """A fact that a model considers confirmed, with a verbatim quote from one input.

    It is confirmed if it names evidence; if it names an agreed timeline entry, it only rewords that entry.
    """

    text: Text
    quote: Quote | None = None
    evidence: list[Id] = []
    timeline: list[Id] = []


class QuotedText(Reply, frozen=True, kw_only=True):
    """A text with a verbatim quote from one input."""

    text: Text
    quote: Quote | None = None


class PlainText(Reply, frozen=True, kw_only=True):
    """One text."""

    text: Text


class Stipulation(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The reply of FACTS_STIPULATE."""

    confirmed_facts: list[ProposedFact]
    disputed_facts: list[QuotedText]
    missing_facts_questions: list[PlainText]


class Statement(Reply, frozen=True, kw_only=True):
    """An assertion, the ids that support it, its issue, and the points of the other side that it answers."""

    text: Text
    basis: list[Id] | Literal["Unknown"] = []
    issue: str | None = None
    answers: list[Id] | UnsetType = UNSET


class PlannedEvidence(Reply, frozen=True, kw_only=True):
    """What a piece of evidence should prove; `Unknown` is evidence that is still to be found."""

    evidence: Id
    purpose: Text


Citations = Annotated[list[Text], Meta(min_length=1)] | Literal["No citation"]
Texts = Annotated[list[Text], Meta(min_length=1)]
Statements = Annotated[list[Statement], Meta(min_length=1)]


class OpeningJudgeOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The judge's output in round 1; nothing has been argued, so the decision is reserved."""

    issues: Texts
    findings: list[Statement]
    burden_of_proof: Statements
    decision_range: Literal["reserved"]
    recommended_next_steps: Annotated[list[Text], Meta(max_length=0)]
    citations: Citations
    steering_compliance_check: Compliance


LIKELIHOOD_LEAST: Final = 5
LIKELIHOOD_MOST: Final = 95
LIKELIHOOD_WIDTH: Final = 10
"""Bounds of an estimate in percent, and its minimum width."""


class Likelihood(Reply, frozen=True, kw_only=True):
    """How likely the user's side wins, in percent, and the ids that support the estimate."""

    low: Annotated[int, Meta(ge=LIKELIHOOD_LEAST, le=LIKELIHOOD_MOST)]
    high: Annotated[int, Meta(ge=LIKELIHOOD_LEAST, le=LIKELIHOOD_MOST)]
    text: Text
    basis: Annotated[list[Id], Meta(min_length=1)]


class JudgeOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The judge's output from round 2 on. An invalid `Likelihood` is accepted and omitted."""

    issues: Texts
    findings: Statements
    burden_of_proof: Statements
    decision_range: Text
    recommended_next_steps: Texts
    citations: Citations
    likelihood: Any = UNSET
    steering_compliance_check: Compliance


class ClaimantOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The output of the prosecutor or the plaintiff's counsel."""

    claims: Statements
    legal_elements: Statements
    evidence_plan: Annotated[list[PlannedEvidence], Meta(min_length=1)]
    weak_points: Annotated[list[Statement], Meta(min_length=1, max_length=2)]
    steering_compliance_check: Compliance


class DefenceOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The output of the defence counsel in a criminal case."""

    counter_arguments: Statements
    disproof_plan: Statements
    procedural_risks: Statements
    steering_compliance_check: Compliance


class DefendantOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The output of the defendant's counsel in a civil case."""

    counter_arguments: Statements
    disproof_plan: Statements
    procedural_risks: Statements
    settlement_options: Annotated[list[Statement], Meta(min_length=2, max_length=3)]
    steering_compliance_check: Compliance


class VerifierOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The verifier's output. An invalid `GateStatus` is accepted and counts as Conditional."""

    gate_status: Any
    steering_compliance: Compliance
    unsupported_claims: list[Text]
    missing_evidence: list[Text]
    next_round_focus: list[Text]
    steering_compliance_check: Compliance


class FinalOutput(Reply, frozen=True, kw_only=True, rename="pascal"):
    """The answer to the final instructions, and which of them cannot be followed."""

    answer: Statements
    not_followed: list[Text]
    steering_compliance_check: Compliance


# The session


class UploadNote(msgspec.Struct, frozen=True, kw_only=True):
    """What was left out of an upload or is special in it, in the session's language."""

    kind: NoteKind
    count: int
    text: str


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """An upload: `chars` is the length of its text, `pages` the number of pages of a PDF.

    `encoding` is that of a text, and `sure`, from 0 to 1, how certain it is. `bytes` and `sha256` are those of the
    file. Prompts contain the first `prompt_chars` characters.
    """

    id: str
    kind: EvidenceKind
    title: str
    media_type: MediaType
    bytes: int
    chars: int
    pages: int | None
    sha256: str
    encoding: str | None
    sure: float | None
    notes: tuple[UploadNote, ...]
    prompt_chars: int


class UploadText(Upload, frozen=True, kw_only=True):
    """An upload with its text. With `?dry=1` it is not stored."""

    text: str


class ReadUpload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An upload after the gateway extracted its text, as passed to the engine."""

    title: Annotated[str, Meta(min_length=1, max_length=TITLE_CHARS)]
    kind: EvidenceKind
    media_type: MediaType
    text: Annotated[str, Meta(min_length=1, max_length=UPLOAD_CHARS)]
    bytes: int
    pages: int | None
    sha256: str
    encoding: str | None = None
    sure: float | None = None
    notes: tuple[EvidenceNote, ...] = ()


class SteeringVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of the steering: who set it, and when."""

    version: int
    steering: SteeringSettings
    by: str
    at: str


class EarlierOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The previous output of a redone turn, the facts that made it stale, and when it was replaced."""

    output: Any
    stale: tuple[str, ...]
    at: str


class SessionTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded turn. `draft` is the first output if it was rewritten, `hits` are the violations in it.

    `unverified` lists statutes and case numbers that the user did not supply; absent if there are none. `stale` lists
    facts that it relied on and that are no longer valid; `redone` counts the repetitions, and `earlier` contains the
    previous outputs. `points` are what the other side has to answer.
    """

    n: int
    phase: str
    role: Role
    title: str
    round: int
    output: Any
    draft: Any
    hits: tuple[Hit, ...]
    unresolved: tuple[Hit, ...]
    warnings: tuple[Hit, ...]
    citations: tuple[Citation, ...] | UnsetType = UNSET
    gate_status: GateStatus | UnsetType = UNSET
    unverified: tuple[str, ...] | UnsetType = UNSET
    stale: tuple[str, ...] = ()
    redone: int = 0
    earlier: tuple[EarlierOutput, ...] = ()
    points: tuple[NumberedText, ...] = ()


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The open gate; `schema` is the JSON Schema of its form, `focus` what the verifier suggests to address."""

    name: GateName
    banner: str | None
    missing_evidence: tuple[NumberedText, ...]
    checklist: tuple[NumberedText, ...]
    issues: tuple[str, ...]
    focus: tuple[str, ...]
    refused: tuple[RefusedItem, ...] = ()
    facts_to_settle: tuple[str, ...] = ()
    schema: dict[str, Any]


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A failed turn and the reason; `POST …/retry` repeats it."""

    phase: str
    code: FailureCode
    detail: str
    attempts: int


class FinalTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The last turn, which answers the instructions of the end form. It can be retried if it failed."""

    instructions: str
    status: Literal["asked", "done", "failed"]


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its owner sees it."""

    id: str
    case_type: CaseType
    jurisdiction: str
    title: str
    language: Language
    exclusions: tuple[str, ...]
    model: str
    side: Side = "neutral"
    created_at: str
    version: int
    phase: str
    facts: Facts
    steering: SteeringSettings
    steering_history: tuple[SteeringVersion, ...]
    turns: tuple[SessionTurn, ...]
    gate: Gate | None
    failed: Failed | None
    final: FinalTurn | None = None
    previous_session: str | None
    next_session: str | None


class Sessions(msgspec.Struct, frozen=True):
    """`GET /api/sessions`: the caller's sessions, including erased ones."""

    sessions: list[Any]


class Unseen(msgspec.Struct, frozen=True):
    """The public view of a session: empty, because only its owner may see it."""


# The stream


class LegalProgressMessage(SessionMessage, frozen=True, kw_only=True, tag="progress"):
    """An event without public content."""


class TurnDoneMessage(SessionMessage, frozen=True, kw_only=True, tag="turn_done"):
    """A turn was recorded; `unverified` as in `SessionTurn`."""

    phase: str
    output: Any
    unverified: tuple[str, ...] | UnsetType = UNSET


class LegalTurnFailedMessage(SessionMessage, frozen=True, kw_only=True, tag="turn_failed"):
    """A turn failed; it can be retried."""

    phase: str
    code: FailureCode | UnsetType = UNSET
    detail: str | UnsetType = UNSET
    attempts: int | UnsetType = UNSET


class FactChangedMessage(SessionMessage, frozen=True, kw_only=True, tag="fact_changed"):
    """A fact was confirmed, corrected, disputed, withdrawn or questioned; `new_id` replaces it."""

    fact_id: str
    action: FactChange
    state: FactState
    new_id: str | None


class EvidenceAddedMessage(SessionMessage, frozen=True, kw_only=True, tag="evidence_added"):
    """Evidence was uploaded."""

    evidence_id: str


class SessionDoneMessage(SessionMessage, frozen=True, kw_only=True, tag="session_done"):
    """The session ended; the stream closes."""


class SpeakingMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="speaking"):
    """Text of a role while the model generates it. It is not stored, parts may be lost; `turn_done` has the whole text.

    `n` counts from 1 within one output and restarts with another `kind` or attempt.
    """

    session_id: str
    phase: str
    kind: Kind
    n: int
    delta: str


FEED: Final = FeedMessages(
    EVENTS,
    __name__,
    SessionMessage,
    written=(
        LegalProgressMessage,
        TurnDoneMessage,
        LegalTurnFailedMessage,
        FactChangedMessage,
        EvidenceAddedMessage,
        SessionDoneMessage,
    ),
)
"""The messages of a session for its owner."""


# The report


class Parties(msgspec.Struct, frozen=True, kw_only=True):
    """Who represents each side."""

    claimant: str
    opposing: str


class ReportCase(msgspec.Struct, frozen=True, kw_only=True):
    """The case of a report."""

    title: str
    case_type: CaseType
    jurisdiction: str
    parties: Parties


class ReportFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts by state, and their history."""

    confirmed: tuple[Fact, ...]
    disputed: tuple[Fact, ...]
    unknown: tuple[NumberedText, ...]
    past: tuple[Fact, ...]
    history: tuple[FactRecord, ...] = ()


class BestCases(msgspec.Struct, frozen=True, kw_only=True):
    """Each side's best case."""

    claimant: tuple[Statement, ...]
    opposing: tuple[Statement, ...]


class EvidenceMatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """A fact, the evidence or timeline id that supports it, and the roles that rely on either."""

    fact: str | None
    evidence: str
    relied_on_by: tuple[Role, ...]


class GateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A gate, the submitted form, and what the gate showed."""

    gate: GateName
    form: AnyForm
    by: str
    at: str
    banner: str | None = None
    missing_evidence: tuple[NumberedText, ...] = ()
    checklist: tuple[NumberedText, ...] = ()


class ReportedHit(msgspec.Struct, frozen=True, kw_only=True):
    """A guardrail violation; `unresolved`: the rewrite did not fix it."""

    phase: str
    check: Check
    field: str
    text: str
    unresolved: bool


class NoGo(msgspec.Struct, frozen=True, kw_only=True):
    """Why round 3 was skipped, and exactly two alternatives."""

    reasons: tuple[str, ...]
    alternatives: tuple[str, str]


class StaleTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that relied on facts that are no longer valid, and was not redone."""

    phase: str
    facts: tuple[str, ...]


class SideLikelihood(Likelihood, frozen=True, kw_only=True):
    """An estimate and the side that it is for."""

    side: Side


class PageOne(msgspec.Struct, frozen=True, kw_only=True):
    """The summary on page one; `decisive` contains ids of facts."""

    question: str
    outcome: str
    likelihood: SideLikelihood | None
    decisive: tuple[str, ...]
    gaps: tuple[str, ...]
    next_steps: tuple[str, ...]


class Argument(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of each side on an issue."""

    issue: str
    claimant: tuple[Statement, ...]
    opposing: tuple[Statement, ...]


class Burden(msgspec.Struct, frozen=True, kw_only=True):
    """The standard of proof, the judge's finding on the burden, and the ids that support it."""

    standard: str
    text: str
    basis: tuple[str, ...]


class VerifiedRound(msgspec.Struct, frozen=True, kw_only=True):
    """The verifier's findings in a round."""

    round: int
    status: GateStatus
    unsupported: tuple[str, ...]
    missing: tuple[str, ...]
    unanswered: tuple[NumberedText, ...]
    stale: tuple[StaleTurn, ...]


class ChronologyEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the chronology, oldest first; entries without a date come last.

    `date` is `2024-03-05`, `2024-03`, `2024`, or "" if unknown. `inferred_from` names the entry that supplied what
    `when` leaves out of it, null if nothing.
    """

    id: str
    when: str
    what: str
    date: str
    inferred_from: str | None


class ReportedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """The full text of a turn; `draft` is the discarded first output."""

    phase: str
    title: str
    output: Any
    draft: Any


class FinalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the last turn to the final instructions."""

    answer: tuple[Statement, ...]
    not_followed: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """`GET /api/sessions/{id}/report`. `unverified` lists statutes and case numbers that no input contains.

    `evidence`, `timeline` and `corrections` are the user's input, so that a reader can resolve ids.
    """

    language: Language
    case: ReportCase
    facts: ReportFacts
    evidence: tuple[Evidence, ...]
    timeline: tuple[TimelineItem, ...]
    corrections: tuple[Correction, ...]
    issues: tuple[str, ...]
    best_cases: BestCases
    findings: tuple[Statement, ...]
    decision_range: str
    evidence_matrix: tuple[EvidenceMatrixRow, ...]
    risks: tuple[Statement, ...]
    strategy: tuple[Statement, ...]
    settlement: tuple[Statement, ...]
    order: tuple[str, str, str]
    gate_history: tuple[GateEntry, ...]
    guardrail_hits: tuple[ReportedHit, ...]
    no_go: NoGo | None
    next_steps: tuple[str, ...]
    citations: tuple[Citation, ...]
    unverified: tuple[str, ...]
    refused: tuple[RefusedItem, ...]
    stale: tuple[StaleTurn, ...]
    side: Side
    likelihood: SideLikelihood | None
    disclaimer: str
    page_one: PageOne
    arguments: tuple[Argument, ...]
    burden: Burden
    verifier: tuple[VerifiedRound, ...]
    chronology: tuple[ChronologyEntry, ...]
    steering: SteeringSettings
    final: FinalAnswer | None
    final_failed: bool
    """Whether the last turn failed to answer the final instructions."""
    appendix: tuple[ReportedTurn, ...]
    ended_at: str
