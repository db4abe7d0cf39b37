"""Which handler serves which route, and how a request passes through one.

A handler names its routes with `@serves(ROUTE)`. Its annotations say what it needs of them: a query and a body, as in
`CheckedRequest[PageQuery, None]`, and a `StreamedResponse` among its answers if it streams. A handler that does not fit
its route fails at import.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from playmolt_core.db.cursors import BadCursor
from playmolt_core.ops import tracing
from playmolt_core.ops.http_protocol import BREAK_OFF, MESSAGE_BYTES
from playmolt_core.ops.telemetry import about, log
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.routes.route import EVENT_STREAM, NDJSON, Load, Media, Query, Route
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from playmolt_gateway.access.auth import ANONYMOUS
from playmolt_gateway.http.metrics import RequestClock
from playmolt_gateway.http.problems import HttpProblem, away, bad_request
from playmolt_gateway.http.responses import bug_response, depend_on_cookie, reconnect_response, refusal_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import (
    BUSY,
    CheckedRequest,
    RequestHead,
    check,
    log_bug,
    read_head,
    reason,
    traced,
)
from playmolt_gateway.request.fair_slots import CAPACITIES, LONG_BODIES, SlotsBusy
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import LongPoll

_log = log("gateway")
Reply = Response | HttpProblem
Handler = Callable[[Services, CheckedRequest[Any, Any]], Awaitable[Reply]]
_H = TypeVar("_H", bound=Handler)
_STREAMED: Final = (EVENT_STREAM, NDJSON)

Chunks = AsyncIterator[bytes]


class StreamedResponse(Response):
    """A response sent in chunks as they are produced.

    It ends when the client disconnects or the gateway stops. A client that reads nothing for `stall` seconds is
    disconnected. If the source fails, the connection is aborted, so that a truncated body never looks complete.
    """

    def __init__(self, media_type: str, poll: LongPoll, stall: float, chunks: Callable[[LongPoll], Chunks]) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._poll = poll
        self._stall = stall
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all chunks, or abort the connection."""
        del receive  # the poll reads it
        try:
            async with self._poll as poll:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                if scope["method"] != "HEAD":
                    await self._write(poll, send)
        except UNAVAILABLE_ERRORS as error:
            _log.warning("stream_broken", detail=reason(error))
            scope["extensions"][BREAK_OFF]["now"]()
            return
        await send({"type": "http.response.body", "body": b""})

    async def _write(self, poll: LongPoll, send: Send) -> None:
        async with aclosing(self._chunks(poll)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                async with asyncio.timeout(self._stall):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})


class HandlerMismatch(RuntimeError):
    """A handler that does not fit its route, a route with two handlers, or a route without one."""


class Handlers:
    """Handlers by the name of their route."""

    def __init__(self) -> None:
        self._by_route: dict[str, Handler] = {}
        self._forward: Handler | None = None

    def serves(self, *routes: Route) -> Callable[[_H], _H]:
        """Register a handler of `routes`. Raises HandlerMismatch."""

        def register(handler: _H) -> _H:
            for route in routes:
                _require_fit(handler, route)
                if self._by_route.setdefault(route.name, handler) is not handler:
                    raise HandlerMismatch(f"{route.name} has two handlers")
            return handler

        return register

    def forwards(self, handler: _H) -> _H:
        """Register the handler of all routes of services that name no handler of their own."""
        self._forward = handler
        return handler

    def table(self, routes: Iterable[Route]) -> Mapping[str, Handler]:
        """The handler of each route by its name. Raises HandlerMismatch for a route without one, or one of no route."""
        found: dict[str, Handler] = {}
        for route in routes:
            handler = self._by_route.get(route.name)
            if handler is None and route.service and self._forward is not None:
                handler = self._forward
                _require_fit(handler, route)
            if handler is None:
                raise HandlerMismatch(f"{route.name} has no handler")
            found[route.name] = handler
        if unknown := self._by_route.keys() - found.keys():
            raise HandlerMismatch(f"handlers of routes that do not exist: {', '.join(sorted(unknown))}")
        return found


HANDLERS: Final = Handlers()
serves: Final = HANDLERS.serves
forwards: Final = HANDLERS.forwards


