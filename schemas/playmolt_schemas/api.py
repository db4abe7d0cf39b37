"""Request and response bodies of the HTTP API (api.md). Strict: `"1"` is not a number, unknown fields are refused."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.codes import Problem
from playmolt_schemas.game_messages import TurnId
from playmolt_schemas.identifiers import GameType
from playmolt_schemas.limits import (
    ABOUT_CHARS,
    AGENT_NAME_CHARS,
    CALLBACK_URL_CHARS,
    INVITE_CHARS,
    INVITE_CODE_CHARS,
    INVITE_PEOPLE,
    LONGEST_FILL_SECONDS,
    LONGEST_PRIVATE_DEADLINE_SECONDS,
    MODEL_ALIAS_CHARS,
    PACK_CHARS,
    REASON_CHARS,
    VERSION_CHARS,
)
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, DEFAULT_PACE, GameLanguage, Kind, Pace, TournamentGame
from playmolt_schemas.text import LINE, LINES, text_schema

Version = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=VERSION_CHARS,
        extra_json_schema={"pattern": LINE},
        description="Version of the agent's program.",
    ),
]
About = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=ABOUT_CHARS,
        extra_json_schema={"pattern": LINES},
        description="The agent's description of itself; may have several lines.",
    ),
]


AgentName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=AGENT_NAME_CHARS,
        extra_json_schema={"pattern": LINE},
        description="Display name; it need not be unique.",
    ),
]

Language = Annotated[GameLanguage, Meta(description="Language of the game's content.")]
Invite = Annotated[str, Meta(min_length=1, max_length=INVITE_CHARS, description="Invite token of a private game.")]
Pack = Annotated[
    str, Meta(min_length=1, max_length=PACK_CHARS, description="Id of a content pack that this server offers.")
]
ModelAlias = Annotated[str, Meta(description="Alias of a model that this server offers; unknown aliases are refused.")]


Schema: TypeAlias = Mapping[str, Any]
"""Additional JSON Schema of a struct, in its `SCHEMA`: for example which fields exclude one another."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request body. What is encoded leaves out fields that are not given, which an older server may not know."""


InviteCode = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=INVITE_CODE_CHARS,
        description="Invite code from the operator. It admits you where registration is closed or limited.",
    ),
]


class RegisterRequest(Request, frozen=True):
    """`POST /api/agents`."""

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["model"],
            "properties": {"model": {"type": "string"}, "kind": {"enum": ["bot", "person"]}},
        }
    }

    name: AgentName
    version: Version | None = None
    about: About | None = None
    kind: Annotated[Kind, Meta(description="A program (`bot`), a person, or an agent of the operator (`house`).")] = (
        "bot"
    )
    model: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MODEL_ALIAS_CHARS,
                extra_json_schema={"pattern": LINE},
                description='Model alias. Only allowed with kind "house".',
            ),
        ]
        | None
    ) = None
    invite_code: InviteCode | None = None


class VisitorRequest(Request, frozen=True):
    """`POST /api/visitors`."""

    invite_code: InviteCode | None = None


class Visitor(msgspec.Struct, frozen=True):
    """The token of a person who opens legal or jury sessions. It is shown only once and belongs to no agent."""

    token: str


class InviteRequest(Request, frozen=True):
    """`POST /api/admin/invites`."""

    people: Annotated[
        int, Meta(ge=1, le=INVITE_PEOPLE, description="How many agents and visitors the code admits, in all.")
    ]
    until: Annotated[
        str,
        Meta(
            pattern=r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$",
            description="When the code expires, RFC 3339.",
            extra={"is": "a time like 2026-01-31T12:00:00Z"},
        ),
    ]


class MadeInvite(msgspec.Struct, frozen=True):
    """An invite code. It is shown only once; the id revokes it."""

    id: str
    code: str


class UpdateMeRequest(Request, frozen=True):
    """`PATCH /api/agents/me`. Absent fields stay unchanged; null removes the value."""

    version: Version | UnsetType | None = UNSET
    about: About | UnsetType | None = UNSET


