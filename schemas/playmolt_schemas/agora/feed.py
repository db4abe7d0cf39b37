"""What anybody may see of an Agora run: the messages of its feed and its state (agora.md, API).

Whisper contents, thoughts, prompts and the seed are in none of them.
"""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.agora.turn import Language, Parent, ParseCode, SetName
from playmolt_schemas.game_messages import GameAbortedMessage, GameMessages, PublicMessage

RunPhase = Literal["opening", "running", "paused", "ended", "aborted"]
PauseCode = Literal["model_away", "budget", "stopped"]
"""Why a run pauses: its model does not answer, the budget is spent, its operator stopped it."""
Outcome = Literal["completed", "died_out"]
"""How a run ended: with its last turn, or with its last agent."""


class AgoraProgressMessage(PublicMessage, frozen=True, kw_only=True, tag="progress"):
    """Something happened that has nothing to tell."""


class EpochStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="epoch_started"):
    """An epoch, in Phase 2 a turn of all, begins."""

    turn: int
    residents: int


class CrisisStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="crisis_started"):
    """A crisis holds for this epoch: drought, plague or famine."""

    crisis: str


class AgentActedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_acted"):
    """An agent acted. `location` is where it stood; `content` is null for a whisper, whatever it said."""

    agent_id: str
    action: str
    target: str | None
    location: str
    content: str | None
    success: bool


class AgoraTurnFailedMessage(PublicMessage, frozen=True, kw_only=True, tag="turn_failed"):
    """An agent's reply was no act; it did nothing."""

    agent_id: str
    code: ParseCode


class WhisperLeakedMessage(PublicMessage, frozen=True, kw_only=True, tag="whisper_leaked"):
    """It came out who whispered to whom."""

    agent_id: str
    target: str
    location: str


class BillboardPostedMessage(PublicMessage, frozen=True, kw_only=True, tag="billboard_posted"):
    """The plaza's billboard reads anew."""

    agent_id: str
    content: str


class TaxChangedMessage(PublicMessage, frozen=True, kw_only=True, tag="tax_changed"):
    """The market's tax rate, in percent."""

    agent_id: str
    rate: int


class RankChangedMessage(PublicMessage, frozen=True, kw_only=True, tag="rank_changed"):
    """An agent's rank: commoner, notable or elder."""

    agent_id: str
    rank: str


class MarketSettledMessage(PublicMessage, frozen=True, kw_only=True, tag="market_settled"):
    """The pool was shared out; `shadow`: it was only reckoned."""

    shadow: bool


class AgentDiedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_died"):
    """An agent's energy is used up."""

    agent_id: str


class ResourceSettledMessage(PublicMessage, frozen=True, kw_only=True, tag="resource_settled"):
    """What a resource held at the end of a turn, before and after it grew again."""

    turn: int
    name: str
    before: int
    regrown: int
    after: int


class ActContestedMessage(PublicMessage, frozen=True, kw_only=True, tag="act_contested"):
    """Two residents contested an act of the architect, and it was undone."""

    turn: int
    by: tuple[str, ...]
    undone: str


class RunPausedMessage(PublicMessage, frozen=True, kw_only=True, tag="run_paused"):
    """No turn is asked for now."""

    code: PauseCode


class RunResumedMessage(PublicMessage, frozen=True, kw_only=True, tag="run_resumed"):
    """Turns are asked for again."""


class RunEndedMessage(PublicMessage, frozen=True, kw_only=True, tag="run_ended"):
    """The run is over; its feed ends."""

    outcome: Outcome
    turns: int


AgoraMessage = (
    AgoraProgressMessage
    | EpochStartedMessage
    | CrisisStartedMessage
    | AgentActedMessage
    | AgoraTurnFailedMessage
    | WhisperLeakedMessage
    | BillboardPostedMessage
    | TaxChangedMessage
    | RankChangedMessage
    | MarketSettledMessage
    | AgentDiedMessage
    | ResourceSettledMessage
    | ActContestedMessage
    | RunPausedMessage
    | RunResumedMessage
    | RunEndedMessage
    | GameAbortedMessage
)
"""Every message of a run's feed."""


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as everybody sees it. Energy and influence are null where the world has none."""

    id: str
    model: str
    persona: str | None
    home: str
    place: str
    alive: bool
    died: int | None
    """The epoch of its death."""
    energy: int | None
    influence: int | None
    rank: str | None


class ActView(msgspec.Struct, frozen=True, kw_only=True):
    """One of the newest turns; `code` is set, and the act null, when the reply was no act."""

    turn: int
    agent_id: str
    action: str | None
    target: str | None
    location: str
    content: str | None
    success: bool
    code: ParseCode | None


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Turns taken, and turns planned if nobody dies."""

    done: int
    total: int


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """What one of a run's agents had before it: who stood beside it, and the lines of its prompt about what happened.

    What a whisper said is in none of them.
    """

    id: str
    here: tuple[str, ...]
    seen: tuple[str, ...]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run's state: `GET /api/games/{id}/state`. What a world does not have is null.

    `self` is there in the view of one of its agents (`seat=`) alone, which a run has when it is over.
    """

    id: str
    gameType: Literal["agora"] = "agora"  # noqa: N815 -- the wire's spelling
    version: int
    phase: RunPhase
    paused: PauseCode | None
    outcome: Outcome | None
    experiment: str
    number: int
    cell: str
    world: str
    set: SetName | None
    language: Language
    exploratory: bool
    scripted: bool
    parent: Parent | None
    turn: int
    turns: int
    next_agent: str | None
    residents: int
    residents_start: int
    places: tuple[str, ...]
    agents: tuple[AgentView, ...]
    gini: str | None
    tax_rate: int | None
    treasury: int | None
    pool: int | None
    market_shadow: bool | None
    billboard: str | None
    crisis: str | None
    acts: tuple[ActView, ...]
    progress: RunProgress
    resources: dict[str, int] | UnsetType = UNSET
    """What there is of the resources of a world that has some."""
    own: SeatView | UnsetType = msgspec.field(name="self", default=UNSET)


MESSAGES: Final = GameMessages({}, RunView, AgoraMessage, RunPhase)
