"""The gateway's ASGI app: route table, CORS and framework errors."""

from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, FastAPI
from playmolt_schemas import subjects
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.platform import ACT, ROUTES
from playmolt_schemas.routes.route import Route
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, compile_path
from starlette.routing import Route as Mounted
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import bug_response, refusal_response
from playmolt_gateway.mcp.endpoint import McpEndpoint, is_mcp
from playmolt_gateway.ports import (
    Accounts,
    Callbacks,
    Database,
    GatewayBus,
    Limits,
    Moderation,
    Owners,
    Ownership,
    Packs,
    Projections,
    Reports,
    Shares,
    SignIns,
    Webhooks,
)
from playmolt_gateway.request.handlers import HANDLERS, Handler, reply_to
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes import (  # noqa: F401 -- their handlers register themselves
    admin,
    agents,
    agora,
    archive,
    datasets,
    decisions,
    discovery,
    documents,
    feeds,
    files,
    games,
    moderation,
    operation,
    owners,
    pages,
    sessions,
    sharing,
    sign_in,
    tournaments,
    uploads,
    visitors,
    watching,
    webhooks,
)
from playmolt_gateway.routes.action import ActionRoute, is_action
from playmolt_gateway.settings import GatewaySettings

_ROUTED: Final = tuple(route for route in ROUTES if route is not ACT)
"""The routes that handlers serve; `ActionRoute` serves ACT itself."""
_HANDLERS: Final = HANDLERS.table(_ROUTED)
_FEEDS: Final = tuple(compile_path(route.path)[0] for route in ROUTES if route.streams)


