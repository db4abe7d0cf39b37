"""Stored events of a session. Their names and fields are the storage format: a change needs a new version."""

from typing import Any, ClassVar, Final, Literal

import msgspec
from playmolt_schemas.games.jury import Cause, FailureCode, Language, PhaseName, TopicImpact, VerdictName, VoteView
from playmolt_schemas.stored.event import Event, stored_types

from playmolt_jury.content.material import Juror, Rules
from playmolt_jury.persuasion.stance import ChangePart

TurnKind = Literal["chat", "present", "note", "speech", "vote"]
RequestKind = Literal["ask", "tool", "final", "repair"]


class EvidenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an item that the rules need."""

    id: str
    locked: bool
    topics: tuple[TopicImpact, ...]


class JuryOpened(Event, frozen=True, kw_only=True):
    """Event 1: everything that the rules of this session depend on."""

    type: ClassVar[str] = "jury_opened"
    owner: str
    name: str
    seed: str
    rules_version: int
    content_version: str
    language: Language
    model: str
    jurors: tuple[Juror, ...]
    evidence: tuple[EvidenceItem, ...]
    topics: tuple[str, ...]
    case: str
    """The id of the pack."""
    pack_digest: str
    """The digest of the pack's files."""
    rules: Rules


class PhaseChanged(Event, frozen=True, kw_only=True):
    """The session moved to another phase."""

    type: ClassVar[str] = "phase_changed"
    from_: PhaseName = msgspec.field(name="from")
    to: PhaseName


class WitnessTalked(Event, frozen=True, kw_only=True):
    """A step of a talk, from node `at` to node `node`; `shown` is the node whose text was shown."""

    type: ClassVar[str] = "witness_talked"
    witness_id: str
    at: str
    choice: str | None
    evidence_id: str | None
    shown: str
    node: str
    pressure: int
    cracked: bool


class EvidenceUnlocked(Event, frozen=True, kw_only=True):
    """A witness broke and unlocked an item."""

    type: ClassVar[str] = "evidence_unlocked"
    evidence_id: str
    witness_id: str


class EvidenceRead(Event, frozen=True, kw_only=True):
    """The overseer read an item for the first time."""

    type: ClassVar[str] = "evidence_read"
    evidence_id: str


class TurnStarted(Event, frozen=True, kw_only=True):
    """A turn waits for a model, on behalf of request `call`. It stores the person's input before a model is asked."""

    type: ClassVar[str] = "turn_started"
    call: str
    turn: TurnKind
    juror_id: str
    text: str = ""
    evidence_id: str = ""
    round: int = 0


class AttemptMade(Event, frozen=True, kw_only=True):
    """The model runtime's record of one request; no rule depends on it."""

    type: ClassVar[str] = "attempt_made"
    turn: str
    kind: RequestKind
    attempt: dict[str, Any]


class TurnFailed(Event, frozen=True, kw_only=True):
    """A model gave no usable answer; no round or note is used."""

    type: ClassVar[str] = "turn_failed"
    call: str
    turn: TurnKind
    juror_id: str
    code: FailureCode
    detail: str
    attempts: int


class OverseerSaid(Event, frozen=True, kw_only=True):
    """The overseer spoke to a juror; `topics` classify the text."""

    type: ClassVar[str] = "overseer_said"
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int
    """The number of earlier messages to this juror that it repeats."""


class EvidencePresented(Event, frozen=True, kw_only=True):
    """The overseer presented an item to a juror."""

    type: ClassVar[str] = "evidence_presented"
    juror_id: str
    evidence_id: str
    repeats: int


class JurorSaid(Event, frozen=True, kw_only=True):
    """A juror answered; the exchange uses a round."""

    type: ClassVar[str] = "juror_said"
    juror_id: str
    text: str


class NoteSent(Event, frozen=True, kw_only=True):
    """The overseer sent a secret note; `topics` classify the text."""

    type: ClassVar[str] = "note_sent"
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int


class RoundStarted(Event, frozen=True, kw_only=True):
    """A round began; the present stances are its snapshot."""

    type: ClassVar[str] = "round_started"
    round: int
    leader: str
    responders: tuple[str, ...]


class Speech(Event, frozen=True, kw_only=True):
    """A juror spoke to the others."""

    type: ClassVar[str] = "speech"
    round: int
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]


class StanceChanged(Event, frozen=True, kw_only=True):
    """The effect of a message on a juror, even if zero. `by` is "overseer" or the id of the juror who spoke."""

    type: ClassVar[str] = "stance_changed"
    juror_id: str
    cause: Cause
    by: str
    before: int
    after: int
    parts: tuple[ChangePart, ...]


class RoundEnded(Event, frozen=True, kw_only=True):
    """The influence of the round's three speeches has been applied."""

    type: ClassVar[str] = "round_ended"
    round: int


class ToolCalled(Event, frozen=True, kw_only=True):
    """A juror used a tool."""

    type: ClassVar[str] = "tool_called"
    juror_id: str
    tool: str
    input: dict[str, Any]
    result: str


class VoteCalled(Event, frozen=True, kw_only=True):
    """The overseer called the vote, possibly again after a failed turn."""

    type: ClassVar[str] = "vote_called"
    call: str


class VoteDecided(Event, frozen=True, kw_only=True):
    """A juror decided. `diverged`: it insisted on another vote or cast none, so the vote of the rules counts."""

    type: ClassVar[str] = "vote_decided"
    juror_id: str
    guilty: bool
    stance: int
    diverged: bool


class ContractDeployed(Event, frozen=True, kw_only=True):
    """The contract of the case is on the chain."""

    type: ClassVar[str] = "contract_deployed"
    contract: str
    chain_id: int
    tx_hash: str
    log_hash: str


class VoteCast(Event, frozen=True, kw_only=True):
    """A vote as read from the chain."""

    type: ClassVar[str] = "vote_cast"
    juror_id: str
    guilty: bool
    stance: int
    diverged: bool
    tx_hash: str


class VoteMissed(Event, frozen=True, kw_only=True):
    """The case closed on the chain without this vote."""

    type: ClassVar[str] = "vote_missed"
    juror_id: str


class ChainChanged(Event, frozen=True, kw_only=True):
    """The chain no longer has the case, for example because it was reset. The session waits for a retry."""

    type: ClassVar[str] = "chain_changed"
    contract: str
    chain_id: int
    detail: str
    attempts: int


class VoteRetried(Event, frozen=True, kw_only=True):
    """The overseer requested that the same votes be cast on the present chain with the same keys."""

    type: ClassVar[str] = "vote_retried"
    call: str


class VerdictRead(Event, frozen=True, kw_only=True):
    """The verdict as read from the chain."""

    type: ClassVar[str] = "verdict_read"
    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str
    chain_id: int
    log_hash: str


class Ended(Event, frozen=True, kw_only=True):
    """The session reached its ending."""

    type: ClassVar[str] = "ended"
    closes: ClassVar[bool] = True
    ending: str


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the session."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final = stored_types(
    JuryOpened,
    PhaseChanged,
    WitnessTalked,
    EvidenceUnlocked,
    EvidenceRead,
    TurnStarted,
    AttemptMade,
    TurnFailed,
    OverseerSaid,
    EvidencePresented,
    JurorSaid,
    NoteSent,
    RoundStarted,
    Speech,
    StanceChanged,
    RoundEnded,
    ToolCalled,
    VoteCalled,
    VoteDecided,
    ContractDeployed,
    VoteCast,
    VoteMissed,
    ChainChanged,
    VoteRetried,
    VerdictRead,
    Ended,
    GameAborted,
)
