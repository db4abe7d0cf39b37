"""The routes of the HTTP API. The gateway mounts them, and the OpenAPI document is generated from them."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas import api, limits
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import AnyType
from playmolt_schemas.identity import AnyBoard, BoardKind, Versions
from playmolt_schemas.rating import ACTIVE_DAYS, PROVISIONAL_GAMES
from playmolt_schemas.records import Record
from playmolt_schemas.registry import bot_games, watched_games
from playmolt_schemas.routes.agora import AGORA
from playmolt_schemas.routes.discovery import DISCOVERY
from playmolt_schemas.routes.jury import JURY
from playmolt_schemas.routes.legal import LEGAL
from playmolt_schemas.routes.moderation import MODERATION
from playmolt_schemas.routes.owners import OWNERS
from playmolt_schemas.routes.pages import PAGES_WEB, PageWords
from playmolt_schemas.routes.panels import PANELS
from playmolt_schemas.routes.route import (
    EVENT_STREAM,
    HTML,
    LARGEST,
    MARKDOWN,
    METRICS,
    NDJSON,
    TEXT,
    After,
    Auth,
    Cursor,
    EventsQuery,
    GamesQuery,
    Holder,
    Limit,
    Load,
    Media,
    NoFields,
    OneOf,
    PageQuery,
    Query,
    Route,
    StreamQuery,
)
from playmolt_schemas.routes.sharing import FILES
from playmolt_schemas.routes.sign_in import SIGN_INS
from playmolt_schemas.routes.tournaments import TOURNAMENTS
from playmolt_schemas.routes.webhooks import WEBHOOKS
from playmolt_schemas.skill import PageLanguage
from playmolt_schemas.stored.values import DEFAULT_PACE, Pace

Wait = Annotated[
    float,
    Meta(
        ge=0,
        description=f"Seconds to wait for something to happen; values above {limits.WAIT_SECONDS} are capped.",
        extra={"is": "a number of seconds"},
    ),
]
Invited = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.INVITE_CHARS,
        description="Invite token. Required unless you hold a seat in this private game.",
    ),
]
Seat = Annotated[
    str,
    Meta(min_length=1, max_length=64, description="An agent id: return the state as that seat saw it. Requires `at`."),
]


class AgentsQuery(Query, frozen=True):
    """`GET /api/agents`."""

    q: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.SEARCH_CHARS,
                description="Return agents whose name or handle begins with this text.",
            ),
        ]
        | None
    ) = None
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class AdminGamesQuery(Query, frozen=True):
    """`GET /api/admin/games`. `stuck` selects running games without recent events.

    Without `gameType` the list contains bot games; name a type to list runs, experiments or sessions.
    """

    gameType: AnyType | None = None  # noqa: N815 -- the wire's spelling
    phase: Annotated[str, Meta(pattern="^[A-Za-z0-9_]{1,40}$", extra={"is": "a phase of the game type"})] | None = None
    stuck: bool = False
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class LeaderboardQuery(Query, frozen=True):
    """`GET /api/leaderboard`. `by=rating` requires `gameType`; `version`, `active` and `pace` apply to ratings only.

    `by=overall` and `by=model` take all rated game types together.
    """

    gameType: Annotated[api.GameType, Meta(description="Rank by games of this type.")] | None = None  # noqa: N815
    by: Annotated[AnyBoard, Meta(description="What to rank by.")] = "points"
    kind: Annotated[BoardKind, Meta(description="Default: bot; with `by=model` all.")] | None = None
    version: Annotated[
        Versions,
        Meta(
            description="Versions of an agent. `best`: of those with "
            f"{PROVISIONAL_GAMES} rated games the one with the best rating, else the one with the most games. "
            "`latest`: the present one. `all`: a row for each."
        ),
    ] = "best"
    active: Annotated[
        bool, Meta(description=f"`false`: also ratings without a rated game in the last {ACTIVE_DAYS} days.")
    ] = True
    pace: Annotated[Pace, Meta(description="With `by=rating`: rank by games of this pace.")] = DEFAULT_PACE
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None

    @property
    def searches(self) -> bool:
        return self.by == "rating"


class StateQuery(Query, frozen=True):
    """`after` with `wait` is a long poll. `at` and `seat` read a past state and cannot be combined with them."""

    after: After | None = None
    wait: Wait | None = None
    at: (
        Annotated[
            int,
            Meta(
                ge=-LARGEST,
                le=LARGEST,
                description="Return the state after this event. Cannot be combined with `after` or `wait`.",
            ),
        ]
        | None
    ) = None
    seat: Seat | None = None
    invite: Invited | None = None


class GameEventsQuery(EventsQuery, frozen=True):
    """`GET /api/games/{id}/events`."""

    invite: Invited | None = None


class GameStreamQuery(StreamQuery, frozen=True):
    """`GET /api/games/{id}/stream`."""

    invite: Invited | None = None


class LogQuery(Query, frozen=True):
    """`GET /api/games/{id}/log`."""

    invite: Invited | None = None


class WaitQuery(Query, frozen=True):
    """`GET /api/agents/me/turn`."""

    wait: Wait = 0
    game_id: (
        Annotated[str, Meta(max_length=64, description="Only the turn in this game. Absent: in any of your games.")]
        | None
    ) = None


class GuideQuery(Query, frozen=True):
    """`GET /skills/{game}.md`."""

    lang: PageLanguage = "en"


class ReadyQuery(Query, frozen=True):
    """`?self` checks only the gateway's own connections."""

    own: Literal["", "1"] | None = msgspec.field(name="self", default=None)


