"""The public messages and the public state of an Agora run (agora.md, API).

They contain no whisper contents, thoughts, prompts or seeds.
"""

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from playmolt_schemas.feed_messages import FeedMessages, PublicMessage
from playmolt_schemas.game_messages import GameAbortedMessage, GameMessages
from playmolt_schemas.stored.agora.run import EVENTS, Outcome, PauseCode
from playmolt_schemas.stored.agora.turn import Language, Parent, ParseCode, SetName

RunPhase = Literal["opening", "running", "paused", "ended", "aborted"]


class AgoraProgressMessage(PublicMessage, frozen=True, kw_only=True, tag="progress"):
    """An event without public content."""


class EpochStartedMessage(PublicMessage, frozen=True, kw_only=True, tag="epoch_started"):
    """An epoch began; in Phase 2, one turn of every agent."""

    turn: int
    residents: int


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


FEED: Final = FeedMessages(
    EVENTS,
    __name__,
    written=(
        AgoraProgressMessage,
        EpochStartedMessage,
        AgentActedMessage,
        AgoraTurnFailedMessage,
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