def _require_fit(handler: Handler, route: Route) -> None:
    hints = get_type_hints(handler)
    request, name = hints.get("request"), f"{handler.__module__}.{handler.__qualname__}"
    if list(hints) != ["services", "request", "return"] or hints["services"] is not Services:
        raise HandlerMismatch(f"{name} must be (services: Services, request: CheckedRequest) -> Reply")
    query, body = get_args(request) or (Query, object)
    if (get_origin(request) or request) is not CheckedRequest or not issubclass(route.query, query):
        raise HandlerMismatch(f"{name} takes {request}, but the query of {route.name} is {route.query.__name__}")
    if body is not object and _body_of(route) not in _members(body):
        raise HandlerMismatch(f"{name} takes {request}, but the body of {route.name} is {_body_of(route).__name__}")
    streamed = any(isinstance(a, Media) and a.content_type in _STREAMED for a in route.answers.values())
    if streamed != (StreamedResponse in _members(hints["return"])):
        does = "streams" if streamed else "does not stream"
        raise HandlerMismatch(f"{name} answers {hints['return']}, but {route.name} {does}")


def _body_of(route: Route) -> type:
    """The type of `CheckedRequest.body` on a route."""
    if route.request is None:
        return NoneType
    return msgspec.Raw if route.raw_body else route.request


def _members(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


async def reply_to(services: Services, route: Route, handler: Handler, request: Request) -> Response:
    """Serve one request. Never raises: refusals, unavailable dependencies and bugs become problem documents."""
    clock = RequestClock.start()
    services.metrics.in_flight += 1
    head = read_head(request.scope["headers"])
    span = traced(head, route.name)
    try:
        with about(head.trace):
            response = await _response(services, route, handler, head, request)
    finally:
        services.metrics.in_flight -= 1
    if span:
        tracing.answered(span, response.status_code)
    seconds = clock.seconds
    services.metrics.observe(route.name, response.status_code, seconds, seconds - clock.waited)
    return response


async def _reply(services: Services, handler: Handler, request: CheckedRequest[Any, Any]) -> Reply:
    """Call the handler, in a slot if the request is costly."""
    load = request.route.load
    if load is Load.SEARCH and not request.query.searches:
        load = Load.READ
    if (
        load is None
        or load not in CAPACITIES
        or request.caller.operator
        or (load is Load.READ and request.caller.holder)
    ):
        return await handler(services, request)
    async with request.slot(services, load):
        return await handler(services, request)


async def _checked_reply(
    services: Services, route: Route, handler: Handler, head: RequestHead, request: Request
) -> Reply:
    checked = await check(services, route, head, request)
    if isinstance(checked, HttpProblem):
        return checked
    reply = await _reply(services, handler, checked)
    if isinstance(reply, HttpProblem) or head.authorization is not None or not _is_public(checked):
        return reply
    if not _is_of_page(route, request):
        return reply
    return await services.json_compressor.compress(reply, request.headers.get("accept-encoding", ""))


def _is_public(request: CheckedRequest[Any, Any]) -> bool:
    """Whether a request reads what everybody may read: it has no key, no session of a browser and no token."""
    route = request.route
    return (
        route.method == "GET"
        and request.caller == ANONYMOUS
        and not route.depends_on_cookie
        and "token" not in request.params
        and not getattr(request.query, "invite", None)
    )


def _is_of_page(route: Route, request: Request) -> bool:
    """Whether a page asks. A program polls, often on a fast line, and each answer would cost its compression."""
    return not route.path.startswith("/api/") or request.headers.get("sec-fetch-site") == "same-origin"


async def _response(
    services: Services, route: Route, handler: Handler, head: RequestHead, request: Request
) -> Response:
    try:
        if route.body_bytes > MESSAGE_BYTES:
            async with services.long_bodies.slot(services.rates.bucket(request.scope), LONG_BODIES.seconds):
                reply = await _checked_reply(services, route, handler, head, request)
        else:
            reply = await _checked_reply(services, route, handler, head, request)
        response = refusal_response(reply) if isinstance(reply, HttpProblem) else reply
    except BadCursor as error:
        response = refusal_response(bad_request(f"cursor {error}.", FieldFault("cursor", str(error))))
    except SlotsBusy as error:
        _log.warning("busy", route=route.name, detail=reason(error))
        response = reconnect_response() if route.streams else refusal_response(BUSY)
    except UNAVAILABLE_ERRORS as error:
        _log.warning("unavailable", route=route.name, detail=reason(error))
        response = reconnect_response() if route.streams else refusal_response(away(error))
    except Exception as error:
        log_bug(route.name, error)
        response = bug_response()
    if route.depends_on_cookie:
        depend_on_cookie(response)
    return response