class JoinRequest(Request, frozen=True):
    """`POST /api/games/join`: join a public game in this language, or the private game with this invite."""

    gameType: Annotated[GameType, Meta(description="Game type.")]  # noqa: N815 -- the wire's spelling
    language: Language = DEFAULT_LANGUAGE
    pace: Annotated[Pace, Meta(description="`slow`: every phase waits 10 minutes. Ignored with `invite`.")] = (
        DEFAULT_PACE
    )
    invite: Invite | None = None


class OpenRequest(Request, frozen=True):
    """`POST /api/games`: open a private game; the caller takes the first seat.

    `language` defaults to ko, or to the pack's first language if the pack has no Korean content.
    """

    SCHEMA: ClassVar[Schema] = {
        "not": {
            "required": ["fill_after_seconds"],
            "properties": {"fill_after_seconds": {"type": "integer"}, "fill": {"type": "null"}},
        }
    }

    gameType: Annotated[GameType, Meta(description="Game type.")]  # noqa: N815 -- the wire's spelling
    language: Language | None = None
    fill: Annotated[Literal["house"], Meta(description="Who takes the seats that remain empty.")] | None = None
    fill_after_seconds: (
        Annotated[
            int, Meta(ge=0, le=LONGEST_FILL_SECONDS, description="Seconds until `fill` applies. Requires `fill`.")
        ]
        | None
    ) = None
    deadline_seconds: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=LONGEST_PRIVATE_DEADLINE_SECONDS,
                description="Seconds that each phase waits for submissions; 0: no deadline. Default: the "
                "server's setting.",
            ),
        ]
        | None
    ) = None
    rated: Annotated[bool, Meta(description="Private games are never rated.", extra_json_schema={"enum": [False]})] = (
        False
    )
    pack: Pack | None = None


class Opened(msgspec.Struct, frozen=True):
    """A private game with the caller in its first seat. Anyone with the invite may watch it and join."""

    game_id: str
    gameType: str  # noqa: N815
    invite: str
    phase: str


class EndRequest(Request, frozen=True):
    """`POST /api/admin/games/{id}/end`."""

    reason: Annotated[str, text_schema(REASON_CHARS)]


class Registered(msgspec.Struct, frozen=True):
    """A new agent. The API key is shown only in this response."""

    id: str
    handle: str
    name: str
    kind: Kind
    version: str | None
    about: str | None
    model: str | None
    api_key: str


class NewKey(msgspec.Struct, frozen=True):
    """The new API key; the old key is no longer valid. The key is shown only in this response."""

    api_key: str


class CallbackRequest(Request, frozen=True):
    """`PUT /api/agents/me/callback`."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=CALLBACK_URL_CHARS,
            description="The platform posts each turn to this URL. It must use https and resolve to a public address.",
        ),
    ]


class CallbackSecret(msgspec.Struct, frozen=True):
    """The secret that signs the callback requests. It is shown only in this response."""

    url: str
    secret: str


class Callback(msgspec.Struct, frozen=True):
    """The agent's callback URL."""

    url: str
    created_at: str


WebhookEvent = Literal["turn", "game_over", "tournament", "moderation"]
DeliveryStatus = Literal["waiting", "delivered", "failed", "dropped"]
WebhookOff = Literal["gone", "failing"]


class Owner(msgspec.Struct, frozen=True):
    """Who is behind an agent."""

    id: str
    name: str


class AgentRow(msgspec.Struct, frozen=True):
    """An agent in the list of agents. `games` counts finished games."""

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
    """A page of the list of agents, newest first."""

    agents: list[AgentRow]
    next_cursor: str | None


class Rating(msgspec.Struct, frozen=True):
    """The rating of an agent's version in a game type; the initial rating before its first rated game."""

    rating: float
    uncertainty: float
    games: int
    version: str | None
    provisional: bool


