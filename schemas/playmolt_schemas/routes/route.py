"""What a route of the HTTP API is: its path, who may call it, what it takes and what it answers."""

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
"""Versions and positions on the wire stay integers that every JSON reader holds exactly."""

After = Annotated[int, Meta(ge=0, le=LARGEST, description="Only what comes after this version.")]
LastEventId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{0,16}$(?!\n)",
        description="The id of the last event that the reader has.",
        extra={"is": "the id of an event of this feed: a version, as in 17"},
    ),
]
Limit = Annotated[int, Meta(ge=1, le=limits.PAGE_MAX, description="How many at most.")]
Cursor = Annotated[
    str,
    Meta(
        description="`next_cursor` of the page before, unchanged.",
        extra_json_schema={"pattern": "^eyJ[A-Za-z0-9_-]{1,997}$"},  # the base64url of a JSON object
    ),
]


class Auth(Enum):
    """Whose key a route asks for. A key that is sent must be valid everywhere but on `NONE`.

    `ANY`: some key; to whoever it is not that of, there is nothing.
    """

    NONE = "none"
    OPTIONAL = "optional"
    ANY = "any"
    AGENT = "agent"
    OPERATOR = "operator"


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query values of a route; one that is not declared is refused, unless the server leaves them all unread."""

    unread: ClassVar[bool] = False


class PageQuery(Query, frozen=True):
    """A page of a list."""

    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class EventsQuery(Query, frozen=True):
    """A page of what has an order of its own."""

    after: After = 0
    limit: Limit = limits.PAGE_DEFAULT


class StreamQuery(Query, frozen=True):
    """`GET /api/games/{id}/stream`; the `Last-Event-ID` header goes before `lastEventId`, that before `after`.

    Polyfills of EventSource cannot set headers.
    """

    after: After = 0
    last_event_id: LastEventId = msgspec.field(name="lastEventId", default="")
    spelt_as_the_header: LastEventId = msgspec.field(name="Last-Event-ID", default="")


class PictureQuery(Query, frozen=True):
    """`GET …/picture.svg` of a session."""

    v: Annotated[int, Meta(ge=1, le=LARGEST, description="A moment; left out: the last one.")] | None = None
    lang: Literal["ko", "en", "zh"] | None = None
    tall: Literal["1"] | None = None


class NoFields(api.Request, frozen=True):
    """A body without fields: `{}`, or none at all."""


class Media(msgspec.Struct, frozen=True):
    """An answer that is no single JSON document; `item` is the type of one line or one event's data."""

    content_type: str
    item: Any = None


class OneOf(msgspec.Struct, frozen=True):
    """JSON of one of several types, told apart by a field that all of them have."""

    kinds: tuple[Any, ...]


class PageOf(msgspec.Struct, frozen=True):
    """JSON of type `kind`, whose list `field` holds items of `item`: bytes that its maker passes on unread."""

    kind: type
    field: str
    item: Any


NDJSON: Final = "application/x-ndjson"
EVENT_STREAM: Final = "text/event-stream"
SVG: Final = "image/svg+xml"
HTML: Final = "text/html; charset=utf-8"
TEXT: Final = "text/plain; charset=utf-8"
MARKDOWN: Final = "text/markdown; charset=utf-8"
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"


Answer_co = TypeVar("Answer_co", covariant=True, default=Any)


