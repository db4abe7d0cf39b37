"""The stored events of a jury session, and what they hold. Their names and fields are the storage format.

`jury_opened` and `stance_changed` hold values of the engine and are declared there.
"""

from typing import Any, ClassVar, Final, Literal

import msgspec

from playmolt_schemas.stored.event import Event, Public, Text, stored_types

Language = Literal["en", "zh", "ko"]
PhaseName = Literal["prologue", "investigation", "persuasion", "deliberation", "vote", "ended", "aborted"]
VerdictName = Literal["guilty", "not_guilty"]
Cause = Literal["chat", "evidence", "note", "speech", "weakness"]
FailureCode = Literal["model_unavailable", "invalid_reply", "refused", "budget_spent"]
Impact = Literal["positive", "neutral", "negative"]
TurnKind = Literal["chat", "present", "note", "speech", "vote"]
RequestKind = Literal["ask", "tool", "final", "repair", "probe"]


class TopicImpact(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a text on a topic."""

    topic: str
    impact: Impact


class VoteView(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote on the chain; `guilty` is null and `tx_hash` empty if the case closed without it.

    `tx_hash` and `address` are null in a jury that voted without a chain.
    """

    juror_id: str
    guilty: bool | None
    stance: int
    tx_hash: str | None
    address: str | None


class EvidenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an item that the rules need."""

    id: str
    locked: bool
    topics: tuple[TopicImpact, ...]


class PhaseChanged(Event, frozen=True, kw_only=True):
    """The session moved to another phase."""

    type: ClassVar[str] = "phase_changed"
    from_: Public[PhaseName] = msgspec.field(name="from")
    to: Public[PhaseName]


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
    """A witness cracked and unlocked an item."""

    type: ClassVar[str] = "evidence_unlocked"
    evidence_id: Public[str]
    witness_id: Public[str]


class EvidenceRead(Event, frozen=True, kw_only=True):
    """The overseer read an item for the first time."""

    type: ClassVar[str] = "evidence_read"
    evidence_id: Public[str]


class TurnStarted(Event, frozen=True, kw_only=True):
    """A model was called; `turn` is chat, present, note, speech or vote."""

    type: ClassVar[str] = "turn_started"
    message_name: ClassVar[str] = "JuryTurnStartedMessage"
    call: str
    turn: Public[TurnKind]
    juror_id: Public[str]
    text: Text = ""
    evidence_id: str = ""
    round: int = 0


class AttemptMade(Event, frozen=True, kw_only=True):
    """The model runtime's record of one request; no rule depends on it."""

    type: ClassVar[str] = "attempt_made"
    turn: str
    kind: RequestKind
    attempt: dict[str, Any]


class TurnFailed(Event, frozen=True, kw_only=True):
    """A model gave no usable reply; no round or note is consumed."""

    type: ClassVar[str] = "turn_failed"
    message_name: ClassVar[str] = "JuryTurnFailedMessage"
    call: str
    turn: Public[TurnKind]
    juror_id: Public[str]
    code: Public[FailureCode]
    detail: str
    attempts: int


class ToolsProbed(Event, frozen=True, kw_only=True):
    """The session's model was asked once to call a tool. `calls_tools` is null if it gave no answer."""

    type: ClassVar[str] = "tools_probed"
    calls_tools: Public[bool | None]


class OverseerSaid(Event, frozen=True, kw_only=True):
    """The overseer spoke to a juror."""

    type: ClassVar[str] = "overseer_said"
    juror_id: Public[str]
    text: Public[Text]
    topics: Public[tuple[TopicImpact, ...]]
    repeats: Public[int]
    """The number of earlier messages to this juror that it repeats."""


class EvidencePresented(Event, frozen=True, kw_only=True):
    """The overseer showed an item to a juror."""

    type: ClassVar[str] = "evidence_presented"
    juror_id: Public[str]
    evidence_id: Public[str]
    repeats: Public[int]


class JurorSaid(Event, frozen=True, kw_only=True):
    """A juror replied to the overseer."""

    type: ClassVar[str] = "juror_said"
    juror_id: Public[str]
    text: Public[Text]


class NoteSent(Event, frozen=True, kw_only=True):
    """The overseer sent a secret note."""

    type: ClassVar[str] = "note_sent"
    juror_id: Public[str]
    text: Public[Text]
    topics: Public[tuple[TopicImpact, ...]]
    repeats: Public[int]


class RoundStarted(Event, frozen=True, kw_only=True):
    """A round of deliberation began."""

    type: ClassVar[str] = "round_started"
    round: Public[int]
    leader: Public[str]
    responders: Public[tuple[str, ...]]


class Speech(Event, frozen=True, kw_only=True):
    """A juror spoke to the other jurors."""

    type: ClassVar[str] = "speech"
    round: Public[int]
    juror_id: Public[str]
    text: Public[Text]
    topics: Public[tuple[TopicImpact, ...]]


class RoundEnded(Event, frozen=True, kw_only=True):
    """A round ended and its influence was applied."""

    type: ClassVar[str] = "round_ended"
    round: Public[int]


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
    """A juror decided; its vote is being sent to the chain."""

    type: ClassVar[str] = "vote_decided"
    juror_id: Public[str]
    guilty: bool
    stance: int
    diverged: bool


class ContractDeployed(Event, frozen=True, kw_only=True):
    """The contract of the case was deployed on the chain."""

    type: ClassVar[str] = "contract_deployed"
    contract: Public[str]
    chain_id: Public[int]
    tx_hash: Public[str]
    log_hash: Public[str]


class VoteCast(Event, frozen=True, kw_only=True):
    """A vote was recorded on the chain."""

    type: ClassVar[str] = "vote_cast"
    juror_id: Public[str]
    guilty: Public[bool]
    stance: int
    diverged: bool
    tx_hash: Public[str]


class VoteMissed(Event, frozen=True, kw_only=True):
    """The case closed before this vote."""

    type: ClassVar[str] = "vote_missed"
    juror_id: Public[str]


class ChainChanged(Event, frozen=True, kw_only=True):
    """The chain no longer has the case; the vote waits for a retry."""

    type: ClassVar[str] = "chain_changed"
    contract: Public[str]
    chain_id: Public[int]
    detail: str
    attempts: int


class VoteRetried(Event, frozen=True, kw_only=True):
    """The same votes are being cast again, on the current chain."""

    type: ClassVar[str] = "vote_retried"
    message_name: ClassVar[str] = "VoteRetriedMessage"
    call: str


class VerdictRead(Event, frozen=True, kw_only=True):
    """The verdict as read from the chain; that of the rule, with nulls, in a jury that voted without one."""

    type: ClassVar[str] = "verdict_read"
    verdict: VerdictName
    guilty: int
    not_guilty: int
    votes: tuple[VoteView, ...]
    contract: str | None
    chain_id: int | None
    log_hash: str | None


class Ended(Event, frozen=True, kw_only=True):
    """The story ended; the stream closes."""

    type: ClassVar[str] = "ended"
    closes: ClassVar[bool] = True
    ending: Public[str]


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the session; the stream closes."""

    type: ClassVar[str] = "game_aborted"
    message_name: ClassVar[str] = "JuryAbortedMessage"
    closes: ClassVar[bool] = True
    reason: Public[str]


EVENTS: Final = stored_types(
    PhaseChanged,
    WitnessTalked,
    EvidenceUnlocked,
    EvidenceRead,
    TurnStarted,
    AttemptMade,
    TurnFailed,
    ToolsProbed,
    OverseerSaid,
    EvidencePresented,
    JurorSaid,
    NoteSent,
    RoundStarted,
    Speech,
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