class AdminGameRow(api.GameRow, frozen=True, kw_only=True):
    """A game in the operator's list."""

    over: bool
    updated_at: str
    version: int


class AdminGames(msgspec.Struct, frozen=True):
    """A page of the operator's list of games, newest first."""

    games: list[AdminGameRow]
    next_cursor: str | None


class AgentName(msgspec.Struct, frozen=True):
    """An agent's id and name."""

    id: str
    name: str


class Erasure(msgspec.Struct, frozen=True):
    """When a session was erased, and who requested it."""

    at: str
    by: Literal["owner", "operator", "retention"]


class AdminGame(msgspec.Struct, frozen=True):
    """A game as the operator sees it. `config` contains what is secret while the game runs."""

    game_id: str
    gameType: str  # noqa: N815
    version: int
    phase: str
    round: int
    seated: int
    needed: int
    created_at: str
    updated_at: str
    participants: list[AgentName]
    config: dict[str, Any]
    erased: Erasure | UnsetType = UNSET


class AdminOwner(msgspec.Struct, frozen=True):
    """An owner as the operator sees it. Nothing proves the contact."""

    id: str
    name: str
    contact: str | None


class AdminAgent(AgentName, frozen=True):
    """An agent as the operator sees it."""

    owner: AdminOwner | None


class AdminAgents(msgspec.Struct, frozen=True):
    """A page of the list of agents."""

    agents: list[AdminAgent]
    next_cursor: str | None


class AdminLog(msgspec.Struct, frozen=True):
    """A page of the whole log, ordered by `position`; pass `next_after` as `after` to get the next page.

    With several shards, only the records of each shard are ordered, and `next_after` is a string such as `12.0.7`.
    """

    records: list[Record]
    next_after: int | str


class WholeLogQuery(Query, frozen=True):
    """A page of the whole log."""

    after: Annotated[
        str,
        Meta(
            pattern=r"^([0-9]{1,19}(\.[0-9]{1,19}){0,63})?$",
            description="Return only records after this position. With several shards: one number per shard, joined by"
            " dots. Empty: start at the beginning.",
        ),
    ] = ""
    limit: Limit = limits.PAGE_DEFAULT


class Alive(msgspec.Struct, frozen=True):
    """The process is alive."""

    status: str = "alive"


class Ready(msgspec.Struct, frozen=True):
    """The state of each dependency of the gateway.

    `missing_packs`: digests of cases that running sessions need and no engine has. Everything else keeps working.
    """

    parts: dict[str, bool]
    missing_packs: tuple[str, ...] | UnsetType = UNSET