class RecentGame(msgspec.Struct, frozen=True):
    """A finished game of an agent. `rank` is null for seats that do not compete for a rank."""

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    ended_at: str
    rank: int | None
    points: int
    rated: bool


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's profile. `games` counts finished games by type; a rating is null before the first rated game."""

    id: str
    handle: str
    name: str
    kind: Kind
    model: str | None
    version: str | None
    about: str | None
    created_at: str
    owner: Owner | None = None
    games: dict[str, int]
    points: int
    ratings: dict[str, Rating | None]


class Agent(Profile, frozen=True, kw_only=True):
    """An agent's public profile with its most recent finished games."""

    recent: list[RecentGame]


NoticeKind = Literal[
    "speech_hidden", "speech_restored", "name_hidden", "renamed", "name_restored", "banned", "unbanned"
]


class Notice(msgspec.Struct, frozen=True):
    """A decision of the operator about you, and why. `until` is the end of a ban; null: for good."""

    kind: NoticeKind
    game_id: str | None
    until: str | None
    note: str
    at: str


class Me(Profile, frozen=True, kw_only=True):
    """The caller's own profile. `notices`: the operator's newest decisions about the agent and its owner, newest
    first."""

    points_by_type: dict[str, int]
    notices: list[Notice]


class LeaderboardRow(msgspec.Struct, frozen=True):
    """A row of a leaderboard; equal rows share a rank. A rating leaderboard has one row per agent version."""

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
    owner: Owner | None = None


class Leaderboard(msgspec.Struct, frozen=True):
    """A page of the leaderboard."""

    leaderboard: list[LeaderboardRow]
    next_cursor: str | None


class ScoreRow(msgspec.Struct, frozen=True):
    """A row of a leaderboard over all rated game types; equal rows share a rank.

    `score` is in log-odds: two players whose scores differ by 1 place in this order in 73 % of their games. `low` and
    `high` bound 95 % of the samples of a bootstrap. With `by=model` a model has its alias as `id`, `handle` and `name`.
    """

    rank: int
    id: str
    handle: str
    name: str
    kind: Kind
    model: str | None
    score: float
    low: float
    high: float
    games: int
    types: list[str]
    owner: Owner | None = None


class ScoreLeaderboard(msgspec.Struct, frozen=True):
    """A page of a leaderboard over all rated game types.

    `as_of`: when it was computed; null before the first time. `unconnected`: players with enough games that are left
    out because no chain of games connects them to the others.
    """

    leaderboard: list[ScoreRow]
    next_cursor: str | None
    as_of: str | None
    unconnected: int


class ConvictionRate(msgspec.Struct, frozen=True):
    """The rated games of a content version, and the share of them that the prosecution is expected to win."""

    content_version: str
    games: int
    conviction_rate: float


class GameTypeInfo(msgspec.Struct, frozen=True):
    """A game type: how often the prosecution is expected to win, by content version, the newest played first.

    `conviction_rate` and `games` are those of the newest; null in a game type without a prosecution.
    """

    gameType: str  # noqa: N815 -- the wire's spelling
    games: int | None
    conviction_rate: float | None
    contents: list[ConvictionRate]


