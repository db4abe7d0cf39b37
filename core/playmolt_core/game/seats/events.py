"""What the log of every game with seats holds. Names and fields are stored for ever: change one, and add a version."""

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta
from playmolt_schemas.identity import Identity
from playmolt_schemas.limits import LONGEST_DEADLINE_SECONDS

from playmolt_core.game.decider import Event


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator can set for a game; a deadline of 0 seconds is none."""

    phase_deadline_seconds: Annotated[int, Meta(ge=0, le=LONGEST_DEADLINE_SECONDS)] = 0


class GameCreated(Event, frozen=True, kw_only=True):
    """Event 1: all that the draws and the rules of this game follow from."""

    type: ClassVar[str] = "game_created"
    needed: int
    seed: str
    rules_version: int
    content_version: str
    config: Config


class AgentJoined(Event, Identity, frozen=True, kw_only=True):
    """A seat is taken."""

    type: ClassVar[str] = "agent_joined"
    agent_id: str
    name: str


class AgentLeft(Event, frozen=True, kw_only=True):
    """A seat is free again."""

    type: ClassVar[str] = "agent_left"
    agent_id: str
    name: str


class GameAborted(Event, frozen=True, kw_only=True):
    """The operator ended the game."""

    type: ClassVar[str] = "game_aborted"
    closes: ClassVar[bool] = True
    reason: str


EVENTS: Final[tuple[type[Event], ...]] = (GameCreated, AgentJoined, AgentLeft, GameAborted)
