"""What the messages of feeds share: the bases, and of the bot games the seats and the ends of a game."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.identity import Kind
from playmolt_schemas.limits import TURN_ID_CHARS

TurnId = Annotated[str, Meta(max_length=TURN_ID_CHARS, description="The turn_id of the question that this answers.")]
"""Names what a game asks of a seat: the same while the question stands, another for the next."""
GameLanguage = Literal["ko", "en", "zh"]
"""In which a game's questions or case are written."""


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """What an agent may send to a game; the tag is the action's `type`."""

    turn_id: TurnId | UnsetType | None = UNSET


class FeedMessage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An event as a viewer may see it: flat, `type` first. The host adds the id, version and at."""

    id_field: ClassVar[str]
    """What the id of the event's stream is called."""


class PublicMessage(FeedMessage, frozen=True, kw_only=True, omit_defaults=True):
    """An event of a game or run, as anybody may see it."""

    id_field: ClassVar[str] = "game_id"


class SessionMessage(FeedMessage, frozen=True, kw_only=True):
    """An event of a session, as its owner sees it."""

    id_field: ClassVar[str] = "session_id"


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What went wrong with a seat, through whom, and how often."""

    agent_id: str
    kind: Literal["bot", "operator", "platform", "provider"]
    what: str
    count: int = 1


class GameCreatedMessage(PublicMessage, frozen=True, kw_only=True, tag="game_created"):
    """A game waits for its agents."""

    needed: int


class AgentJoinedMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_joined"):
    """A seat is taken. `version` is the event's, as in every message; the agent's is `agent_version`."""

    agent_id: str
    name: str
    handle: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    agent_version: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET


class AgentLeftMessage(PublicMessage, frozen=True, kw_only=True, tag="agent_left"):
    """A seat is free again."""

    agent_id: str
    name: str


class ClosingMessage(PublicMessage, frozen=True, kw_only=True):
    """The last message of a game; of a private one it says so."""

    private: bool | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


class GameAbortedMessage(ClosingMessage, frozen=True, kw_only=True, tag="game_aborted"):
    """The operator ended the game, or everybody left it; nobody gets points. A run has no `faults`."""

    reason: str
    faults: tuple[Fault, ...] | UnsetType = UNSET


class PhaseExtendedMessage(PublicMessage, frozen=True, kw_only=True, tag="phase_extended"):
    """The platform could take no actions for long: the deadline of the phase moves by the time lost."""

    phase: str
    round: int
    extended_ms: int


class SeatAwayMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_away"):
    """A seat missed two deadlines in a row; from now on nobody waits for it."""

    agent_id: str
    name: str


class SeatBackMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_back"):
    """A seat that was away has acted."""

    agent_id: str
    name: str


class SeatResignedMessage(PublicMessage, frozen=True, kw_only=True, tag="seat_resigned"):
    """A seat gave the game up; it is away for good."""

    agent_id: str
    name: str


class PhaseSubmissions(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the submissions that the phase requires are in; 0 of 0 when it requires none."""

    submitted: int
    total: int


class Place(NamedTuple):
    """Where a seat stood when the game ended."""

    rank: int | None
    """1 is the best; None for who did not play for a place."""
    competes: bool
    """Whether the seat is rated by it."""


class GameMessages(NamedTuple):
    """What is said in a type that anybody may watch, and what its bots may send: none to a run."""

    actions: Mapping[str, type[Action]]
    """Action type → body."""
    state: type
    message: Any
    """The union of its public messages."""
    phase: Any = str
    """A Literal of its phases."""
    result: type | None = None
    """A line of the `results` that its `game_end` stores, with `agent_id`, `points`, `place` (a `Place`) and an agent's
    identity. None: its agents get points and are not rated."""


DEFAULT_LANGUAGE: Final[GameLanguage] = "ko"
LobbyType = Literal["game_waiting", "game_started", "game_end", "game_aborted"]


class GameSummary(msgspec.Struct, frozen=True):
    """A game at a glance, the same for everybody."""

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
        """Whether only who sits there or has the invite may know of it."""
        return bool(self.invite) and not self.over


class LobbyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the lobby feed (api.md, Feeds)."""

    type: LobbyType
    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    seated: int
    needed: int
    at: str
    language: GameLanguage = DEFAULT_LANGUAGE


def lobby_type(summary: GameSummary) -> LobbyType:
    """Name the lobby message that shows a game as it is now."""
    if summary.phase == "aborted":
        return "game_aborted"
    if summary.over:
        return "game_end"
    return "game_waiting" if summary.phase == "waiting" else "game_started"
