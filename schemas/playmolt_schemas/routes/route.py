"""Declaration of an HTTP route: path, authorization, request, answers; and the query types that routes share."""

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal, TypeAlias, Union
from urllib.parse import quote

import msgspec
from msgspec import Meta
from typing_extensions import TypeVar

from playmolt_schemas import api, limits
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import SEALED_TYPES
from playmolt_schemas.registry import bot_games

LARGEST: Final = 2**53
"""The largest version or position on the wire: every JSON reader represents integers up to here exactly."""

After = Annotated[int, Meta(ge=0, le=LARGEST, description="Return only events after this version.")]
LastEventId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{0,16}$(?!\n)",
        description="The id of the last event that you received.",
        extra={"is": "the id of an event in this feed, which is its version, for example 17"},
    ),
]
Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="Maximum number of items to return.")]
Cursor = Annotated[
    str,
    Meta(
        description="`next_cursor` of the previous page, unchanged.",
        extra_json_schema={"pattern": "^eyJ[A-Za-z0-9_-]{1,997}$"},  # the base64url of a JSON object
    ),
]


class Auth(Enum):
    """The API key that a route requires. A key that is sent must be valid, except on `NONE` routes.

    `ANY`: any valid key; the resource does not exist for a key that has no access to it. `SESSION`: an agent's key or a
    visitor's token. `ORGANIZER`: the operator's key or an owner's.
    `OWNER`: an owner's key, or the session of a browser that is signed in.
    """

    NONE = "none"
    OPTIONAL = "optional"
    ANY = "any"
    AGENT = "agent"
    SESSION = "session"
    OWNER = "owner"
    ORGANIZER = "organizer"
    OPERATOR = "operator"


class Load(Enum):
    """The work of one request, by which the gateway bounds what callers without a key may ask for.

    `READ`, `SEARCH`, `DRAWING` and `REPLAY` run in few slots, which callers share fairly. All loads but `PROBE`,
    `FILE` and `BUCKET` count against the rate limit of an address.
    """

    PROBE = "probe"
    """Health and metrics, for the operator's network only."""
    FILE = "file"
    """A file from memory, which browsers cache."""
    MEMORY = "memory"
    """A document from memory."""
    BUCKET = "bucket"
    """A write with a rate limit of its own."""
    READ = "read"
    """A few reads from an engine or the database."""
    SEARCH = "search"
    """Up to hundreds of reads, or one of very many rows."""
    DRAWING = "drawing"
    """A picture."""
    REPLAY = "replay"
    """Every moment of a game."""
    WAIT = "wait"
    """A long poll or stream: its open waits are limited, and its reads take slots."""

    @property
    def counted(self) -> bool:
        """Whether requests without a key count against the rate limit of their address."""
        return self not in (Load.PROBE, Load.FILE, Load.BUCKET)

    @property
    def slotted(self) -> bool:
        """Whether requests may have to wait for a slot."""
        return self in (Load.READ, Load.SEARCH, Load.DRAWING, Load.REPLAY, Load.WAIT)


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query parameters of a route. Undeclared parameters are refused, unless people open the route's address
    (`Route.opened_by_people`) or the server ignores them all (`unread`)."""

    unread: ClassVar[bool] = False

    @property
    def searches(self) -> bool:
        """Whether this query of a route of load `SEARCH` takes so many reads; otherwise it is a `READ`."""
        return True


class PageQuery(Query, frozen=True):
    """A page of a list."""

    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class EventsQuery(Query, frozen=True):
    """A page of events, in order."""

    after: After = 0
    limit: Limit = limits.PAGE_DEFAULT


class StreamQuery(Query, frozen=True):
    """`GET /api/games/{id}/stream`. The `Last-Event-ID` header overrides `lastEventId`, which overrides `after`.

    `lastEventId` exists because EventSource polyfills cannot set headers.
    """

    after: After = 0
    last_event_id: LastEventId = msgspec.field(name="lastEventId", default="")
    spelt_as_the_header: LastEventId = msgspec.field(name="Last-Event-ID", default="")


class PictureQuery(Query, frozen=True):
    """`GET …/picture.svg` of a session."""

    v: (
        Annotated[
            int, Meta(ge=1, le=LARGEST, description="Draw the session after this event. Default: the latest state.")
        ]
        | None
    ) = None
    lang: Literal["ko", "en", "zh"] | None = None
    tall: Literal["1"] | None = None


class NoFields(api.Request, frozen=True):
    """A request without fields: send `{}` or no body."""


class Media(msgspec.Struct, frozen=True):
    """An answer that is not a single JSON document; `item` is the type of one line or of one event's data."""

    content_type: str
    item: Any = None


