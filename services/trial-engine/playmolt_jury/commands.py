"""Commands to a session, from its overseer and from the workers of its effects."""

from typing import Any

import msgspec
from playmolt_core.game.decider import Command
from playmolt_schemas.stored.jury import FailureCode, Language, RequestKind, TopicImpact
from playmolt_schemas.stored.panels import JuryScript, PanelPlace


class NamedCase(msgspec.Struct, frozen=True, kw_only=True):
    """An uploaded case that a session may name."""

    id: str
    digest: str
    languages: tuple[Language, ...]


class OpenJury(Command, frozen=True, kw_only=True):
    """`POST /api/jury/sessions` with the unparsed body.

    `aliases` are the available models, `uploaded` the uploaded cases that the caller may name.
    """

    agent_id: str
    name: str = ""
    seed: str
    body: Any
    aliases: tuple[str, ...] = ("scripted",)
    uploaded: tuple[NamedCase, ...] = ()


class OpenPanelJury(Command, frozen=True, kw_only=True):
    """A panel opens one of its juries, which then plays itself. `deliberation` is the number of rounds."""

    owner: str
    name: str
    language: Language
    pack_digest: str
    deliberation: int
    place: PanelPlace
    script: JuryScript


class GoOn(Command, frozen=True, kw_only=True):
    """A panel lets one of its juries try again after a turn failed."""


class OwnerCommand(Command, frozen=True, kw_only=True):
    """A command of the overseer. `call` is the id of the request; a retry has the same id."""

    agent_id: str
    call: str = ""
    body: Any = None


class ChangePhase(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/phase`."""


class ReadEvidence(OwnerCommand, frozen=True, kw_only=True):
    """`GET …/evidence/{evidence_id}`: the first read of an item is logged."""

    evidence_id: str


class TalkTo(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/witnesses/{witness_id}/talk`."""

    witness_id: str


class Chat(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/chat/{juror_id}`."""

    juror_id: str


class Present(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/jurors/{juror_id}/present/{evidence_id}`."""

    juror_id: str
    evidence_id: str


class NextRound(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/deliberation/next`: starts the next round, or resumes one in which a turn failed."""


class SendNote(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/notes`."""


class CallVote(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/vote`; repeated after a juror's turn has failed."""


class Retry(OwnerCommand, frozen=True, kw_only=True):
    """`POST …/retry`: casts the votes that a chain lost on the present chain."""


class Attempted(Command, frozen=True, kw_only=True):
    """A model request was made for an effect; `attempt` is the model runtime's record of it, without floats."""

    effect_id: str
    turn: str
    kind: RequestKind
    attempt: dict[str, Any]


class ToolsAnswered(Command, frozen=True, kw_only=True):
    """Whether the session's model called a tool that it had to call; None if it gave no answer."""

    calls_tools: bool | None


class ToolUse(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its result; the result of an invalid call is the error text."""

    tool: str
    input: dict[str, Any]
    result: str


class JurorTurn(Command, frozen=True, kw_only=True):
    """`topics` are those of the overseer's text (chat, note) or of the speech; `text` is the juror's; `diverged`
    says that the juror did not cast the rule's vote itself."""

    effect_id: str
    topics: tuple[TopicImpact, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    text: str = ""
    diverged: bool = False


class TurnLost(Command, frozen=True, kw_only=True):
    """The model gave no usable answer. `tools` are the tool calls made before the failure."""

    effect_id: str
    code: FailureCode
    detail: str
    attempts: int
    tools: tuple[ToolUse, ...] = ()


class CaseOpened(Command, frozen=True, kw_only=True):
    """The contract is deployed. `log_hash` is the constructor argument, 0x and hex."""

    effect_id: str
    address: str
    chain_id: int
    tx_hash: str
    log_hash: str


class VoteMined(Command, frozen=True, kw_only=True):
    """A juror's vote on the chain; `guilty` is None when the case closed without it."""

    effect_id: str
    juror_id: str
    guilty: bool | None
    tx_hash: str


class VoteRead(msgspec.Struct, frozen=True, kw_only=True):
    """One juror's slot in the contract."""

    juror_id: str
    address: str
    guilty: bool | None
    tx_hash: str


class ChainLost(Command, frozen=True, kw_only=True):
    """The chain no longer has the case: `looks` consecutive reads did not find it."""

    effect_id: str
    detail: str
    looks: int


class VerdictFound(Command, frozen=True, kw_only=True):
    """The closed case, read from the chain."""

    effect_id: str
    guilty: bool
    guilty_votes: int
    not_guilty_votes: int
    votes: tuple[VoteRead, ...]
    contract: str
    chain_id: int
    log_hash: str
