"""The HTTP API, declared once: the gateway mounts these routes, and the OpenAPI document is made of them."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas import api, limits
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import AnyType
from playmolt_schemas.identity import BoardKind, Ranking, Versions
from playmolt_schemas.records import Record
from playmolt_schemas.registry import bot_games, watched_games
from playmolt_schemas.routes.agora import AGORA
from playmolt_schemas.routes.jury import JURY
from playmolt_schemas.routes.legal import LEGAL
from playmolt_schemas.routes.pages import PAGES_WEB, PageWords
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
    Limit,
    Media,
    NoFields,
    OneOf,
    PageOf,
    PageQuery,
    Query,
    Route,
    StreamQuery,
)
from playmolt_schemas.skill import PageLanguage

Wait = Annotated[
    float,
    Meta(
        ge=0,
        description=f"Seconds to wait; above {limits.WAIT_SECONDS} counts as that.",
        extra={"is": "a number of seconds"},
    ),
]
Invited = Annotated[
    str,
    Meta(min_length=1, max_length=limits.INVITE_CHARS, description="A private game's invite, for who sits not there."),
]
Seat = Annotated[
    str,
    Meta(
        min_length=1, max_length=64, description="An agent's id: the state as that seat saw it. Goes with `at` alone."
    ),
]


class AgentsQuery(Query, frozen=True):
    """`GET /api/agents`."""

    q: (
        Annotated[
            str,
            Meta(min_length=1, max_length=limits.SEARCH_CHARS, description="The beginning of a name or handle."),
        ]
        | None
    ) = None
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class AdminGamesQuery(Query, frozen=True):
    """`GET /api/admin/games`; `stuck` keeps those that run and in which nothing happened for long.

    Without `gameType` the games of bots; runs, experiments and sessions are named.
    """

    gameType: AnyType | None = None  # noqa: N815 -- the wire's spelling
    phase: (
        Annotated[str, Meta(pattern="^[A-Za-z0-9_]{1,40}$", extra={"is": "a phase, as the type names it"})] | None
    ) = None
    stuck: bool = False
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class LeaderboardQuery(Query, frozen=True):
    """`GET /api/leaderboard`; `by=rating` needs `gameType`, and `version` says something of ratings alone."""

    gameType: api.GameType | None = None  # noqa: N815
    by: Ranking = "points"
    kind: BoardKind = "bot"
    version: Versions = "latest"
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class StateQuery(Query, frozen=True):
    """`after` with `wait` is a long poll; `at` and `seat` look back and exclude both."""

    after: After | None = None
    wait: Wait | None = None
    at: (
        Annotated[
            int,
            Meta(
                ge=-LARGEST,
                le=LARGEST,
                description="The state as it was after this event. Excludes `after` and `wait`.",
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


class GuideQuery(Query, frozen=True):
    """`GET /skills/{game}.md`."""

    lang: PageLanguage = "en"


class ReadyQuery(Query, frozen=True):
    """`?self` looks at the gateway's own connections only."""

    own: Literal["", "1"] | None = msgspec.field(name="self", default=None)


class AdminGameRow(api.GameRow, frozen=True, kw_only=True):
    """One line of the operator's list."""

    over: bool
    updated_at: str
    version: int


class AdminGames(msgspec.Struct, frozen=True):
    """A page of the operator's list of games, newest first."""

    games: list[AdminGameRow]
    next_cursor: str | None


class AgentName(msgspec.Struct, frozen=True):
    """Who an agent is."""

    id: str
    name: str


class Erasure(msgspec.Struct, frozen=True):
    """When a session was erased, and on whose word."""

    at: str
    by: Literal["owner", "operator", "retention"]


class AdminGame(msgspec.Struct, frozen=True):
    """The operator's page of a game; `config` holds what is secret while the game runs."""

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


class AdminAgents(msgspec.Struct, frozen=True):
    """A page of the agents."""

    agents: list[AgentName]
    next_cursor: str | None


class AdminLog(msgspec.Struct, frozen=True):
    """A page of the whole log in the order of `position`; `next_after` is the `after` of the next page.

    Of a log of several shards each shard's records are in that order, and `next_after` is a text: `12.0.7`.
    """

    records: list[Record]
    next_after: int | str


