"""Messages of the AI jury: bodies, what the calls answer, the session, its stream (jury.md, shapes.md)."""

from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.api import ModelAlias, Request, Schema
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.game_messages import SessionMessage
from playmolt_schemas.text import SPEECH, told

Language = Literal["en", "zh", "ko"]
PhaseName = Literal["prologue", "investigation", "persuasion", "deliberation", "vote", "ended", "aborted"]
Band = Literal["innocent", "leaning_innocent", "undecided", "leaning_guilty", "guilty"]
Impact = Literal["positive", "neutral", "negative"]
VerdictName = Literal["guilty", "not_guilty"]
Cause = Literal["chat", "evidence", "note", "speech", "weakness"]
FailureCode = Literal["model_unavailable", "invalid_reply", "refused", "budget_spent"]

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
    case: Annotated[str, told(CASE_CHARS, description="The id of a case; left out: the shipped one.")] | None = None


class AddCaseRequest(Request, frozen=True, kw_only=True):
    """`POST /api/jury/cases`: the files of a pack, path to text."""

    files: Annotated[dict[str, str], Meta(min_length=1)]


class PhaseRequest(Request, frozen=True, kw_only=True):
    """`POST …/phase`."""

    to: PhaseName


class TalkRequest(Request, frozen=True, kw_only=True, omit_defaults=True):
    """`POST …/witnesses/{witness_id}/talk`: nothing shows where the talk stands; else one of the two."""

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["choice", "evidence_id"],
            "properties": {"choice": {"type": "string"}, "evidence_id": {"type": "string"}},
        }
    }

    choice: Annotated[str, told(ID_CHARS, description="Goes without `evidence_id`.")] | None = None
    evidence_id: Annotated[str, told(ID_CHARS, description="Goes without `choice`.")] | None = None


class ChatRequest(Request, frozen=True, kw_only=True):
    """`POST …/chat/{juror_id}`."""

    text: Annotated[str, told(CHAT_CHARS, SPEECH)]


class NoteRequest(Request, frozen=True, kw_only=True):
    """`POST …/notes`."""

    juror_id: Annotated[str, told(ID_CHARS)]
    text: Annotated[str, told(NOTE_CHARS, SPEECH)]


# What the calls answer


