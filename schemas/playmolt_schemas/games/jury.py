"""Messages of the AI jury: requests, answers, the session and its stream (jury.md, shapes.md)."""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.api import ModelAlias, Request, Schema
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.feed_messages import FeedMessages, SessionMessage
from playmolt_schemas.stored.jury import (
    EVENTS,
    Cause,
    Language,
    PhaseName,
    TopicImpact,
    VerdictName,
    VoteView,
)
from playmolt_schemas.stored.panels import PanelPlace
from playmolt_schemas.text import SPEECH, text_schema

Band = Literal["innocent", "leaning_innocent", "undecided", "leaning_guilty", "guilty"]

ROUNDS_WITH_JUROR: Final = 10
NOTES: Final = 3
NOTE_CHARS: Final = 200
CHAT_CHARS: Final = 4000
ID_CHARS: Final = 64
CASE_CHARS: Final = 40
DELIBERATION_ROUNDS: Final = 4


class OpenJuryRequest(Request, frozen=True, kw_only=True):
    """`POST /api/jury/sessions`."""

    language: Language
    model: ModelAlias = "scripted"
    case: Annotated[str, text_schema(CASE_CHARS, description="Id of a case. Default: the shipped case.")] | None = None


class AddCaseRequest(Request, frozen=True, kw_only=True):
    """`POST /api/jury/cases`: the files of a case, as path → text."""

    files: Annotated[dict[str, str], Meta(min_length=1)]


class PhaseRequest(Request, frozen=True, kw_only=True):
    """`POST …/phase`."""

    to: PhaseName


class TalkRequest(Request, frozen=True, kw_only=True):
    """`POST …/witnesses/{witness_id}/talk`. Without fields it returns the current state of the talk."""

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["choice", "evidence_id"],
            "properties": {"choice": {"type": "string"}, "evidence_id": {"type": "string"}},
        }
    }

    choice: (
        Annotated[str, text_schema(ID_CHARS, description="Id of a choice. Cannot be combined with `evidence_id`.")]
        | None
    ) = None
    evidence_id: (
        Annotated[str, text_schema(ID_CHARS, description="Id of an item to show. Cannot be combined with `choice`.")]
        | None
    ) = None


class ChatRequest(Request, frozen=True, kw_only=True):
    """`POST …/chat/{juror_id}`."""

    text: Annotated[str, text_schema(CHAT_CHARS, SPEECH)]


class NoteRequest(Request, frozen=True, kw_only=True):
    """`POST …/notes`."""

    juror_id: Annotated[str, text_schema(ID_CHARS)]
    text: Annotated[str, text_schema(NOTE_CHARS, SPEECH)]


# Answers of the routes


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of dialogue."""

    speaker: str
    text: str


class JurorView(msgspec.Struct, frozen=True, kw_only=True):
    """A juror as the overseer sees it; `stance` is present after the verdict, or if the operator enables it."""

    id: str
    name: str
    personality: tuple[str, ...]
    band: Band
    rounds_left: int
    stance: int | UnsetType = UNSET


class FailedVote(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of a running vote was reset and no longer has the case. `POST …/retry` opens the case again on the
    current chain and casts the same votes. `attempts` counts the checks of the chain."""

    phase: PhaseName
    code: Literal["chain_changed"] = "chain_changed"
    detail: str
    attempts: int


class JuryCase(msgspec.Struct, frozen=True, kw_only=True):
    """The case of a session; `digest` identifies its exact files."""

    id: str
    title: str
    digest: str


class JurySession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its owner sees it. `round` is the latest deliberation round, 0 before the first.

    `rounds` is the number of rounds, present if the case does not have the usual four. `panel` is the panel that plays
    the session, and its place in it. `calls_tools` is whether the model called a tool when it had to; absent until it
    was asked, and for scripted models. Jurors of a model that calls none only talk.
    """

    id: str
    gameType: Literal["jury"] = "jury"  # noqa: N815 -- the wire's spelling
    language: Language
    model: str
    version: int
    phase: PhaseName
    prologue: tuple[SpokenLine, ...]
    notes_left: int
    round: int
    rounds: int | UnsetType = UNSET
    failed: FailedVote | None = None
    case: JuryCase | None = None
    jurors: tuple[JurorView, ...]
    panel: PanelPlace | UnsetType = UNSET
    calls_tools: bool | UnsetType = UNSET


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A case that a session can use: its size, without its content.

    `by` is who uploaded it: an agent's id, "operator", or null for the shipped case, which has no `created_at`.
    """

    id: str
    title: str
    languages: tuple[Language, ...]
    jurors: int
    evidence: int
    witnesses: int
    endings: int
    digest: str
    by: str | None
    created_at: str | None
    shipped: bool


class CasesView(msgspec.Struct, frozen=True):
    """`GET /api/jury/cases`: the shipped case, the operator's cases and the caller's own. The operator sees all."""

    cases: tuple[CaseView, ...]


class CaseFault(FieldFault, frozen=True):
    """What is wrong with a file of a case: `field` is `files.PATH`, `line` is that of the table or key."""

    line: int = 1
    code: str = ""