class Gateway:
    """The ASGI app. MCP and actions bypass the routing table."""

    def __init__(self, services: Services, api: FastAPI, action_route: ActionRoute) -> None:
        self.services = services
        self.api = api
        self.action_route = action_route
        self._routed = ReadOnlyCors(api)
        self._mcp = McpEndpoint(self, services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._routed(scope, receive, send)
        elif is_mcp(scope["path"]):
            await self._mcp(scope, receive, send)
        elif scope["method"] == "POST" and is_action(scope["path"]):
            await self.action_route(scope, receive, send)
        else:
            await self._routed(scope, receive, send)

    async def listen(self) -> None:
        """Subscribe to replaced keys and connection changes. Call once, before serving."""
        keys = self.services.keys
        self.services.bus.on_change(keys.clear)
        await self.services.bus.on(subjects.KEYS_REVOKED, lambda data: keys.forget(data.decode("ascii", "replace")))

    def close(self) -> None:
        """End open long polls and streams, and end new ones at once; end the process that draws."""
        self.services.waits.close()
        self.services.png_process.close()
        self.services.bodies.deadlines.close()


def _endpoint(route: Route, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await reply_to(request.app.state.services, route, handler, request)

    return endpoint


@cache
def api_routes() -> tuple[BaseRoute, ...]:
    """All routes except actions. Cached for all apps of a process: FastAPI is slow to read signatures."""
    router = APIRouter()
    for route in _ROUTED:
        router.add_api_route(
            route.path,
            _endpoint(route, _HANDLERS[route.name]),
            methods=["GET", "HEAD"] if route.method == "GET" and not route.writes else [route.method],
            name=route.name,
            response_model=None,
            response_class=Response,
        )
    return tuple(router.routes)


def _allowed(api: FastAPI, scope: Scope) -> str:
    """The Allow header of a path: the router reports only the methods of the first matching route. "": no such path."""
    methods = {
        method
        for route in api.router.routes
        if route.matches(scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    }
    return ", ".join(sorted(methods))


def _other_slash(request: Request) -> Response | HttpProblem | None:
    """The answer to a path that exists with, or without, a slash at its end: a redirect for pages and other files.

    None for every other path. A redirected write would lose its body in some clients, and its key in others.
    """
    path = request.scope["path"]
    other = path.rstrip("/") if path.endswith("/") else f"{path}/"
    allow = _allowed(request.app, {**request.scope, "path": other})
    if not allow:
        return None
    if request.method not in _READS or path.startswith("/api/"):
        return HttpProblem(Code.NOT_FOUND, f"Path does not exist. Send {allow} to {other}, which differs in its slash.")
    query = f"?{request.url.query}" if request.url.query else ""
    headers = {
        "location": quote(other, safe="/:@!$&'()*+,;=~") + query,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
    }
    return Response(status_code=HTTPStatus.PERMANENT_REDIRECT, headers=headers)


async def _framework_refusal(request: Request, error: Exception) -> Response:
    """The framework's own errors, such as 404 and 405, as problem documents."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    services: Services = request.app.state.services
    if status == 404:
        found = _other_slash(request)
        if isinstance(found, Response):
            services.metrics.observe("none", found.status_code, 0.0, 0.0)
            return found
        refusal = found or HttpProblem(Code.NOT_FOUND, "Path does not exist. See /docs or /openapi.json.")
    elif status == 405:
        allow = _allowed(request.app, request.scope)
        refusal = HttpProblem(Code.METHOD_NOT_ALLOWED, f"Method not allowed. Use {allow}.", allow=allow)
    elif 400 <= status < 500:
        refusal = HttpProblem(Code.INVALID_REQUEST, "The request is malformed. See /docs.")
    else:
        return bug_response()
    services.metrics.observe("none", refusal.status, 0.0, 0.0)
    page = pages.not_found_page(services, request) if refusal.code is Code.NOT_FOUND else None
    return page or refusal_response(refusal)


@cache
def _openapi() -> dict[str, object]:
    document: dict[str, object] = msgspec.json.decode(documents.openapi_bytes())
    return document


def build(
    settings: GatewaySettings,
    bus: GatewayBus,
    database: Database,
    accounts: Accounts,
    projections: Projections,
    limits: Limits,
    shares: Shares,
    callbacks: Callbacks,
    packs: Packs,
    owners_: Owners,
    ownership: Ownership,
    sign_ins: SignIns,
    reports: Reports,
    moderation_: Moderation,
    webhooks_: Webhooks,
) -> Gateway:
    services = Services(
        settings, bus, database, accounts, projections, limits, shares, callbacks, packs, owners_, ownership, sign_ins,
        reports, moderation_, webhooks_,
    )  # fmt: skip
    api = FastAPI(title="PlayMolt", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    api.state.services = services
    api.add_exception_handler(HTTPException, _framework_refusal)
    action_route = ActionRoute(services)
    api.router.routes += [*api_routes(), Mounted(ACT.path, action_route, methods=[ACT.method], name=ACT.name)]
    api.openapi = _openapi  # type: ignore[method-assign]
    return Gateway(services, api, action_route)


_ORIGIN: Final = (b"access-control-allow-origin", b"*")
_READS: Final = ("GET", "HEAD")
_PREFLIGHT: Final = [
    _ORIGIN,
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"authorization, cache-control, last-event-id, traceparent"),
    (b"access-control-max-age", b"86400"),
]


class ReadOnlyCors:
    """Lets pages of any origin read: CORS headers on GET answers and preflights of GET (docs/bots.md)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in (*_READS, "OPTIONS"):
            await self._app(scope, receive, send)
        elif scope["method"] in _READS:
            await self._app(scope, receive, _with_origin(send))
        elif _asks_to_read(scope):
            await send({"type": "http.response.start", "status": 204, "headers": _PREFLIGHT})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


def _depends_on_cookie(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether an answer sets a cookie or says that it varies by one: no other origin may read it."""
    named = [(name.lower(), value.lower()) for name, value in headers]
    return any(name == b"set-cookie" or (name == b"vary" and b"cookie" in value) for name, value in named)


def _asks_to_read(scope: Scope) -> bool:
    """Whether a preflight is for a read. Feeds can only be read, so any OPTIONS on them counts."""
    if any(feed.match(scope["path"]) for feed in _FEEDS):
        return True
    return any((b"access-control-request-method", method.encode()) in scope["headers"] for method in _READS)


def _with_origin(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and not _depends_on_cookie(message["headers"]):
            message["headers"] = [*message["headers"], _ORIGIN]
        await send(message)

    return sending
