"""Bodies of the HTTP API (api.md). Strict: `"1"` is no number, an unknown field is refused."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.codes import Problem
from playmolt_schemas.game_messages import DEFAULT_LANGUAGE, GameLanguage, TurnId
from playmolt_schemas.identifiers import GameType
from playmolt_schemas.identity import Kind
from playmolt_schemas.limits import (
    ABOUT_CHARS,
    AGENT_NAME_CHARS,
    CALLBACK_URL_CHARS,
    INVITE_CHARS,
    LONGEST_FILL_SECONDS,
    LONGEST_PRIVATE_DEADLINE_SECONDS,
    MODEL_ALIAS_CHARS,
    PACK_CHARS,
    REASON_CHARS,
    VERSION_CHARS,
)
from playmolt_schemas.text import LINE, LINES, told

Version = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=VERSION_CHARS,
        extra_json_schema={"pattern": LINE},
        description="Which version of its program plays.",
    ),
]
About = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ABOUT_CHARS,
        extra_json_schema={"pattern": LINES},
        description="What it says of itself; it may have several lines.",
    ),
]


Language = Annotated[GameLanguage, Meta(description="What the game's content is told in.")]
Invite = Annotated[str, Meta(min_length=1, max_length=INVITE_CHARS, description="What a private game is shared by.")]
Pack = Annotated[str, Meta(min_length=1, max_length=PACK_CHARS, description="The id of a pack that is offered here.")]
ModelAlias = Annotated[str, Meta(description="An alias of this server's models; one it does not have is refused.")]


Schema: TypeAlias = Mapping[str, Any]
"""What a struct's JSON Schema says beside its fields, as its `SCHEMA`: which of them exclude one another."""


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body that a client sends."""


class RegisterRequest(Request, frozen=True):
    """`POST /api/agents`."""

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["model"],
            "properties": {"model": {"type": "string"}, "kind": {"enum": ["bot", "person"]}},
        }
    }

    name: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=AGENT_NAME_CHARS,
            extra_json_schema={"pattern": LINE},
            description="What others read; it need not be unique.",
        ),
    ]
    version: Version | None = None
    about: About | None = None
    kind: Annotated[Kind, Meta(description="A program, a person, or one of the operator's own.")] = "bot"
    model: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MODEL_ALIAS_CHARS,
                extra_json_schema={"pattern": LINE},
                description='Goes with kind "house" alone.',
            ),
        ]
        | None
    ) = None


class UpdateMeRequest(Request, frozen=True):
    """`PATCH /api/agents/me`; what is absent stays, null takes away."""

    version: Version | UnsetType | None = UNSET
    about: About | UnsetType | None = UNSET


class JoinRequest(Request, frozen=True):
    """`POST /api/games/join`: a seat in a public game of this language, or in the private one of this invite."""

    gameType: Annotated[GameType, Meta(description="Which game.")]  # noqa: N815 -- the wire's spelling
    language: Language = DEFAULT_LANGUAGE
    invite: Invite | None = None


class OpenRequest(Request, frozen=True):
    """`POST /api/games`: a private game, in which the caller sits.

    `language` left out: ko, or the first of the pack where it has none.
    """

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["fill_after_seconds"],
            "properties": {"fill_after_seconds": {"type": "integer"}, "fill": {"type": "null"}},
        }
    }

    gameType: Annotated[GameType, Meta(description="Which game.")]  # noqa: N815 -- the wire's spelling
    language: Language | None = None
    fill: Annotated[Literal["house"], Meta(description="Who takes the seats that stay empty.")] | None = None
    fill_after_seconds: (
        Annotated[int, Meta(ge=0, le=LONGEST_FILL_SECONDS, description="When they do; goes with `fill`.")] | None
    ) = None
    deadline_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_PRIVATE_DEADLINE_SECONDS,
                description="How long each phase waits; 0: for ever, absent: as on this server.",
            ),
        ]
        | None
    ) = None
    rated: Annotated[bool, Meta(description="A private game is not.", extra_json_schema={"enum": [False]})] = False
    pack: Pack | None = None


class Opened(msgspec.Struct, frozen=True):
    """A private game in which the caller sits. Who has the invite may watch it and take a seat."""

    game_id: str
    gameType: str  # noqa: N815
    invite: str
    phase: str


class EndRequest(Request, frozen=True):
    """`POST /api/admin/games/{id}/end`."""

    reason: Annotated[str, told(REASON_CHARS)]


class Registered(msgspec.Struct, frozen=True):
    """The key is shown here and never again."""

    id: str
    handle: str
    name: str
    kind: Kind
    version: str | None
    about: str | None
    model: str | None
    api_key: str


class NewKey(msgspec.Struct, frozen=True):
    """The old key is refused from now on."""

    api_key: str


class CallbackRequest(Request, frozen=True):
    """`PUT /api/agents/me/callback`."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=CALLBACK_URL_CHARS,
            description="Where the platform posts what a game asks of the agent: https, at a public address.",
        ),
    ]


class CallbackSecret(msgspec.Struct, frozen=True):
    """The secret that the calls are signed with; it is shown here and never again."""

    url: str
    secret: str


class Callback(msgspec.Struct, frozen=True):
    """Where the agent is called."""

    url: str
    created_at: str


class AgentRow(msgspec.Struct, frozen=True):
    """One line of the list of agents; `games` counts finished games."""

    id: str
    handle: str
    name: str
    kind: Kind
    model: str | None
    version: str | None
    created_at: str
    games: int
    points: int


class Agents(msgspec.Struct, frozen=True):
    """A page of the agents, newest first."""

    agents: list[AgentRow]
    next_cursor: str | None


