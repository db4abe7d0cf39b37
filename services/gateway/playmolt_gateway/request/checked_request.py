"""A request through the gateway: the checks shared by all routes, and the command that it is.

The same Idempotency-Key of the same caller on the same path is the same command.
"""

import hashlib
import re
import secrets
import uuid
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final, Generic

import msgspec
from opentelemetry.trace import Span
from playmolt_core.db.accounts import Owner
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log, trace_id, where
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import RUN_TYPES, SESSION_TYPES, TOURNAMENT_TYPES, WATCHED_TYPES, type_of
from playmolt_schemas.limits import IDEMPOTENCY_KEY_CHARS
from playmolt_schemas.routes.route import Auth, Load, Media, Query, Route
from playmolt_schemas.text import composed, unstorable
from starlette.requests import Request
from starlette.types import Receive, Scope
from typing_extensions import TypeVar

from playmolt_gateway.access.auth import ANONYMOUS, Caller, banned
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.http.conversion import convert, parse_query
from playmolt_gateway.http.problems import (
    Headers,
    HttpProblem,
    bad_request,
    no_such_game,
    no_such_run,
    no_such_session,
)
from playmolt_gateway.request.fair_slots import CAPACITIES
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import LongPoll, Waits

_log = log("gateway")
_TRACE: Final = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_PROBES: Final = frozenset({"healthz", "readyz", "metrics"})
_POSITIONS: Final = ("after", "lastEventId", "Last-Event-ID")
"""Query values that the header Last-Event-ID overrides."""
BUSY: Final = HttpProblem(
    Code.UNAVAILABLE, "Too many requests of this kind are waiting. Retry after Retry-After seconds.", retry_after=2
)
_NOT_FOUND: Final = {"game": no_such_game, "run": no_such_run}
_VALID: Final = re.compile(rb"[\x21-\x7e]{1,%d}" % IDEMPOTENCY_KEY_CHARS)


class CommandId(msgspec.Struct, frozen=True):
    """`id` is 32 hex digits; `fingerprint` is "" for requests without a key, which cannot be repeated."""

    id: str
    fingerprint: str


def fingerprint(body: bytes, value: object) -> str:
    """The digest that identifies equal bodies; of the raw bytes if a string has no UTF-8 encoding."""
    try:
        return digest(value)
    except UnicodeEncodeError:
        return hashlib.sha256(body).hexdigest()


def command_id(
    caller: str, method_and_path: str, key: bytes | None, body: bytes, value: object
) -> CommandId | HttpProblem:
    """The command of a request: its id is derived from the key, or random without one."""
    if key is None:
        return CommandId(secrets.token_hex(16), "")
    if not _VALID.fullmatch(key):
        return bad_request(
            f"Idempotency-Key must be sent once and have 1 to {IDEMPOTENCY_KEY_CHARS} visible ASCII characters."
        )
    scope = b"\x00".join((caller.encode(), method_and_path.encode(), key))
    return CommandId(hashlib.sha256(scope).hexdigest()[:32], fingerprint(body, value))


Query_co = TypeVar("Query_co", bound=Query, covariant=True, default=Query)
Body_co = TypeVar("Body_co", covariant=True, default=object)


class CheckedRequest(msgspec.Struct, Generic[Query_co, Body_co], frozen=True):
    """A request that passed the shared checks. `game` is "" on routes without a game.

    `query` is of the route's query type. `body` is None on routes without one, and raw JSON on a service's routes: the
    service's rules check it.
    """

    route: Route
    caller: Caller
    game: str
    query: Query_co
    body: Body_co
    command: CommandId
    params: dict[str, str]
    last_event_id: str | None
    trace: str
    receive: Receive
    scope: Scope

    def slot(self, services: Services, load: Load) -> AbstractAsyncContextManager[None]:
        """Hold a slot for a block, in turn with other callers. Raises SlotsBusy."""
        name = self.caller.holder or services.rates.bucket(self.scope)
        return services.slots[load].slot(name, CAPACITIES[load].seconds)

    def reading(self, services: Services) -> AbstractAsyncContextManager[object]:
        """Hold a slot for one read of a waiting request, if it came without a key."""
        return self.slot(services, Load.READ) if self.caller == ANONYMOUS else nullcontext()

    def poll(self, waits: Waits, *, stream: bool = False) -> LongPoll | HttpProblem:
        """Count this request among those that wait; see `Waits.poll`."""
        return waits.poll(self.caller, self.scope, self.receive, stream=stream)


