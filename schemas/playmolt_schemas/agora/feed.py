"""The public messages and the public state of an Agora run (agora.md, API).

They contain no whisper contents, thoughts, prompts or seeds.
"""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.agora.turn import Language, Parent, ParseCode, SetName
from playmolt_schemas.feed_messages import FeedMessages, PublicMessage
from playmolt_schemas.game_messages import GameAbortedMessage, GameMessages

RunPhase = Literal["opening", "running", "paused", "ended", "aborted"]
PauseCode = Literal["model_away", "budget", "stopped"]
"""Why a run is paused: its model is unavailable, the budget is spent, or the operator stopped it."""
Outcome = Literal["completed", "died_out"]
"""How a run ended: after its last turn, or with the death of its last agent."""


class AgoraProgressMessage(PublicMessage, frozen=True, kw_only=True, tag="progress"):
    """An event without public content."""


class EpochStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="epoch_started"):
    """An epoch began; in Phase 2, one turn of every agent."""

    turn: int
    residents: int


class CrisisStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="crisis_started"):
    """A crisis began for this epoch: drought, plague or famine."""

    crisis: str


class AgentActedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_acted"):
    """An agent acted at `location`. `content` is null for a whisper."""

    agent_id: str
    action: str
    target: str | None
    location: str
    content: str | None
    success: bool


class AgoraTurnFailedMessage(PublicMessage, frozen=True, kw_only=True, tag="turn_failed"):
    """An agent's reply was not a valid action; the agent did nothing."""

    agent_id: str
    code: ParseCode


class WhisperLeakedMessage(PublicMessage, frozen=True, kw_only=True, tag="whisper_leaked"):
    """It became public who whispered to whom."""

    agent_id: str
    target: str
    location: str


class BillboardPostedMessage(PublicMessage, frozen=True, kw_only=True, tag="billboard_posted"):
    """The text of the plaza's billboard changed."""

    agent_id: str
    content: str


class TaxChangedMessage(PublicMessage, frozen=True, kw_only=True, tag="tax_changed"):
    """The market's tax rate changed; in percent."""

    agent_id: str
    rate: int


class RankChangedMessage(PublicMessage, frozen=True, kw_only=True, tag="rank_changed"):
    """An agent's rank changed: commoner, notable or elder."""

    agent_id: str
    rank: str


class MarketSettledMessage(PublicMessage, frozen=True, kw_only=True, tag="market_settled"):
    """The market pool was distributed; `shadow`: it was only computed."""

    shadow: bool


class AgentDiedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_died"):
    """An agent died: it had no energy left."""

    agent_id: str


class ResourceSettledMessage(PublicMessage, frozen=True, kw_only=True, tag="resource_settled"):
    """The amount of a resource at the end of a turn, before and after regrowth."""

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
    """The run was paused."""

    code: PauseCode


class RunResumedMessage(PublicMessage, frozen=True, kw_only=True, tag="run_resumed"):
    """The run was resumed."""


class RunEndedMessage(PublicMessage, frozen=True, kw_only=True, tag="run_ended"):
    """The run ended; its feed closes."""

    outcome: Outcome
    turns: int


FEED: Final = FeedMessages(
    {},
    __name__,
    written=(
        AgoraProgressMessage,
        EpochStartedMessage,
        CrisisStartedMessage,
        AgentActedMessage,
        AgoraTurnFailedMessage,
        WhisperLeakedMessage,
        BillboardPostedMessage,
        TaxChangedMessage,
        RankChangedMessage,
        MarketSettledMessage,
        AgentDiedMessage,
        ResourceSettledMessage,
        ActContestedMessage,
        RunPausedMessage,
        RunResumedMessage,
        RunEndedMessage,
        GameAbortedMessage,
    ),
)


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as everyone sees it. Energy and influence are null if the world has none."""

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
    """One of the latest turns. If the reply was not a valid action, `code` is set and `action` is null."""

    turn: int
    agent_id: str
    action: str | None
    target: str | None
    location: str
    content: str | None
    success: bool
    code: ParseCode | None


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Turns taken, and turns planned if no agent dies."""

    done: int
    total: int


class SeatView(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent of a run saw: who was at the same place, and the event lines of its prompt.

    They contain no whisper contents.
    """

    id: str
    here: tuple[str, ...]
    seen: tuple[str, ...]


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A run's state: `GET /api/games/{id}/state`. Features that the world does not have are null.

    `self` is present only in the view of an agent (`seat=`), which is available after the run has ended.
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
    """The amounts of the world's resources, if it has any."""
    own: SeatView | UnsetType = msgspec.field(name="self", default=UNSET)


MESSAGES: Final = GameMessages({}, RunView, FEED, RunPhase)