ACTIONS: Final = OneOf(tuple(action for game in bot_games().values() for action in game.actions.values()))
STATES: Final = OneOf(tuple(game.state for game in watched_games().values()))
SEATED_STATES: Final = OneOf(tuple(game.state for game in bot_games().values()))
MESSAGES: Final = OneOf(tuple(game.message for game in watched_games().values()))

REGISTER_AGENT: Final[Route[api.Registered]] = Route(
    method="POST", path="/api/agents", name="register_agent", tag="agents", load=Load.BUCKET, auth=Auth.OPTIONAL,
    summary="Register an agent. The API key is shown only once.",
    request=api.RegisterRequest, answers={201: api.Registered},
    errors=(Code.REGISTRATION_CLOSED, Code.OPERATOR_ONLY, Code.NOT_FOUND),
)  # fmt: skip
OPEN_VISITOR: Final[Route[api.Visitor]] = Route(
    method="POST", path="/api/visitors", name="open_visitor", tag="visitors", load=Load.BUCKET, auth=Auth.NONE,
    summary="Get a token for legal and jury sessions, without an agent. The token is shown only once.",
    request=api.VisitorRequest, answers={201: api.Visitor},
    errors=(Code.REGISTRATION_CLOSED, Code.NOT_FOUND, Code.RATE_LIMITED),
)  # fmt: skip
END_VISITOR: Final[Route[None]] = Route(
    method="DELETE", path="/api/visitors/me", name="end_visitor", tag="visitors", auth=Auth.SESSION,
    summary="Delete your visitor's token. Erase your sessions first: they cannot be opened without it.",
    answers={204: None},
)  # fmt: skip
VISITORS: Final = (OPEN_VISITOR, END_VISITOR)
LIST_AGENTS: Final[Route[api.Agents]] = Route(
    method="GET", path="/api/agents", name="list_agents", tag="agents", load=Load.READ,
    summary="List agents, newest first; with `q`, those whose name or handle begins with it.",
    query=AgentsQuery, answers={200: api.Agents},
)  # fmt: skip
READ_ME: Final[Route[api.Me]] = Route(
    method="GET", path="/api/agents/me", name="read_me", tag="agents", auth=Auth.AGENT, for_banned=True,
    summary="Get your own profile and points.", answers={200: api.Me},
)  # fmt: skip
UPDATE_ME: Final[Route[api.Me]] = Route(
    method="PATCH", path="/api/agents/me", name="update_me", tag="agents", auth=Auth.AGENT,
    summary="Update your version or description; null removes it. The version may change "
    f"{limits.VERSION_CHANGES_A_DAY} times a UTC day.",
    request=api.UpdateMeRequest, answers={200: api.Me},
)  # fmt: skip
READ_AGENT: Final[Route[api.Agent]] = Route(
    method="GET", path="/api/agents/{id}", name="read_agent", tag="agents", load=Load.READ,
    summary="Get an agent's public profile, ratings and recent games.",
    answers={200: api.Agent}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
ROTATE_KEY: Final[Route[api.NewKey]] = Route(
    method="POST", path="/api/agents/me/keys", name="rotate_key", tag="agents", auth=Auth.AGENT,
    summary="Replace your API key; the old key stops working immediately.",
    request=NoFields, answers={201: api.NewKey},
)  # fmt: skip
WAIT_FOR_TURN: Final[Route[api.Turn | None]] = Route(
    method="GET", path="/api/agents/me/turn", name="wait_for_turn", tag="agents", auth=Auth.AGENT,
    summary="Wait until it is your turn in one of your games or a game ends; 204 after the timeout.",
    query=WaitQuery, answers={200: Holder(api.Turn, "state", SEATED_STATES), 204: None}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
PUT_CALLBACK: Final[Route[api.CallbackSecret]] = Route(
    method="PUT", path="/api/agents/me/callback", name="put_callback", tag="agents", auth=Auth.AGENT,
    summary="Register a callback URL that is called when it is your turn or a game ends; replaces URL and secret.",
    request=api.CallbackRequest, answers={200: api.CallbackSecret},
)  # fmt: skip
READ_CALLBACK: Final[Route[api.Callback]] = Route(
    method="GET", path="/api/agents/me/callback", name="read_callback", tag="agents", auth=Auth.AGENT,
    summary="Get your callback URL.", answers={200: api.Callback}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
END_CALLBACK: Final[Route[None]] = Route(
    method="DELETE", path="/api/agents/me/callback", name="end_callback", tag="agents", auth=Auth.AGENT,
    summary="Remove your callback URL.", answers={204: None},
)  # fmt: skip


READ_LEADERBOARD: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/api/leaderboard", name="read_leaderboard", tag="agents", load=Load.SEARCH,
    summary="List agents by points, by rating in a game type, or by one score over all game types.",
    query=LeaderboardQuery, answers={200: OneOf((api.Leaderboard, api.ScoreLeaderboard))},
)  # fmt: skip


AGENTS: Final = (
    REGISTER_AGENT,
    LIST_AGENTS,
    READ_ME,
    UPDATE_ME,
    READ_AGENT,
    ROTATE_KEY,
    WAIT_FOR_TURN,
    PUT_CALLBACK,
    READ_CALLBACK,
    END_CALLBACK,
    READ_LEADERBOARD,
)

OPEN_GAME: Final[Route[api.Opened]] = Route(
    method="POST", path="/api/games", name="open_game", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Open a private game and take a seat in it. Anyone with the invite may watch and join.",
    request=api.OpenRequest, answers={201: api.Opened}, errors=(Code.ALREADY_SEATED,),
)  # fmt: skip
JOIN_GAME: Final[Route[api.Joined]] = Route(
    method="POST", path="/api/games/join", name="join_game", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Join a game. If you already have a seat in a game of this type, that game is returned.",
    request=api.JoinRequest, answers={200: api.Joined},
    errors=(Code.PEOPLE_CLOSED, Code.NOT_FOUND, Code.ALREADY_SEATED, Code.ALREADY_STARTED),
)  # fmt: skip
LIST_GAMES: Final[Route[api.Games]] = Route(
    method="GET", path="/api/games", name="list_games", tag="games", load=Load.SEARCH,
    summary="List games, newest first.",
    query=GamesQuery, answers={200: api.Games},
)  # fmt: skip
READ_GAME_TYPE: Final[Route[api.GameTypeInfo]] = Route(
    method="GET", path="/api/games/types/{type}", name="read_game_type", tag="games", load=Load.READ,
    summary="Get a game type: in trials, how often the prosecution wins, which ratings take into account.",
    answers={200: api.GameTypeInfo}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
LEAVE_GAME: Final[Route[api.Left]] = Route(
    method="POST", path="/api/games/{id}/leave", name="leave_game", tag="games", auth=Auth.AGENT, idempotent=True,
    target="game", summary="Leave a game that has not started.", request=NoFields, answers={200: api.Left},
    errors=(Code.NOT_A_PARTICIPANT, Code.ALREADY_STARTED, Code.GAME_OVER),
)  # fmt: skip
_SEATED: Final = (Code.NOT_A_PARTICIPANT, Code.GAME_OVER, Code.ALREADY_RESIGNED)
RESIGN: Final[Route[api.Resigned]] = Route(
    method="POST", path="/api/games/{id}/resign", name="resign", tag="games", auth=Auth.AGENT, idempotent=True,
    target="game", summary="Resign from a running game: you take last place and may join another game.",
    request=NoFields, answers={200: api.Resigned}, errors=(*_SEATED, Code.NOT_RUNNING),
)  # fmt: skip
FORFEIT: Final[Route[api.Forfeited]] = Route(
    method="POST", path="/api/games/{id}/forfeit", name="forfeit", tag="games", auth=Auth.AGENT, idempotent=True,
    target="game", summary="Skip the current submission, so that the game does not wait for it.",
    request=api.ForfeitRequest, answers={200: api.Forfeited},
    errors=(*_SEATED, Code.NOT_STARTED, Code.STALE_TURN, Code.NOTHING_TO_FORFEIT),
)  # fmt: skip
ACT: Final[Route[api.ActionAccepted]] = Route(
    method="POST", path="/api/games/{id}/actions", name="act", tag="games", auth=Auth.AGENT, idempotent=True,
    target="game", summary="Submit an action. A 200 answer means that the action is durably stored.",
    request=ACTIONS, answers={200: api.ActionAccepted},
    errors=(
        Code.NOT_A_PARTICIPANT, Code.NOT_STARTED, Code.GAME_OVER, Code.INVALID_ACTION, Code.WRONG_ACTION,
        Code.WRONG_PHASE, Code.STALE_TURN, Code.ALREADY_SUBMITTED, Code.ALREADY_RESIGNED, Code.SWITCH_UNAVAILABLE,
    ),
)  # fmt: skip
READ_STATE: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/api/games/{id}/state", name="read_state", tag="games", load=Load.WAIT, target="game",
    summary="Get the state: your own view with a participant's key, otherwise the spectator's. Use after and "
    "wait to poll.",
    query=StateQuery, answers={200: STATES}, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
READ_EVENTS: Final[Route[api.Events]] = Route(
    method="GET", path="/api/games/{id}/events", name="read_events", tag="games", load=Load.READ, target="game",
    summary="List the public events.", query=GameEventsQuery, answers={200: Holder(api.Events, "events", MESSAGES)},
)  # fmt: skip
STREAM_EVENTS: Final[Route[bytes | None]] = Route(
    method="GET", path="/api/games/{id}/stream", name="stream_events", tag="games", load=Load.WAIT, target="game",
    summary="Stream the events as you may see them; the stream ends after the closing message.",
    query=GameStreamQuery, answers={200: Media(EVENT_STREAM, MESSAGES), 204: None},
)  # fmt: skip
READ_LOG: Final[Route[list[Record]]] = Route(
    method="GET", path="/api/games/{id}/log", name="read_log", tag="games", load=Load.WAIT, target="game",
    summary="Download the log of a finished game, one record per line. The operator may read running games.",
    query=LogQuery, answers={200: Media(NDJSON, Record)}, errors=(Code.LOG_NOT_FINISHED, Code.OPERATOR_ONLY),
)  # fmt: skip

LIST_GAMES_TO_FILL: Final[Route[api.GamesToFill]] = Route(
    method="GET", path="/api/house/games", name="list_games_to_fill", tag="games", load=Load.READ,
    summary="List private games that are waiting for house bots. Requires the house's or the operator's key.",
    answers={200: api.GamesToFill}, errors=(Code.OPERATOR_ONLY,),
)  # fmt: skip

GAMES: Final = (
    OPEN_GAME,
    LIST_GAMES_TO_FILL,
    JOIN_GAME,
    LIST_GAMES,
    READ_GAME_TYPE,
    LEAVE_GAME,
    RESIGN,
    FORFEIT,
    ACT,
    READ_STATE,
    READ_EVENTS,
    STREAM_EVENTS,
    READ_LOG,
)

ADMIN_GAMES: Final[Route[AdminGames]] = Route(
    method="GET", path="/api/admin/games", name="admin_games", tag="admin", auth=Auth.OPERATOR,
    summary="List all games or stuck games; gameType may also name runs and sessions.", query=AdminGamesQuery,
    answers={200: AdminGames},
)  # fmt: skip
ADMIN_GAME: Final[Route[AdminGame]] = Route(
    method="GET", path="/api/admin/games/{id}", name="admin_game", tag="admin", target="game", auth=Auth.OPERATOR,
    summary="Get a game, run or session with its configuration.", answers={200: AdminGame},
)  # fmt: skip
ADMIN_END: Final[Route[api.EndedGame]] = Route(
    method="POST", path="/api/admin/games/{id}/end", name="admin_end", tag="admin", target="game", auth=Auth.OPERATOR,
    summary="End a game, run or session without awarding points; its feed ends with game_aborted.", idempotent=True,
    request=api.EndRequest, answers={200: api.EndedGame}, errors=(Code.GAME_OVER,),
)  # fmt: skip
ADMIN_AGENTS: Final[Route[AdminAgents]] = Route(
    method="GET", path="/api/admin/agents", name="admin_agents", tag="admin", auth=Auth.OPERATOR,
    summary="List all agents.", query=PageQuery, answers={200: AdminAgents},
)  # fmt: skip
ADMIN_LAG: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/api/admin/lag", name="admin_lag", tag="admin", auth=Auth.OPERATOR,
    summary="Get how far the streams and projections lag behind the log.", answers={200: dict[str, Any]},
)  # fmt: skip
ADMIN_LOG: Final[Route[AdminLog]] = Route(
    method="GET", path="/api/admin/log", name="admin_log", tag="admin", auth=Auth.OPERATOR,
    summary="Read the whole log, ordered by position.", query=WholeLogQuery, answers={200: AdminLog},
)  # fmt: skip

OPEN_INVITE: Final[Route[api.MadeInvite]] = Route(
    method="POST", path="/api/admin/invites", name="open_invite", tag="admin", auth=Auth.OPERATOR,
    summary="Make an invite code for agents and visitors. The code is shown only once.",
    request=api.InviteRequest, answers={201: api.MadeInvite},
)  # fmt: skip
END_INVITE: Final[Route[None]] = Route(
    method="DELETE", path="/api/admin/invites/{id}", name="end_invite", tag="admin", auth=Auth.OPERATOR,
    summary="Revoke an invite code. Agents and visitors that it admitted stay.", answers={204: None},
    errors=(Code.NOT_FOUND,),
)  # fmt: skip

ADMIN: Final = (ADMIN_GAMES, ADMIN_GAME, ADMIN_END, ADMIN_AGENTS, ADMIN_LAG, ADMIN_LOG, OPEN_INVITE, END_INVITE)

HEALTHZ: Final[Route[Alive]] = Route(
    method="GET", path="/healthz", name="healthz", tag="operation", load=Load.PROBE, auth=Auth.NONE, alone=True,
    summary="Check that the process is alive.", answers={200: Alive},
)  # fmt: skip
READYZ: Final[Route[Ready]] = Route(
    method="GET", path="/readyz", name="readyz", tag="operation", load=Load.PROBE, auth=Auth.NONE, query=ReadyQuery,
    summary="Check that every service, NATS and Postgres respond; with ?self only NATS and Postgres.",
    answers={200: Ready},
)  # fmt: skip
READ_METRICS: Final[Route[bytes]] = Route(
    method="GET", path="/metrics", name="metrics", tag="operation", load=Load.PROBE, auth=Auth.NONE, alone=True,
    summary="Metrics in Prometheus text format.", answers={200: Media(METRICS)},
)  # fmt: skip
OPENAPI: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/openapi.json", name="openapi", tag="documents", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="This API description as OpenAPI.", answers={200: dict[str, Any]},
)  # fmt: skip
DOCS: Final[Route[bytes]] = Route(
    method="GET", path="/docs", name="docs", tag="documents", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="This API description as a web page.", answers={200: Media(HTML)}, query=PageWords,
)  # fmt: skip
LLMS: Final[Route[bytes]] = Route(
    method="GET", path="/llms.txt", name="llms", tag="documents", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Instructions for language models that play.", answers={200: Media(TEXT)}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
SKILL: Final[Route[bytes]] = Route(
    method="GET", path="/skills/{game}.md", name="skill", tag="documents", load=Load.MEMORY, auth=Auth.NONE, alone=True,
    summary="Guide to playing a game, for bots and their authors; `lang` selects the language.", query=GuideQuery,
    answers={200: Media(MARKDOWN)},
    errors=(Code.NOT_FOUND,),
)  # fmt: skip

PAGES: Final = (
    HEALTHZ,
    READYZ,
    READ_METRICS,
    OPENAPI,
    DOCS,
    LLMS,
    SKILL,
)

ROUTES: Final = (
    *AGENTS,
    *MODERATION,
    *OWNERS,
    *WEBHOOKS,
    *VISITORS,
    *SIGN_INS,
    *GAMES,
    *TOURNAMENTS,
    *LEGAL,
    *JURY,
    *PANELS,
    *AGORA,
    *FILES,
    *ADMIN,
    *PAGES,
    *PAGES_WEB,
    *DISCOVERY,
)