class SpokenLine(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody says something."""

    speaker: str
    text: str


class JurorView(msgspec.Struct, frozen=True, kw_only=True):
    """A juror as the overseer sees it; `stance` is there after the verdict, or where an operator shows it."""

    id: str
    name: str
    personality: tuple[str, ...]
    band: Band
    rounds_left: int
    stance: int | UnsetType = UNSET


class FailedVote(msgspec.Struct, frozen=True, kw_only=True):
    """The chain of a running vote began anew: the case that was opened is not on it. `POST …/retry` has it opened, and
    the same votes cast, on the chain there is now. `attempts` counts the looks at the chain."""

    phase: PhaseName
    code: Literal["chain_changed"] = "chain_changed"
    detail: str
    attempts: int


class JuryCase(msgspec.Struct, frozen=True, kw_only=True):
    """Which case a session plays; `digest` names its very files."""

    id: str
    title: str
    digest: str


class JurySession(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its owner sees it. `round` is the deliberation round begun last, 0 before the first.

    `rounds`, how many there are, is told where a case has not the usual four.
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


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A case that a session may name: how large it is, and nothing of what stands in it.

    `by` is who brought it: an agent's id, "operator", or null for the shipped one, which has no `created_at` either.
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
    """`GET /api/jury/cases`: the shipped case, the operator's, and the caller's own; the operator sees all."""

    cases: tuple[CaseView, ...]


class CaseFault(FieldFault, frozen=True):
    """What is wrong with a file of a case: `field` is `files.PATH`, `line` that of the table or key."""

    line: int = 1
    code: str = ""


class CaseAdded(msgspec.Struct, frozen=True, kw_only=True):
    """`POST /api/jury/cases`."""

    id: str
    title: str
    digest: str
    languages: tuple[Language, ...]


class JurySessions(msgspec.Struct, frozen=True):
    """The caller's sessions, newest first, and what is left of erased ones."""

    sessions: tuple[Any, ...]


class UnseenJury(msgspec.Struct, frozen=True):
    """A session as anybody but its owner sees it: not at all."""


class DossierView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/dossier`."""

    title: str
    text: str


class EvidenceListEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An item of the list; a locked one has no title."""

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
    """A witness of the list."""

    id: str
    name: str
    cracked: bool


class WitnessList(msgspec.Struct, frozen=True):
    """`GET …/witnesses`."""

    witnesses: tuple[WitnessListEntry, ...]


class ChoiceView(msgspec.Struct, frozen=True, kw_only=True):
    """What the overseer may say to a witness now."""

    id: str
    text: str


class TalkView(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/talk`. `unlocked` are the ids that this step opened."""

    witness_id: str
    node: str
    text: str
    choices: tuple[ChoiceView, ...]
    pressure: int
    cracked: bool
    unlocked: tuple[str, ...]
    ended: bool


class ChatReply(msgspec.Struct, frozen=True, kw_only=True):
    """`POST …/chat/…` and `…/present/…`: what the juror said and where it stands now.

    `repeats`: how many earlier messages to this juror it repeats.
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
    """One speech of a round."""

    juror_id: str
    text: str


class BandChange(msgspec.Struct, frozen=True, kw_only=True):
    """A juror before and after a round; every juror has one, moved or not."""

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


class VoteView(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote as the chain has it; `guilty` is null and `tx_hash` empty when the case closed without it."""

    juror_id: str
    guilty: bool | None
    stance: int
    tx_hash: str
    address: str


class VerdictView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/verdict`, as read back from the chain. `explorer`, where the operator named one: the address of a block
    explorer with pages `/tx/HASH` and `/address/ADDRESS`."""

    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str
    chain_id: int
    log_hash: str
    explorer: str | UnsetType = UNSET


class EndingView(msgspec.Struct, frozen=True, kw_only=True):
    """`GET …/ending`."""

    id: str
    verdict: VerdictName
    title: str
    text: str


# What a model answers


class TopicImpact(msgspec.Struct, frozen=True, kw_only=True):
    """How a text bears on a topic."""

    topic: str
    impact: Impact


class Classification(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a `classify` turn."""

    topics: tuple[TopicImpact, ...]


class SpeechReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a `speech` turn."""

    text: str
    topics: tuple[TopicImpact, ...]


# The stream


class JuryProgressMessage(SessionMessage, frozen=True, kw_only=True, tag="progress"):
    """Something happened that has nothing to tell."""


class JuryOpenedMessage(SessionMessage, frozen=True, kw_only=True, tag="jury_opened"):
    """The session is open."""

    language: Language
    model: str


class PhaseChangedMessage(SessionMessage, frozen=True, kw_only=True, tag="phase_changed"):
    """The session went on, or back."""

    from_: PhaseName = msgspec.field(name="from")
    to: PhaseName


class WitnessTalkedMessage(SessionMessage, frozen=True, kw_only=True, tag="witness_talked"):
    """A step of a talk; `shown` is the node whose text was shown, `said` and `text` what was asked and answered."""

    witness_id: str
    choice: str | None
    evidence_id: str | None
    shown: str
    pressure: int
    cracked: bool
    said: str = ""
    text: str = ""


class EvidenceUnlockedMessage(SessionMessage, frozen=True, kw_only=True, tag="evidence_unlocked"):
    """A witness broke and opened an item."""

    evidence_id: str
    witness_id: str


class EvidenceReadMessage(SessionMessage, frozen=True, kw_only=True, tag="evidence_read"):
    """The overseer read an item for the first time."""

    evidence_id: str


class JuryTurnStartedMessage(SessionMessage, frozen=True, kw_only=True, tag="turn_started"):
    """A model is asked; `turn` is chat, present, note, speech or vote."""

    turn: str
    juror_id: str


class JuryTurnFailedMessage(SessionMessage, frozen=True, kw_only=True, tag="turn_failed"):
    """A model gave no usable answer; nothing is used up."""

    turn: str
    juror_id: str
    code: FailureCode


class OverseerSaidMessage(SessionMessage, frozen=True, kw_only=True, tag="overseer_said"):
    """The overseer spoke to a juror."""

    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int = 0


class EvidencePresentedMessage(SessionMessage, frozen=True, kw_only=True, tag="evidence_presented"):
    """The overseer put an item before a juror."""

    juror_id: str
    evidence_id: str
    repeats: int = 0


class JurorSaidMessage(SessionMessage, frozen=True, kw_only=True, tag="juror_said"):
    """A juror answered the overseer."""

    juror_id: str
    text: str


class NoteSentMessage(SessionMessage, frozen=True, kw_only=True, tag="note_sent"):
    """The overseer sent a secret note."""

    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int = 0


class RoundStartedMessage(SessionMessage, frozen=True, kw_only=True, tag="round_started"):
    """A round of deliberation began."""

    round: int
    leader: str
    responders: tuple[str, ...]


class SpeechMessage(SessionMessage, frozen=True, kw_only=True, tag="speech"):
    """A juror spoke to the others."""

    round: int
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]


class RoundEndedMessage(SessionMessage, frozen=True, kw_only=True, tag="round_ended"):
    """A round is over, and its influence applied."""

    round: int


class StanceChangedMessage(SessionMessage, frozen=True, kw_only=True, tag="stance_changed"):
    """What a message did to a juror; the numbers are there where an operator shows them."""

    juror_id: str
    cause: Cause
    by: str
    band_before: Band
    band: Band
    before: int | UnsetType = UNSET
    after: int | UnsetType = UNSET


class ToolCalledMessage(SessionMessage, frozen=True, kw_only=True, tag="tool_called"):
    """A juror used a tool; what it looked up is there, how it meant to vote is not."""

    juror_id: str
    tool: str
    input: Any = None


class VoteDecidedMessage(SessionMessage, frozen=True, kw_only=True, tag="vote_decided"):
    """A juror has made up its mind; its vote is on the way to the chain."""

    juror_id: str


class ContractDeployedMessage(SessionMessage, frozen=True, kw_only=True, tag="contract_deployed"):
    """The case stands on the chain."""

    contract: str
    chain_id: int
    tx_hash: str
    log_hash: str


class VoteCastMessage(SessionMessage, frozen=True, kw_only=True, tag="vote_cast"):
    """A vote stands on the chain."""

    juror_id: str
    guilty: bool
    tx_hash: str


class VoteMissedMessage(SessionMessage, frozen=True, kw_only=True, tag="vote_missed"):
    """The case closed before this vote."""

    juror_id: str


class ChainChangedMessage(SessionMessage, frozen=True, kw_only=True, tag="chain_changed"):
    """The chain no longer has the case; the vote waits for a retry."""

    contract: str
    chain_id: int


class VoteRetriedMessage(SessionMessage, frozen=True, kw_only=True, tag="vote_retried"):
    """The same votes are cast again, on the chain there is now."""


class VerdictReadMessage(SessionMessage, frozen=True, kw_only=True, tag="verdict_read"):
    """The verdict, as read back from the chain; `explorer` as in `VerdictView`."""

    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str
    chain_id: int
    log_hash: str
    explorer: str | UnsetType = UNSET


class EndedMessage(SessionMessage, frozen=True, kw_only=True, tag="ended"):
    """The story is over; the stream ends."""

    ending: str


class JuryAbortedMessage(SessionMessage, frozen=True, kw_only=True, tag="game_aborted"):
    """The operator ended the session; the stream ends."""

    reason: str


JuryMessage = (
    JuryProgressMessage
    | JuryOpenedMessage
    | PhaseChangedMessage
    | WitnessTalkedMessage
    | EvidenceUnlockedMessage
    | EvidenceReadMessage
    | JuryTurnStartedMessage
    | JuryTurnFailedMessage
    | OverseerSaidMessage
    | EvidencePresentedMessage
    | JurorSaidMessage
    | NoteSentMessage
    | RoundStartedMessage
    | SpeechMessage
    | RoundEndedMessage
    | StanceChangedMessage
    | ToolCalledMessage
    | VoteDecidedMessage
    | ContractDeployedMessage
    | VoteCastMessage
    | VoteMissedMessage
    | ChainChangedMessage
    | VoteRetriedMessage
    | VerdictReadMessage
    | EndedMessage
    | JuryAbortedMessage
)
"""Every message of a session's stream."""