class OneOf(msgspec.Struct, frozen=True):
    """JSON of one of several types, distinguished by a field that they all have."""

    kinds: tuple[Any, ...]


class Holder(msgspec.Struct, frozen=True):
    """JSON of type `kind` whose untyped `field` is of type `item`, or a list of such items."""

    kind: type
    field: str
    item: Any


NDJSON: Final = "application/x-ndjson"
EVENT_STREAM: Final = "text/event-stream"
SVG: Final = "image/svg+xml"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
MARKDOWN: Final = "text/markdown; charset=utf-8"
PARQUET: Final = "application/vnd.apache.parquet"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"


Answer_co = TypeVar("Answer_co", covariant=True, default=Any)


class Route(msgspec.Struct, Generic[Answer_co], frozen=True, kw_only=True):
    """One route of the API. `answers` maps a status to a type, to a Media, or to None for no body.

    `Route[Answer]` is the type that a client returns: that of a JSON document, a list of NDJSON lines, a dict for
    `OneOf`, bytes for other media. `errors` lists the refusals that are specific to this route; `refusals` lists all.
    """

    method: str
    path: str
    name: str
    summary: str
    tag: str
    request: Any = None
    query: Any = Query
    answers: Mapping[int, Any]
    other_media: tuple[str, ...] = ()
    """Additional content types of the answer, selected by a query parameter."""
    errors: tuple[Code, ...] = ()
    auth: Auth = Auth.OPTIONAL
    load: Load | None = None
    """Declared by every route that answers without a key."""
    for_banned: bool = False
    """Whether it answers to the key of a banned agent or owner."""
    idempotent: bool = False
    body_bytes: int = limits.BODY_BYTES
    alone: bool = False
    """Whether it works without an engine, NATS and Postgres."""
    patient: bool = False
    """Whether the answer may take long to produce, so that the gateway applies a longer timeout."""
    writes: bool = False
    """Whether a GET appends an event, for example that something was read. Such a route has no HEAD."""
    service: str = ""
    """The session or run type whose engine answers and validates the body; "" for routes that the gateway answers."""
    target: Literal["", "game", "run", "tournament"] = ""
    """The id in the path: of a game or a run ("game"), of a run alone ("run"), of a tournament, or "" for none. Routes
    of a service have ids of their service's type."""
    erases: bool = False
    """Whether it erases a session; it works on erased sessions, too."""
    speaks: bool = False
    """Whether its feed includes text while a model generates it."""

    @property
    def streams(self) -> bool:
        """Whether it answers with server-sent events."""
        return any(
            isinstance(answer, Media) and answer.content_type == EVENT_STREAM for answer in self.answers.values()
        )

    @property
    def opened_by_people(self) -> bool:
        """Whether people open its address: a page, a document, a picture or a file.

        Others append query values to such addresses, so the server ignores those that the route does not declare.
        """
        if self.method != "GET" or self.streams or self.load is Load.PROBE:
            return False
        return isinstance(self.answers.get(200), Media) or bool(self.other_media) or self.tag == "documents"

    @property
    def raw_body(self) -> bool:
        """Whether the gateway forwards the body as it is: a text, or JSON that the service's rules read."""
        return isinstance(self.request, Media) or (bool(self.service) and self.request not in (None, NoFields))

    @property
    def bodiless(self) -> bool:
        """Whether it also works without a body, which then counts as `{}`: a POST without required fields."""
        request = self.request
        if self.method != "POST" or not (isinstance(request, type) and issubclass(request, msgspec.Struct)):
            return False
        return not any(field.required for field in msgspec.structs.fields(request))

    @property
    def names_one(self) -> bool:
        """Whether the path has an `{id}`."""
        return "{id}" in self.path

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path parameters, in order."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def takes_cookie(self) -> bool:
        """Whether the session of a browser that is signed in opens it, as an owner's key does."""
        return self.path == _OWN_ACCOUNT or self.path.startswith(f"{_OWN_ACCOUNT}/")

    @property
    def depends_on_cookie(self) -> bool:
        """Whether it answers each browser in another way."""
        return self.takes_cookie or self.path == "/me" or self.path.startswith("/auth/")

    def address(self, *values: object) -> str:
        """The path with its parameters replaced by values, in order, each escaped to one path segment."""
        given = dict(zip(self.parameters, values, strict=True))
        return _PARAMETER.sub(lambda found: _segment(str(given[found[1]])), self.path)

    def refusals(self) -> tuple[Code, ...]:
        """Every error code of the route, in the order of `Code`."""
        has_key = self.auth is not Auth.NONE
        counted = bool(self.load and self.load.counted)
        slotted = bool(self.load and self.load.slotted)
        applies: tuple[tuple[bool, tuple[Code, ...]], ...] = (
            (True, (Code.INVALID_REQUEST, *self.errors)),
            (has_key, (Code.UNAUTHORIZED, Code.RATE_LIMITED)),
            (counted, (Code.RATE_LIMITED,)),
            (has_key and self.auth is not Auth.OPERATOR and not self.for_banned, (Code.BANNED,)),
            (self.auth is Auth.OPERATOR, (Code.OPERATOR_ONLY,)),
            (self.auth is Auth.AGENT, (Code.NOT_A_PARTICIPANT,)),
            (self.takes_cookie and self.method != "GET", (Code.FOREIGN_ORIGIN,)),
            (self.request is not None, (Code.BODY_TOO_LARGE, Code.UNSUPPORTED_ENCODING)),
            (bool(self.target or self.service), (Code.NOT_FOUND,)),
            (self.target == "game", (Code.ARCHIVED,)),
            (self.service in SEALED_TYPES and self.names_one and not self.erases, (Code.ERASED,)),
            (self.idempotent, (Code.IDEMPOTENCY_MISMATCH,)),
            (not self.alone or slotted, (Code.UNAVAILABLE,)),
        )
        codes = {code for holds, some in applies if holds for code in some}
        return tuple(code for code in Code if code in codes)