class RequestHead(msgspec.Struct):
    """The request headers that the gateway reads; a repeated header is malformed."""

    authorization: bytes | None = None
    idempotency_key: bytes | None = None
    content_length: bytes | None = None
    content_encoding: bytes | None = None
    traceparent: bytes = b""
    last_event_id: bytes | None = None

    @property
    def trace(self) -> str:
        """The W3C trace context, or "" if it is malformed."""
        carried = self.traceparent
        return carried.decode() if carried and _TRACE.fullmatch(carried) else ""


_FIELDS: Final = {
    b"authorization": "authorization",
    b"idempotency-key": "idempotency_key",
    b"content-length": "content_length",
    b"content-encoding": "content_encoding",
    b"traceparent": "traceparent",
    b"last-event-id": "last_event_id",
}


def read_head(headers: Headers) -> RequestHead:
    """Pick the headers to read; ASGI gives their names in lower case."""
    head = RequestHead()
    for name, value in headers:
        field = _FIELDS.get(name)
        if field is not None:
            # Whitespace around a value is not part of it (RFC 9110, 5.5); the parser keeps trailing whitespace.
            setattr(head, field, value.strip(b" \t") if not getattr(head, field) else b"")
    return head


def traced(head: RequestHead, route: str) -> Span | None:
    """Open the span of a traced request, and put its context into the head."""
    if not tracing.on() or route in _PROBES:
        return None
    span, carried = tracing.serve(head.trace, route)
    head.traceparent = carried.encode()
    return span


def reason(error: BaseException) -> str:
    """The error for the log. Postgres messages contain no values."""
    return f"{type(error).__name__}: {error}"[:300]


def log_bug(route: str, error: BaseException, trace: str = "") -> None:
    """Log where a bug is, without message and variables, which may contain a key or a hidden move."""
    name, frames = trace_id(trace), where(error)
    _log.error("bug", route=route, error=type(error).__name__, traceback=frames, trace_id=name)


def game_of(game_id: str, *, sessions: bool = False) -> str | None:
    """The type of a game id, None if it cannot be a game; session ids count only with `sessions`."""
    game = type_of(game_id)
    return game if game in WATCHED_TYPES or (sessions and game in SESSION_TYPES) else None


def game_of_route(route: Route, identifier: str) -> str | None:
    """The game type of a request, "" for none; None when the id cannot be of the route's type."""
    if route.service:
        return route.service if not route.names_one or type_of(identifier) == route.service else None
    if not route.target:
        return ""
    if route.target == "tournament":
        kind = type_of(identifier)
        return kind if kind in TOURNAMENT_TYPES else None
    game = game_of(identifier, sessions=route.auth is Auth.OPERATOR)
    return game if route.target == "game" or game in RUN_TYPES else None


def _text(body: bytes) -> Any | HttpProblem:
    """A text body as JSON for the engine."""
    try:
        return msgspec.Raw(msgspec.json.encode(body.decode()))
    except UnicodeDecodeError:
        return bad_request("The body is not UTF-8. Send UTF-8 text.")


async def _checked_body(
    services: Services, route: Route, caller: Caller, head: RequestHead, request: Request
) -> Any | HttpProblem:
    """The typed body and the command, or the refusal."""
    if route.request is None:
        return None, CommandId(uuid.uuid4().hex if route.writes else "", "")
    body = await services.bodies.read(
        request.receive, head.content_length, head.content_encoding, most=route.body_bytes
    )
    if isinstance(body, HttpProblem):
        return body
    if isinstance(route.request, Media):
        text = _text(body)
        return text if isinstance(text, HttpProblem) else (text, CommandId("", ""))
    if not body and (route.service or route.bodiless):
        body = b"{}"
    value = parse(body)
    if isinstance(value, HttpProblem):
        return value
    typed = msgspec.Raw(body) if route.raw_body else convert(composed(value), route.request)
    if isinstance(typed, HttpProblem):
        return typed
    key = head.idempotency_key if route.idempotent else None
    asked = f"?{request.url.query}" if request.url.query else ""  # a dry run is a different command from the real one
    command = command_id(caller.scope, f"{route.method} {request.url.path}{asked}", key, body, value)
    return command if isinstance(command, HttpProblem) else (typed, command)


