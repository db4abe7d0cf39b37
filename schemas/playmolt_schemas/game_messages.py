"""Base types of feed messages, the messages that all bot games share, and the summary shown in lobby and lists."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.identity import Kind
from playmolt_schemas.limits import TURN_ID_CHARS

TurnId = Annotated[
    str, Meta(max_length=TURN_ID_CHARS, description="The `turn_id` of the turn that this action answers.")
]
"""Identifies a turn of a seat; it changes with every new question."""
GameLanguage = Literal["ko", "en", "zh"]
"""Language of a game's content."""


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """An action of an agent; the tag is its `type`."""

    turn_id: TurnId | UnsetType | None = UNSET


class FeedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event as a viewer may see it: flat, `type` first. The host adds the id, `version` and `at`."""

    id_field: ClassVar[str]
    """Name of the field with the stream's id."""


class PublicMessage(FeedMessage, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a game or run as every spectator sees it."""

    id_field: ClassVar[str] = "game_id"


class SessionMessage(FeedMessage, frozen=True, kw_only=True):
    """An event of a session as its owner sees it."""

    id_field: ClassVar[str] = "session_id"


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What went wrong with a seat, who caused it (`kind`), and how often."""

    agent_id: str
    kind: Literal["bot", "operator", "platform", "provider"]
    what: str
    count: int = 1


class GameCreatedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_created"):
    """A game was created and waits for agents."""

    needed: int


class AgentJoinedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_joined"):
    """An agent joined. `version` is the event's, as in every message; `agent_version` is the agent's."""

    agent_id: str
    name: str
    handle: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    agent_version: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET


class AgentLeftMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_left"):
    """An agent left; its seat is free again."""

    agent_id: str
    name: str


class ClosingMessage(PublicMessage, frozen=True, kw_only=True):
    """The last message of a game. `private` and `rated` are present for private games only."""

    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


class GameAbortedMessage(ClosingMessage, frozen=True, kw_only=True, tag="game_aborted"):
    """The operator ended the game, or every agent left; no points are awarded. A run has no `faults`."""

    reason: str
    faults: tuple[Fault, ...] | UnsetType = UNSET


class PhaseExtendedMessage(PublicMessage, frozen=True, kw_only=True, tag="phase_extended"):
    """The platform could not accept actions for a while; the deadline of the phase moves by the lost time."""

    phase: str
    round: int
    extended_ms: int


class SeatAwayMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_away"):
    """A seat missed two deadlines in a row; the game no longer waits for it."""

    agent_id: str
    name: str


class SeatBackMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_back"):
    """A seat that was away acted again."""

    agent_id: str
    name: str


class SeatResignedMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_resigned"):
    """A seat resigned permanently."""

    agent_id: str
    name: str


class PhaseSubmissions(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the required submissions of the phase were received; 0 of 0 if it requires none."""

    submitted: int
    total: int


class Place(NamedTuple):
    """The final rank of a seat."""

    rank: int | None
    """1 is the best; None for seats that do not compete for a rank."""
    competes: bool
    """Whether the rank counts for the rating."""


class GameMessages(NamedTuple):
    """The messages of a type that anyone may watch, and the actions of its bots (none for runs)."""

    actions: Mapping[str, type[Action]]
    """Action type → body."""
    state: type
    message: Any
    """The union of the public messages."""
    phase: Any = str
    """A Literal of the phases."""
    result: type | None = None
    """An entry of `results` in the stored `game_end`, with `agent_id`, `points`, `place` (a `Place`) and an agent's
    identity. None: agents get points but no rating."""


DEFAULT_LANGUAGE: Final[GameLanguage] = "ko"
LobbyType = Literal["game_waiting", "game_started", "game_end", "game_aborted"]


class GameSummary(msgspec.Struct, frozen=True):
    """A game's public summary, the same for every viewer."""

    phase: str
    round: int
    seated: int
    needed: int
    over: bool = False
    language: GameLanguage = DEFAULT_LANGUAGE
    invite: str = ""
    """The hex SHA-256 of a private game's invite; "" for a public game."""

    @property
    def hidden(self) -> bool:
        """Whether only participants and holders of the invite may see it."""
        return bool(self.invite) and not self.over


class LobbyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the lobby feed (api.md, Feeds)."""

    type: LobbyType
    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    seated: int
    needed: int
    at: str
    language: GameLanguage = DEFAULT_LANGUAGE


def lobby_type(summary: GameSummary) -> LobbyType:
    """The lobby message type for a game's current state."""
    if summary.phase == "aborted":
        return "game_aborted"
    if summary.over:
        return "game_end"
    return "game_waiting" if summary.phase == "waiting" else "game_started"