class Route(msgspec.Struct, Generic[Answer_co], frozen=True, kw_only=True):
    """One call of the API. `answers` maps a status to a type, to a Media, or to None for no body.

    `Route[Answer]` says what a client makes of `answers`: the type of a JSON document, a list of the lines of NDJSON,
    a dict for what is `OneOf` several types, the bytes of other media. `errors` are the refusals of this route alone:
    `refusals` gives all.
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
    """Content types that the answers come in as well, where the query asks for it."""
    errors: tuple[Code, ...] = ()
    auth: Auth = Auth.OPTIONAL
    idempotent: bool = False
    body_bytes: int = limits.BODY_BYTES
    alone: bool = False
    """Whether it answers without an engine, NATS and Postgres."""
    patient: bool = False
    """Whether its answer may take long to make, so that the gateway waits longer for it."""
    writes: bool = False
    """Whether a GET changes something: the log notes what was read. It has no HEAD, which must change nothing."""
    service: str = ""
    """The type of session or run whose engine answers; "" for the gateway's own. Its rules check the body."""

    @property
    def game(self) -> bool:
        """Whether it is about one game or run, named in the path."""
        return "/games/{id}" in self.path or self.run

    @property
    def erases(self) -> bool:
        """Whether it erases a session."""
        return bool(self.service) and self.method == "DELETE" and self.path.endswith("/{id}")

    @property
    def shares(self) -> bool:
        """Whether it gives or takes back the address of a read-only page."""
        return self.path.endswith("/share")

    @property
    def draws(self) -> bool:
        """Whether it is a drawing of a session for its owner."""
        return bool(self.service) and self.path.endswith("/picture.svg")

    @property
    def speaks(self) -> bool:
        """Whether its feed tells what is said while it is said."""
        return self.streams and self.service == "legal"

    @property
    def uploads(self) -> bool:
        """Whether its body holds a file."""
        return self.method == "POST" and self.service == "legal" and self.path.endswith("/evidence")

    @property
    def brings(self) -> bool:
        """Whether its body holds the files of a case."""
        return self.method == "POST" and self.path.endswith("/cases")

    @property
    def run(self) -> bool:
        """Whether it is about one run of an experiment, named in the path."""
        return "/runs/{id}" in self.path

    @property
    def streams(self) -> bool:
        """Whether it is a feed of server-sent events."""
        return any(
            isinstance(answer, Media) and answer.content_type == EVENT_STREAM for answer in self.answers.values()
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parts of the path that a caller gives, in order."""
        return tuple(_PARAMETER.findall(self.path))

    def address(self, *values: object) -> str:
        """The path with a value for each of its parameters, in order, each escaped to one segment."""
        given = dict(zip(self.parameters, values, strict=True))
        return _PARAMETER.sub(lambda found: _segment(str(given[found[1]])), self.path)

    def refusals(self) -> tuple[Code, ...]:
        """Every code the route can answer with, in the order of the table of codes."""
        codes = {Code.INVALID_REQUEST, *self.errors}
        if self.auth is not Auth.NONE:
            codes |= {Code.UNAUTHORIZED, Code.RATE_LIMITED}
        if self.auth is Auth.OPERATOR:
            codes.add(Code.OPERATOR_ONLY)
        if self.request is not None:
            codes |= {Code.BODY_TOO_LARGE, Code.UNSUPPORTED_ENCODING}
        if self.game or self.service:
            codes.add(Code.NOT_FOUND)
        if self.service in SEALED_TYPES and "{id}" in self.path and not self.erases:
            codes.add(Code.ERASED)
        if self.idempotent:
            codes.add(Code.IDEMPOTENCY_MISMATCH)
        if not self.alone:
            codes.add(Code.UNAVAILABLE)
        return tuple(code for code in Code if code in codes)


_PARAMETER: Final = re.compile(r"{(\w+)}")


def _segment(text: str) -> str:
    """Escape a text; an empty one, "." and ".." would lead to another path."""
    escaped = quote(text, safe="") or "-"
    return escaped if escaped.strip(".") else escaped.replace(".", "%2E")


if TYPE_CHECKING:
    Phase: TypeAlias = str
else:
    Phase = Union[tuple(messages.phase for messages in bot_games().values())]  # noqa: UP007 -- as many as there are
"""A phase of any bot game."""
_TIME: Final = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$"
_Time = Annotated[
    str, Meta(pattern=_TIME, description="A time of its end, RFC 3339.", extra={"is": "a time as 2026-01-31T12:00:00Z"})
]


class GamesQuery(Query, frozen=True):
    """`GET /api/games`; `agent` keeps those in which that agent sits or sat to the end."""

    gameType: api.GameType | None = None  # noqa: N815 -- the wire's spelling
    phase: Phase | None = None
    agent: Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", extra={"is": "an agent's id"})] | None = None
    q: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=limits.SEARCH_CHARS,
                description="Part of a name, a handle, the case or a question.",
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