async def _rate_refusal(services: Services, route: Route, caller: Caller, request: Request) -> HttpProblem | None:
    if caller == ANONYMOUS and route.load and route.load.counted:
        return await services.rates.read_refusal(request.scope)
    peer = request.client.host if request.client else None
    if services.rates.limited("requests", peer, request.scope["headers"]):
        return await services.rates.refusal(caller, "requests")
    return None


def _game_in_path(route: Route, params: dict[str, str]) -> str | HttpProblem:
    """The game type that the path names, or the refusal of an id that cannot exist."""
    game = game_of_route(route, params.get("id", ""))
    if game is None:
        return _NOT_FOUND.get(route.target, no_such_session)(params["id"])
    impossible = next(filter(unstorable, params.values()), None)
    if impossible is not None and (route.service or route.method != "GET"):  # pages and files have a 404 of their own
        return no_such_session(impossible)
    return game


def report_presence(services: Services, caller: Caller, game_id: str, trace: str) -> None:
    """Report an agent whose request the gateway refuses as present in its game. Best effort: no answer waits for it."""
    game = game_of(game_id)
    if game is None or not caller.id or caller.visitor:
        return
    sign = services.bus.submit(game, "state", game_id, agent=caller.id, trace=trace, present=True)
    sign.add_done_callback(lambda done: done.cancelled() or done.exception())


async def _caller(services: Services, route: Route, head: RequestHead, request: Request) -> Caller | HttpProblem:
    """The caller by its key, or by the cookie of its browser where one is enough. A key that is sent counts alone."""
    if head.authorization is None and services.sign_in is not None and route.takes_cookie:
        owner = await services.within_deadline(services.sign_in.owner_of(request.scope))
        if owner is not None:
            return owner if isinstance(owner, HttpProblem) else await _signed_in(services, route, owner)
    return await services.authenticator.admit(head.authorization, route.auth, for_banned=route.for_banned)


async def _signed_in(services: Services, route: Route, owner: Owner) -> Caller | HttpProblem:
    ban = (await services.within_deadline(services.moderation.bans([owner.id]))).get(owner.id)
    return banned(ban, owner) if ban and not route.for_banned else Caller(owner=owner, ban=ban)


async def check(services: Services, route: Route, head: RequestHead, request: Request) -> CheckedRequest | HttpProblem:
    """Check a request in the order of api.md: key, rate, size, form, id."""
    caller = await _caller(services, route, head, request)
    if isinstance(caller, HttpProblem):
        return caller
    if refusal := await _rate_refusal(services, route, caller, request):
        return refusal
    checked = await _checked(services, route, caller, head, request)
    if isinstance(checked, HttpProblem) and route.target == "game":
        report_presence(services, caller, request.path_params["id"], head.trace)
    return checked


async def _checked(
    services: Services, route: Route, caller: Caller, head: RequestHead, request: Request
) -> CheckedRequest | HttpProblem:
    checked = await _checked_body(services, route, caller, head, request)
    if isinstance(checked, HttpProblem):
        return checked
    last = head.last_event_id.decode("latin-1") if head.last_event_id else None
    overruled = _POSITIONS if last else ()
    query = parse_query(request.scope["query_string"], route.query, overruled=overruled, lenient=route.opened_by_people)
    if isinstance(query, HttpProblem):
        return query
    game = _game_in_path(route, request.path_params)
    if isinstance(game, HttpProblem):
        return game
    return CheckedRequest(
        route=route, caller=caller, game=game, query=query, body=checked[0], command=checked[1],
        params=request.path_params,
        last_event_id=last, trace=head.trace, receive=request.receive, scope=request.scope,
    )  # fmt: skip