class CaseAdded(msgspec.Struct, frozen=True, kw_only=True):
    """`POST /api/jury/cases`."""

    id: str
    title: str
    digest: str
    languages: tuple[Language, ...]


class JurySessions(msgspec.Struct, frozen=True):
    """The caller's sessions, newest first, including erased ones; or the juries of a panel."""

    sessions: tuple[Any, ...]


class UnseenJury(msgspec.Struct, frozen=True):
    """The public view of a session: empty, because only its owner may see it."""


class DossierView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/dossier`."""

    title: str
    text: str


class EvidenceListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An item in the list of evidence; a locked item has no title."""

    id: str
    locked: bool
    title: str | UnsetType = UNSET


class EvidenceList(msgspec.Struct, frozen=True):
    """`GET …/evidence`."""

    evidence: tuple[EvidenceListEntry, ...]


class EvidenceView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/evidence/{evidence_id}`."""

    id: str
    title: str
    text: str
    locked: Literal[False] = False


class WitnessListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A witness in the list."""

    id: str
    name: str
    cracked: bool


class WitnessList(msgspec.Struct, frozen=True):
    """`GET …/witnesses`."""

    witnesses: tuple[WitnessListEntry, ...]


class ChoiceView(msgspec.Struct, frozen=True, kw_only=True):
    """A choice of what the overseer can say to a witness now."""

    id: str
    text: str


class TalkView(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/talk`. `unlocked` lists the ids of evidence that this step unlocked."""

    witness_id: str
    node: str
    text: str
    choices: tuple[ChoiceView, ...]
    pressure: int
    cracked: bool
    unlocked: tuple[str, ...]
    ended: bool


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/chat/…` and `…/present/…`: the juror's reply and current band.

    `repeats` counts the earlier messages to this juror that this one repeats.
    """

    juror_id: str
    reply: str
    band: Band
    rounds_left: int
    weakness_hit: bool
    repeats: int | UnsetType = UNSET
    version: int


class NoteReply(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/notes`."""

    notes_left: int
    repeats: int | UnsetType = UNSET


class SpeechView(msgspec.Struct, frozen=True, kw_only=True):
    """A speech in a round."""

    juror_id: str
    text: str


class BandChange(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's band before and after a round; present for every juror."""

    juror_id: str
    band_before: Band
    band: Band


class RoundReply(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/deliberation/next`."""

    round: int
    leader: str
    responders: tuple[str, ...]
    speeches: tuple[SpeechView, ...]
    changes: tuple[BandChange, ...]
    phase: PhaseName


class VerdictView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/verdict`, as read from the chain; `contract`, `chain_id` and `log_hash` are null in a jury that voted
    without one. `explorer` is the URL of a block explorer with pages `/tx/HASH` and
    `/address/ADDRESS`, if the operator configured one."""

    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str | None
    chain_id: int | None
    log_hash: str | None
    explorer: str | UnsetType = UNSET


class EndingView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/ending`."""

    id: str
    verdict: VerdictName
    title: str
    text: str


# Model replies


class Classification(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of a `classify` turn."""

    topics: tuple[TopicImpact, ...]


class SpeechReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply of a `speech` turn."""

    text: str
    topics: tuple[TopicImpact, ...]


# The stream


class JuryProgressMessage(SessionMessage, frozen=True, kw_only=True, tag="progress"):
    """An event without public content."""


class JuryOpenedMessage(SessionMessage, frozen=True, kw_only=True, tag="jury_opened"):
    """The session was opened."""

    language: Language
    model: str


class WitnessTalkedMessage(SessionMessage, frozen=True, kw_only=True, tag="witness_talked"):
    """A step of a talk. `shown` is the node of the answer; `said` and `text` are question and answer."""

    witness_id: str
    choice: str | None
    evidence_id: str | None
    shown: str
    pressure: int
    cracked: bool
    said: str = ""
    text: str = ""


class StanceChangedMessage(SessionMessage, frozen=True, kw_only=True, tag="stance_changed"):
    """A message changed a juror's stance; `before` and `after` are present if the operator enables them."""

    juror_id: str
    cause: Cause
    by: str
    band_before: Band
    band: Band
    before: int | UnsetType = UNSET
    after: int | UnsetType = UNSET


class ToolCalledMessage(SessionMessage, frozen=True, kw_only=True, tag="tool_called"):
    """A juror used a tool. `input` is what it looked up; an intended vote is omitted."""

    juror_id: str
    tool: str
    input: Any = None


class VerdictReadMessage(SessionMessage, frozen=True, kw_only=True, tag="verdict_read"):
    """The verdict was read from the chain; `explorer` as in `VerdictView`."""

    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str | None
    chain_id: int | None
    log_hash: str | None
    explorer: str | UnsetType = UNSET


FEED: Final = FeedMessages(
    EVENTS,
    __name__,
    SessionMessage,
    written=(
        JuryProgressMessage,
        JuryOpenedMessage,
        WitnessTalkedMessage,
        StanceChangedMessage,
        ToolCalledMessage,
        VerdictReadMessage,
    ),
)
"""The messages of a session for its owner."""