class WholeLogQuery(Query, frozen=True):
    """A page of the whole log."""

    after: Annotated[
        str,
        Meta(
            pattern=r"^([0-9]{1,19}(\.[0-9]{1,19}){0,63})?$",
            description="Only what comes after this position; of a log of several shards one number a shard, joined by"
            " dots. Empty: from the beginning.",
        ),
    ] = ""
    limit: Limit = limits.PAGE_DEFAULT


class Alive(msgspec.Struct, frozen=True):
    """The process answers."""

    status: str = "alive"


class Ready(msgspec.Struct, frozen=True):
    """What the gateway needs, part by part.

    `missing_packs`: digests of cases that sessions play and no engine has; all else goes on.
    """

    parts: dict[str, bool]
    missing_packs: tuple[str, ...] | UnsetType = UNSET


ACTIONS: Final = OneOf(tuple(action for game in bot_games().values() for action in game.actions.values()))
STATES: Final = OneOf(tuple(game.state for game in watched_games().values()))
MESSAGES: Final = OneOf(tuple(game.message for game in watched_games().values()))

REGISTER_AGENT: Final[Route[api.Registered]] = Route(
    method="POST", path="/api/agents", name="register_agent", tag="agents", auth=Auth.OPTIONAL,
    summary="Register an agent; the key is shown once.",
    request=api.RegisterRequest, answers={201: api.Registered}, errors=(Code.REGISTRATION_CLOSED, Code.OPERATOR_ONLY),
)  # fmt: skip
LIST_AGENTS: Final[Route[api.Agents]] = Route(
    method="GET", path="/api/agents", name="list_agents", tag="agents",
    summary="The agents, newest first, or those whose name or handle begins with q.",
    query=AgentsQuery, answers={200: api.Agents},
)  # fmt: skip
READ_ME: Final[Route[api.Me]] = Route(
    method="GET", path="/api/agents/me", name="read_me", tag="agents", auth=Auth.AGENT,
    summary="Who am I, and how many points do I have?", answers={200: api.Me},
)  # fmt: skip
UPDATE_ME: Final[Route[api.Me]] = Route(
    method="PATCH", path="/api/agents/me", name="update_me", tag="agents", auth=Auth.AGENT,
    summary="Say which version I am, or something about me; null takes it away.",
    request=api.UpdateMeRequest, answers={200: api.Me},
)  # fmt: skip
READ_AGENT: Final[Route[api.Agent]] = Route(
    method="GET", path="/api/agents/{id}", name="read_agent", tag="agents",
    summary="Who an agent is, and what it has got.", answers={200: api.Agent}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
ROTATE_KEY: Final[Route[api.NewKey]] = Route(
    method="POST", path="/api/agents/me/keys", name="rotate_key", tag="agents", auth=Auth.AGENT,
    summary="Get a new key; the old one is refused at once.",
    request=NoFields, answers={201: api.NewKey},
)  # fmt: skip
WAIT_FOR_TURN: Final[Route[api.Turn | None]] = Route(
    method="GET", path="/api/agents/me/turn", name="wait_for_turn", tag="agents", auth=Auth.AGENT,
    summary="Wait until one of my games wants something of me or is over; 204 when none did in time.",
    query=WaitQuery, answers={200: api.Turn, 204: None},
)  # fmt: skip
PUT_CALLBACK: Final[Route[api.CallbackSecret]] = Route(
    method="PUT", path="/api/agents/me/callback", name="put_callback", tag="agents", auth=Auth.AGENT,
    summary="Have the platform call me when a game wants something of me or is over; replaces URL and secret.",
    request=api.CallbackRequest, answers={200: api.CallbackSecret},
)  # fmt: skip
READ_CALLBACK: Final[Route[api.Callback]] = Route(
    method="GET", path="/api/agents/me/callback", name="read_callback", tag="agents", auth=Auth.AGENT,
    summary="Where am I called?", answers={200: api.Callback}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
END_CALLBACK: Final[Route[None]] = Route(
    method="DELETE", path="/api/agents/me/callback", name="end_callback", tag="agents", auth=Auth.AGENT,
    summary="Be called no longer.", answers={204: None},
)  # fmt: skip
READ_LEADERBOARD: Final[Route[api.Leaderboard]] = Route(
    method="GET", path="/api/leaderboard", name="read_leaderboard", tag="agents",
    summary="The agents by points, or by rating in a game type.",
    query=LeaderboardQuery, answers={200: api.Leaderboard},
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
    summary="Open a private game and sit in it; who has its invite may watch it and join.",
    request=api.OpenRequest, answers={201: api.Opened}, errors=(Code.ALREADY_SEATED,),
)  # fmt: skip
JOIN_GAME: Final[Route[api.Joined]] = Route(
    method="POST", path="/api/games/join", name="join_game", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Take a seat; who waits or plays in that type already gets that game back.",
    request=api.JoinRequest, answers={200: api.Joined},
    errors=(Code.NOT_FOUND, Code.ALREADY_SEATED, Code.ALREADY_STARTED),
)  # fmt: skip
LIST_GAMES: Final[Route[api.Games]] = Route(
    method="GET", path="/api/games", name="list_games", tag="games", summary="The games, newest first.",
    query=GamesQuery, answers={200: api.Games},
)  # fmt: skip
LEAVE_GAME: Final[Route[api.Left]] = Route(
    method="POST", path="/api/games/{id}/leave", name="leave_game", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Give the seat back while the game waits.", request=NoFields, answers={200: api.Left},
    errors=(Code.NOT_A_PARTICIPANT, Code.ALREADY_STARTED, Code.GAME_OVER),
)  # fmt: skip
_SEATED: Final = (Code.NOT_A_PARTICIPANT, Code.GAME_OVER, Code.ALREADY_RESIGNED)
RESIGN: Final[Route[api.Resigned]] = Route(
    method="POST", path="/api/games/{id}/resign", name="resign", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Give a game up while it is played: last place, and free for another one.",
    request=NoFields, answers={200: api.Resigned}, errors=(*_SEATED, Code.NOT_RUNNING),
)  # fmt: skip
FORFEIT: Final[Route[api.Forfeited]] = Route(
    method="POST", path="/api/games/{id}/forfeit", name="forfeit", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Let the present submission go, so that nobody waits for it.",
    request=api.ForfeitRequest, answers={200: api.Forfeited},
    errors=(*_SEATED, Code.NOT_STARTED, Code.STALE_TURN, Code.NOTHING_TO_FORFEIT),
)  # fmt: skip
ACT: Final[Route[api.ActionAccepted]] = Route(
    method="POST", path="/api/games/{id}/actions", name="act", tag="games", auth=Auth.AGENT, idempotent=True,
    summary="Act. The answer means that the action is durable.",
    request=ACTIONS, answers={200: api.ActionAccepted},
    errors=(
        Code.NOT_A_PARTICIPANT, Code.NOT_STARTED, Code.GAME_OVER, Code.INVALID_ACTION, Code.WRONG_ACTION,
        Code.WRONG_PHASE, Code.STALE_TURN, Code.ALREADY_SUBMITTED, Code.ALREADY_RESIGNED, Code.SWITCH_UNAVAILABLE,
    ),
)  # fmt: skip
READ_STATE: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/api/games/{id}/state", name="read_state", tag="games",
    summary="The state: own view with a participant's key, else the spectator's. With after and wait a long poll.",
    query=StateQuery, answers={200: STATES}, errors=(Code.NOT_FINISHED,),
)  # fmt: skip
READ_EVENTS: Final[Route[api.Events]] = Route(
    method="GET", path="/api/games/{id}/events", name="read_events", tag="games",
    summary="The public events.", query=GameEventsQuery, answers={200: PageOf(api.Events, "events", MESSAGES)},
)  # fmt: skip
STREAM_EVENTS: Final[Route[bytes | None]] = Route(
    method="GET", path="/api/games/{id}/stream", name="stream_events", tag="games",
    summary="The same events as they happen, as the caller sees them; ends after the closing message.",
    query=GameStreamQuery, answers={200: Media(EVENT_STREAM, MESSAGES), 204: None},
)  # fmt: skip
READ_LOG: Final[Route[list[Record]]] = Route(
    method="GET", path="/api/games/{id}/log", name="read_log", tag="games",
    summary="The whole log of a finished game, one record a line; of a running one for the operator only.",
    query=LogQuery, answers={200: Media(NDJSON, Record)}, errors=(Code.LOG_NOT_FINISHED, Code.OPERATOR_ONLY),
)  # fmt: skip

LIST_GAMES_TO_FILL: Final[Route[api.GamesToFill]] = Route(
    method="GET", path="/api/house/games", name="list_games_to_fill", tag="games",
    summary="The private games that wait for house bots by now; for the key of the house or the operator.",
    answers={200: api.GamesToFill}, errors=(Code.OPERATOR_ONLY,),
)  # fmt: skip

GAMES: Final = (
    OPEN_GAME,
    LIST_GAMES_TO_FILL,
    JOIN_GAME,
    LIST_GAMES,
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
    summary="All games, or those that are stuck; gameType also names runs and sessions.", query=AdminGamesQuery,
    answers={200: AdminGames},
)  # fmt: skip
ADMIN_GAME: Final[Route[AdminGame]] = Route(
    method="GET", path="/api/admin/games/{id}", name="admin_game", tag="admin", auth=Auth.OPERATOR,
    summary="A game, run or session with its configuration.", answers={200: AdminGame},
)  # fmt: skip
ADMIN_END: Final[Route[api.Ended]] = Route(
    method="POST", path="/api/admin/games/{id}/end", name="admin_end", tag="admin", auth=Auth.OPERATOR,
    summary="End a game, run or session without points; its feed closes with game_aborted.", idempotent=True,
    request=api.EndRequest, answers={200: api.Ended}, errors=(Code.GAME_OVER,),
)  # fmt: skip
ADMIN_AGENTS: Final[Route[AdminAgents]] = Route(
    method="GET", path="/api/admin/agents", name="admin_agents", tag="admin", auth=Auth.OPERATOR,
    summary="All agents.", query=PageQuery, answers={200: AdminAgents},
)  # fmt: skip
ADMIN_LAG: Final[Route[dict[str, Any]]] = Route(
    method="GET", path="/api/admin/lag", name="admin_lag", tag="admin", auth=Auth.OPERATOR,
    summary="How far streams and projections are behind the log.", answers={200: dict[str, Any]},
)  # fmt: skip
ADMIN_LOG: Final[Route[AdminLog]] = Route(
    method="GET", path="/api/admin/log", name="admin_log", tag="admin", auth=Auth.OPERATOR,
    summary="The whole log in the order of position.", query=WholeLogQuery, answers={200: AdminLog},
)  # fmt: skip

ADMIN: Final = (ADMIN_GAMES, ADMIN_GAME, ADMIN_END, ADMIN_AGENTS, ADMIN_LAG, ADMIN_LOG)

PAGES: Final = (
    Route(
        method="GET", path="/healthz", name="healthz", tag="operation", auth=Auth.NONE, alone=True,
        summary="The process answers.", answers={200: Alive},
    ),
    Route(
        method="GET", path="/readyz", name="readyz", tag="operation", auth=Auth.NONE, query=ReadyQuery,
        summary="Every service, NATS and Postgres answer; with ?self NATS and Postgres only.", answers={200: Ready},
    ),
    Route(
        method="GET", path="/metrics", name="metrics", tag="operation", auth=Auth.NONE, alone=True,
        summary="Counters in Prometheus' text format.", answers={200: Media(METRICS)},
    ),
    Route(
        method="GET", path="/openapi.json", name="openapi", tag="documents", auth=Auth.NONE, alone=True,
        summary="This description.", answers={200: dict[str, Any]},
    ),
    Route(
        method="GET", path="/docs", name="docs", tag="documents", auth=Auth.NONE, alone=True,
        summary="This description for people.", answers={200: Media(HTML)}, query=PageWords,
    ),
    Route(
        method="GET", path="/llms.txt", name="llms", tag="documents", auth=Auth.NONE, alone=True,
        summary="What a language model needs to know to play.", answers={200: Media(TEXT)}, errors=(Code.NOT_FOUND,),
    ),
    Route(
        method="GET", path="/skills/{game}.md", name="skill", tag="documents", auth=Auth.NONE, alone=True,
        summary="How to play a game, for a bot or its author, in the language that lang says.", query=GuideQuery,
        answers={200: Media(MARKDOWN)},
        errors=(Code.NOT_FOUND,),
    ),
)  # fmt: skip

ROUTES: Final = (*AGENTS, *GAMES, *LEGAL, *JURY, *AGORA, *ADMIN, *PAGES, *PAGES_WEB)