_OWN_ACCOUNT: Final = "/api/owners/me"
_PARAMETER: Final = re.compile(r"{(\w+)}")


def _segment(text: str) -> str:
    """Escape a text as one path segment. An empty text, "." and ".." would otherwise change the path."""
    escaped = quote(text, safe="") or "-"
    return escaped if escaped.strip(".") else escaped.replace(".", "%2E")


if TYPE_CHECKING:
    Phase: TypeAlias = str
else:
    Phase = Union[tuple(messages.phase for messages in bot_games().values())]  # noqa: UP007 -- as many as there are
"""A phase of any bot game."""
_TIME: Final = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$"
_Time = Annotated[
    str,
    Meta(
        max_length=35,
        pattern=_TIME,
        description="When the game ended, RFC 3339.",
        extra={"is": "a time like 2026-01-31T12:00:00Z"},
    ),
]


class GamesQuery(Query, frozen=True):
    """`GET /api/games`. `agent` selects games in which that agent has a seat, or had one when the game ended;
    `tournament` the games of that tournament."""

    gameType: Annotated[api.GameType, Meta(description="List games of this type.")] | None = None  # noqa: N815 -- the wire's spelling
    phase: Annotated[Phase, Meta(description="List games in this phase; `end`: finished games.")] | None = None
    agent: (
        Annotated[
            str,
            Meta(
                pattern="^[A-Za-z0-9_-]{1,64}$",
                description="The id of an agent whose games to list.",
                extra={"is": "an agent's id"},
            ),
        ]
        | None
    ) = None
    tournament: (
        Annotated[
            str,
            Meta(
                pattern="^[A-Za-z0-9_-]{1,64}$",
                description="The id of a tournament whose games to list.",
                extra={"is": "a tournament's id"},
            ),
        ]
        | None
    ) = None
    q: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.SEARCH_CHARS,
                description="Search text: part of an agent's name or handle, of the case or of a question.",
            ),
        ]
        | None
    ) = None
    winner: (
        Annotated[str, Meta(min_length=1, max_length=64, description="The winner's id or handle, or a verdict.")] | None
    ) = None
    since: _Time | None = msgspec.field(name="from", default=None)
    until: _Time | None = msgspec.field(name="to", default=None)
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None

    @property
    def searches(self) -> bool:
        return any((self.q, self.winner, self.since, self.until))