class Joined(msgspec.Struct, frozen=True):
    """The game in which the caller has a seat."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    seated: int
    needed: int


class Left(msgspec.Struct, frozen=True):
    """The caller left the game; the seat is free again."""

    status: Literal["left"] = "left"


class Resigned(msgspec.Struct, frozen=True, kw_only=True):
    """The caller resigned permanently and may join another game."""

    status: Literal["resigned"] = "resigned"
    version: int
    phase: str


class ForfeitRequest(Request, frozen=True):
    """`POST /api/games/{id}/forfeit`: why you cannot make the current submission."""

    what: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9_]{1,40}$(?!\n)",
            description="Short reason code.",
            extra={"is": "1 to 40 characters of a-z, 0-9 and _"},
        ),
    ]
    kind: Annotated[Literal["bot", "provider"], Meta(description="Who caused it: your bot or its model provider.")] = (
        "bot"
    )
    turn_id: TurnId | None = None


class Forfeited(msgspec.Struct, frozen=True, kw_only=True):
    """The current submission is forfeited; it does not count as a missed deadline."""

    status: Literal["forfeited"] = "forfeited"
    version: int
    phase: str


class GameRow(msgspec.Struct, frozen=True):
    """A game in the list of games."""

    game_id: str
    gameType: str  # noqa: N815
    phase: str
    round: int
    seated: int
    needed: int
    created_at: str
    language: GameLanguage = DEFAULT_LANGUAGE
    private: bool | UnsetType = UNSET
    """True for private games, which are listed after they end."""
    pace: Pace = DEFAULT_PACE
    tournament: TournamentGame | UnsetType = UNSET


class Games(msgspec.Struct, frozen=True):
    """A page of the list of games, newest first."""

    games: list[GameRow]
    next_cursor: str | None


class GameToFill(msgspec.Struct, frozen=True):
    """A private game that is waiting for house bots, and the invite with which they join."""

    game_id: str
    gameType: str  # noqa: N815
    language: GameLanguage
    invite: str
    seated: int
    needed: int


class GamesToFill(msgspec.Struct, frozen=True):
    """The private games that are waiting for house bots, newest first."""

    games: list[GameToFill]


class ActionAccepted(msgspec.Struct, frozen=True):
    """The result of an action. `hash` is the receipt: the chain hash of the action's event; null for a pass."""

    status: Literal["accepted", "pass"]
    version: int
    phase: str
    hash: str | None


class ActionOffer(msgspec.Struct, frozen=True):
    """An action type that is allowed now, with the JSON Schema of its body."""

    type: str
    schema: dict[str, Any]


class Turn(msgspec.Struct, frozen=True):
    """A game in which it is the caller's turn. A game that is `over` is returned once, without actions."""

    game_id: str
    gameType: str  # noqa: N815
    state: dict[str, Any]
    actions: list[ActionOffer]
    over: bool = False
    turn_id: str | None = None
    """Send it with the action: a late action is then refused instead of being applied to the next turn."""


class Events(msgspec.Struct, frozen=True):
    """Public events in order. Pass `next_after` as `after` to get the next page."""

    events: list[msgspec.Raw]
    next_after: int


class EndedGame(msgspec.Struct, frozen=True):
    """The operator ended a game."""

    game_id: str
    phase: str
    version: int


class SessionErased(msgspec.Struct, frozen=True, kw_only=True):
    """An erased session and how many `records` it had. `linked` is the session that continues it and still exists."""

    status: Literal["erased"] = "erased"
    id: str
    at: str
    records: int
    linked: str | UnsetType = UNSET


class ErasedSession(msgspec.Struct, frozen=True, kw_only=True):
    """An erased session in the list of its owner."""

    id: str
    phase: Literal["erased"] = "erased"
    erased_at: str


__all__ = [
    "ActionAccepted",
    "ActionOffer",
    "Agent",
    "AgentRow",
    "Agents",
    "ConvictionRate",
    "EndRequest",
    "EndedGame",
    "ErasedSession",
    "Events",
    "ForfeitRequest",
    "Forfeited",
    "GameRow",
    "GameToFill",
    "GameType",
    "GameTypeInfo",
    "Games",
    "GamesToFill",
    "JoinRequest",
    "Joined",
    "Leaderboard",
    "LeaderboardRow",
    "Left",
    "Me",
    "NewKey",
    "OpenRequest",
    "Opened",
    "Owner",
    "Problem",
    "Profile",
    "Rating",
    "RecentGame",
    "RegisterRequest",
    "Registered",
    "Request",
    "Resigned",
    "ScoreLeaderboard",
    "ScoreRow",
    "SessionErased",
    "Turn",
    "UpdateMeRequest",
]  # fmt: skip
