"""What the log of a session holds. Names and fields are stored for ever: change one, and add a version."""

from typing import Any, ClassVar, Final, Literal

import msgspec
from playmolt_core.game.decider import Event, stored_types
from playmolt_schemas.games.jury import Cause, FailureCode, Language, PhaseName, TopicImpact, VerdictName, VoteView

from playmolt_jury.content.material import Juror, Rules
from playmolt_jury.persuasion.stance import ChangePart

TurnKind = Literal["chat", "present", "note", "speech", "vote"]
RequestKind = Literal["ask", "tool", "final", "repair"]


class EvidenceItem(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules need of an item."""

    id: str
    locked: bool
    topics: tuple[TopicImpact, ...]


class JuryOpened(Event, frozen=True, kw_only=True):
    """Event 1: all that the rules of this session follow from."""

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
    """The session went on, or back."""

    type: ClassVar[str] = "phase_changed"
    from_: PhaseName = msgspec.field(name="from")
    to: PhaseName


class WitnessTalked(Event, frozen=True, kw_only=True):
    """A step of a talk: it stood `at` a node, `shown` is the node whose text was shown, and it stands at `node` now."""

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
    """A witness broke and opened an item."""

    type: ClassVar[str] = "evidence_unlocked"
    evidence_id: str
    witness_id: str


class EvidenceRead(Event, frozen=True, kw_only=True):
    """The overseer read an item for the first time."""

    type: ClassVar[str] = "evidence_read"
    evidence_id: str


class TurnStarted(Event, frozen=True, kw_only=True):
    """A turn waits for a model, for the call of this id. What the person gave stands here before anybody is asked."""

    type: ClassVar[str] = "turn_started"
    call: str
    turn: TurnKind
    juror_id: str
    text: str = ""
    evidence_id: str = ""
    round: int = 0


class AttemptMade(Event, frozen=True, kw_only=True):
    """One request to a model, as the model runtime describes it; it decides nothing."""

    type: ClassVar[str] = "attempt_made"
    turn: str
    kind: RequestKind
    attempt: dict[str, Any]


class TurnFailed(Event, frozen=True, kw_only=True):
    """A model gave no usable answer; nothing is used up."""

    type: ClassVar[str] = "turn_failed"
    call: str
    turn: TurnKind
    juror_id: str
    code: FailureCode
    detail: str
    attempts: int


class OverseerSaid(Event, frozen=True, kw_only=True):
    """The overseer spoke to a juror, and what it was about."""

    type: ClassVar[str] = "overseer_said"
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int
    """The number of earlier messages to this juror that it repeats."""


class EvidencePresented(Event, frozen=True, kw_only=True):
    """The overseer put an item before a juror."""

    type: ClassVar[str] = "evidence_presented"
    juror_id: str
    evidence_id: str
    repeats: int


class JurorSaid(Event, frozen=True, kw_only=True):
    """A juror answered; the exchange takes a round."""

    type: ClassVar[str] = "juror_said"
    juror_id: str
    text: str


class NoteSent(Event, frozen=True, kw_only=True):
    """A secret note, and what it was about."""

    type: ClassVar[str] = "note_sent"
    juror_id: str
    text: str
    topics: tuple[TopicImpact, ...]
    repeats: int


class RoundStarted(Event, frozen=True, kw_only=True):
    """A round began; the stances of this moment are its snapshot."""

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
    """What something did to a juror, also when that is nothing. `by` is "overseer" or the juror who spoke."""

    type: ClassVar[str] = "stance_changed"
    juror_id: str
    cause: Cause
    by: str
    before: int
    after: int
    parts: tuple[ChangePart, ...]


class RoundEnded(Event, frozen=True, kw_only=True):
    """The influence of a round's three speeches is applied."""

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
    """The overseer called the vote, or called it again after a turn had failed."""

    type: ClassVar[str] = "vote_called"
    call: str


class VoteDecided(Event, frozen=True, kw_only=True):
    """A juror's mind is made up. `diverged`: it insisted on the other vote or cast none, and the rule's was taken."""

    type: ClassVar[str] = "vote_decided"
    juror_id: str
    guilty: bool
    stance: int
    diverged: bool


class ContractDeployed(Event, frozen=True, kw_only=True):
    """The case stands on the chain."""

    type: ClassVar[str] = "contract_deployed"
    contract: str
    chain_id: int
    tx_hash: str
    log_hash: str


class VoteCast(Event, frozen=True, kw_only=True):
    """A vote stands on the chain, as read there."""

    type: ClassVar[str] = "vote_cast"
    juror_id: str
    guilty: bool
    stance: int
    diverged: bool
    tx_hash: str


class VoteMissed(Event, frozen=True, kw_only=True):
    """The case closed on the chain before this vote."""

    type: ClassVar[str] = "vote_missed"
    juror_id: str


class ChainChanged(Event, frozen=True, kw_only=True):
    """The chain no longer has the case: it began anew under the vote. Nothing goes on by itself."""

    type: ClassVar[str] = "chain_changed"
    contract: str
    chain_id: int
    detail: str
    attempts: int


class VoteRetried(Event, frozen=True, kw_only=True):
    """The overseer has the vote cast on the chain there is now: the same votes, with the same keys."""

    type: ClassVar[str] = "vote_retried"
    call: str


class VerdictRead(Event, frozen=True, kw_only=True):
    """The verdict, as read back from the chain."""

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