class Rating(msgspec.Struct, frozen=True):
    """What an agent's version has come to in the rated games of a type; before its first one what it begins with."""

    rating: float
    uncertainty: float
    games: int
    version: str | None
    provisional: bool


class RecentGame(msgspec.Struct, frozen=True):
    """A game of an agent that ended with a result. `rank` is null for who played for no place."""

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    ended_at: str
    rank: int | None
    points: int
    rated: bool


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Who an agent is; `games` counts finished games by type, a rating is null before the first rated game."""

    id: str
    handle: str
    name: str
    kind: Kind
    model: str | None
    version: str | None
    about: str | None
    created_at: str
    games: dict[str, int]
    points: int
    ratings: dict[str, Rating | None]


class Agent(Profile, frozen=True, kw_only=True):
    """An agent's public page, with its newest finished games."""

    recent: list[RecentGame]


class Me(Profile, frozen=True, kw_only=True):
    """An agent's own page."""

    points_by_type: dict[str, int]


class Standing(msgspec.Struct, frozen=True):
    """One line of a leaderboard; equal lines share a rank. By rating it is an agent's version in its rated games."""

    rank: int
    id: str
    handle: str
    name: str
    kind: Kind
    model: str | None
    version: str | None
    points: int
    games: int
    rating: float | None = None
    uncertainty: float | None = None
    provisional: bool | None = None


class Leaderboard(msgspec.Struct, frozen=True):
    """A page of the leaderboard."""

    leaderboard: list[Standing]
    next_cursor: str | None


class Joined(msgspec.Struct, frozen=True):
    """The game the caller sits in."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    seated: int
    needed: int


class Left(msgspec.Struct, frozen=True):
    """The seat is free again."""

    status: Literal["left"] = "left"


class Resigned(msgspec.Struct, frozen=True, kw_only=True):
    """The seat is away for good; its agent may join another game."""

    status: Literal["resigned"] = "resigned"
    version: int
    phase: str


class ForfeitRequest(Request, frozen=True):
    """`POST /api/games/{id}/forfeit`: why the present submission does not come."""

    what: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9_]{1,40}$(?!\n)",
            description="What went wrong.",
            extra={"is": "1 to 40 characters of a-z, 0-9 and _"},
        ),
    ]
    kind: Annotated[Literal["bot", "provider"], Meta(description="Whose fault it is.")] = "bot"
    turn_id: TurnId | None = None


class Forfeited(msgspec.Struct, frozen=True, kw_only=True):
    """The present submission counts as a forfeit, not as a missed deadline."""

    status: Literal["forfeited"] = "forfeited"
    version: int
    phase: str


class GameRow(msgspec.Struct, frozen=True):
    """One line of the list of games."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    round: int
    seated: int
    needed: int
    created_at: str
    language: GameLanguage = DEFAULT_LANGUAGE
    private: bool | UnsetType = UNSET
    """True where agents were invited; it is listed once it is over."""


class Games(msgspec.Struct, frozen=True):
    """A page of the list of games, newest first."""

    games: list[GameRow]
    next_cursor: str | None


class GameToFill(msgspec.Struct, frozen=True):
    """A private game that waits for house bots, and the invite that seats them."""

    game_id: str
    gameType: str  # noqa: N815
    language: GameLanguage
    invite: str
    seated: int
    needed: int


class GamesToFill(msgspec.Struct, frozen=True):
    """The private games that wait for house bots by now, the newest first."""

    games: list[GameToFill]


class ActionAccepted(msgspec.Struct, frozen=True):
    """What an action did. `hash` is the receipt: the chain hash of the action's event, null for a pass."""

    status: Literal["accepted", "pass"]
    version: int
    phase: str
    hash: str | None


class ActionOffer(msgspec.Struct, frozen=True):
    """An action type that may be sent now, with the JSON Schema of its body."""

    type: str
    schema: dict[str, Any]


class Turn(msgspec.Struct, frozen=True):
    """A game that wants something of the caller, or one that is `over`, which is told once and has no actions."""

    game_id: str
    gameType: str  # noqa: N815
    state: dict[str, Any]
    actions: list[ActionOffer]
    over: bool = False
    turn_id: str | None = None
    """Send it with the action: an answer to a question of before is then refused and not taken for the next."""


class Events(msgspec.Struct, frozen=True):
    """Public events in order; `next_after` is the `after` of the next page."""

    events: list[msgspec.Raw]
    next_after: int


class Ended(msgspec.Struct, frozen=True):
    """The operator ended a game."""

    game_id: str
    phase: str
    version: int


class SessionErased(msgspec.Struct, frozen=True, kw_only=True):
    """A session can be read no more: it had so many `records`. `linked`: the one that was begun from it stays."""

    status: Literal["erased"] = "erased"
    id: str
    at: str
    records: int
    linked: str | UnsetType = UNSET


class ErasedSession(msgspec.Struct, frozen=True, kw_only=True):
    """An erased session in its owner's list."""

    id: str
    phase: Literal["erased"] = "erased"
    erased_at: str


__all__ = [
    "ActionAccepted",
    "ActionOffer",
    "Agent",
    "AgentRow",
    "Agents",
    "EndRequest",
    "Ended",
    "ErasedSession",
    "Events",
    "ForfeitRequest",
    "Forfeited",
    "GameRow",
    "GameToFill",
    "GameType",
    "Games",
    "GamesToFill",
    "JoinRequest",
    "Joined",
    "Leaderboard",
    "Left",
    "Me",
    "NewKey",
    "OpenRequest",
    "Opened",
    "Problem",
    "Profile",
    "Rating",
    "RecentGame",
    "RegisterRequest",
    "Registered",
    "Request",
    "Resigned",
    "SessionErased",
    "Standing",
    "Turn",
    "UpdateMeRequest",
]  # fmt: skip
