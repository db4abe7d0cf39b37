"""HTTP: routes, refusals, and the upgrade of a request to a watcher (api.md, Feeds)."""

import asyncio
import hashlib
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import cast
from urllib.parse import parse_qs

import h11
import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.connections import (
    HEAD_BYTES,
    HEAD_TOO_LARGE,
    HEADER_LINES,
    Address,
    Bounds,
    ClientConnection,
    ConnectionLimiter,
    Pace,
    Quota,
    address_of,
    bucket_of,
)
from playmolt_core.ops.process import BACKLOG
from playmolt_core.ops.telemetry import log
from playmolt_schemas import limits
from playmolt_schemas.codes import ARCHIVED, Code, problem_bytes
from playmolt_schemas.identifiers import SESSION_TYPES, WATCHED_TYPES, type_of
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from playmolt_spectator.backfill import ArchivedGame, UnknownGame
from playmolt_spectator.frame_writer import bound_kernel
from playmolt_spectator.frames import EVENTS, LOBBY_EVENTS, Dialect
from playmolt_spectator.hub import Feed, Hub
from playmolt_spectator.lobby import Lobby
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.port import Source
from playmolt_spectator.timeouts import Timeouts
from playmolt_spectator.watcher import BAD_REQUEST, GOING_AWAY, TRY_AGAIN, EventStreamWatcher, Watcher, WebSocketWatcher

_log = log("http")
REQUESTS = 1_000
"""Connections reserved for requests that are being answered."""
_VERSION = re.compile(r"[0-9]{1,15}", re.ASCII)
_CORS = {"Access-Control-Allow-Origin": "*"}
_POSITIONS = ("lastEventId", "Last-Event-ID", "after")
"""Query values for the last received version, in order of precedence; some clients cannot set headers."""
_PREFLIGHT = {
    **_CORS,
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "authorization, cache-control, last-event-id, traceparent",
    "Access-Control-Max-Age": "86400",
    "Connection": "close",
}
_COME_BACK = b"retry: 2000\n: the source of this feed is unavailable; reconnect\n\n"
"""An EventSource never connects again after a 503."""
_EVENT_STREAM = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",
    "Connection": "close",
    **_CORS,
}
_NO_REQUEST = "Not a valid HTTP/1.1 request for a feed: the request line or a header is malformed or too long."
_AFTER_HELP = (
    "after (or Last-Event-ID, lastEventId) must be the last version you received, an integer from 0. "
    "Omit it to start at 1."
)


class HttpError(Exception):
    """An error response; the detail says what is wrong and what to do next."""

    def __init__(self, code: Code, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def _unavailable(detail: str) -> HttpError:
    return HttpError(Code.UNAVAILABLE, detail, Retry_After="2")


def head(status: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def body(status: int, kind: str, content: bytes, headers: dict[str, str] | None = None) -> bytes:
    """A complete response that closes the connection."""
    length = {"Content-Type": kind, "Content-Length": str(len(content)), "Connection": "close"}
    return head(status, {**length, **_CORS, **(headers or {})}) + content


def version(text: str | None) -> int | None:
    """Parse a version, 0 for None; returns None if it is invalid."""
    if text is None:
        return 0
    return int(text) if _VERSION.fullmatch(text) else None


def after_of(query: str) -> int | None:
    """The last received version in a query; None if it is invalid or repeated."""
    given = parse_qs(query, keep_blank_values=True)
    values = next((given[name] for name in _POSITIONS if given.get(name, [""]) != [""]), given.get("after", []))
    return version(values[0] if values else None) if len(values) < 2 else None


def notices_alone(query: str) -> bool:
    """Whether a reader of the lobby wants the operator's decisions only: a page of a finished game."""
    return parse_qs(query).get("only", []) == ["moderated"]


def invite_of(query: str) -> str:
    """The hash of the invite in a query; "" if it is missing or repeated."""
    given = parse_qs(query).get("invite", [])
    return hashlib.sha256(given[0].encode("utf-8", "surrogatepass")).hexdigest() if len(given) == 1 else ""


_TOO_LARGE = HttpError(Code.HEADERS_TOO_LARGE, HEAD_TOO_LARGE)
_REFUSED = {431: _TOO_LARGE, 501: HttpError(Code.UNSUPPORTED_CODING, _NO_REQUEST)}


def _head_fault(request: h11.Request) -> HttpError | None:
    """The refusal of a request head, if any; h11 limits only incomplete heads."""
    if request.http_version not in (b"1.1", b"1.0"):
        return HttpError(Code.INVALID_REQUEST, _NO_REQUEST)
    size = len(request.target) + sum(len(name) + len(value) + len(": \r\n") for name, value in request.headers)
    return _TOO_LARGE if size > HEAD_BYTES or len(request.headers) > HEADER_LINES else None


class Server:
    """State shared by all connections, and shutdown."""

    def __init__(
        self, source: Source, hub: Hub, lobby: Lobby, metrics: Metrics, timeouts: Timeouts, within: Bounds
    ) -> None:
        self.limiter = ConnectionLimiter(within)
        self.trusted = within.trusted
        self.streams = Quota("streams", within.streams)
        self.opened = Pace(within.opened)
        self.limit = max(1, within.total - min(REQUESTS, within.total // 5))
        self.source = source
        self.hub = hub
        self.lobby = lobby
        self.metrics = metrics
        self.timeouts = timeouts
        self.watchers: set[Watcher] = set()
        self.connections: set[Connection] = set()
        self.draining = False
        self._empty = asyncio.Event()
        self._listener: asyncio.Server | None = None

    async def listen(self, sock: socket.socket) -> int:
        """Accept connections on a listening socket; returns its port."""
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(self), sock=sock, backlog=BACKLOG
        )
        return int(sock.getsockname()[1])

    async def drain(self) -> None:
        """Stop accepting and ask watchers to reconnect elsewhere, within the drain timeout."""
        self.draining = True
        if self._listener:
            self._listener.close()
        for watcher in tuple(self.watchers):
            watcher.finish(GOING_AWAY, "this server is stopping; reconnect")
        with suppress(TimeoutError):
            async with asyncio.timeout(self.timeouts.drain if self.watchers else 0):
                await self._empty.wait()
        for watcher in tuple(self.watchers):
            watcher.abort()
        for connection in tuple(self.connections):
            connection.abort()

    def check_room(self) -> None:
        """Raise HttpError when the server is full or stopping."""
        if self.draining or len(self.watchers) >= self.limit:
            raise _unavailable("This server is full or stopping. Retry in a few seconds.")

    def page(self, path: str) -> bytes | None:
        """The answer to a probe path; None for other paths."""
        if path == "/healthz":
            return body(200, "application/json", b'{"status":"alive"}')
        if path == "/readyz":
            parts = {"nats": self.source.connected(), "serving": not self.draining}
            return body(200 if all(parts.values()) else 503, "application/json", msgspec.json.encode(parts))
        if path == "/metrics":
            kinds = [watcher.dialect.name for watcher in self.watchers]
            gauges = {f'readers{{transport="{kind}"}}': kinds.count(kind) for kind in ("websocket", "sse")}
            gauges["games_watched"] = self.hub.watched
            shown = self.metrics.page(gauges, *self.source.samples())
            return body(200, "text/plain; version=0.0.4", shown)
        return None

    def add(self, watcher: Watcher, held: ClientConnection | None, address: str) -> None:
        """Register a watcher until its connection is lost; then release its claims."""

        def gone() -> None:
            self.watchers.discard(watcher)
            if address:
                self.streams.give_back(address)
            if held:
                held.forget()
            if not self.watchers:
                self._empty.set()

        self.watchers.add(watcher)
        self._empty.clear()
        watcher.gone = gone


class Connection(asyncio.Protocol):
    """A connection until its request is answered or handed over to a watcher."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        self._transport: asyncio.Transport
        self._held: ClientConnection | None = None
        self._begun = False
        self._head_alone = False
        """Whether the method is HEAD."""
        self._streams_of = ""
        """The address whose quota this event stream counts against."""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection and wait for its request."""
        self._transport = cast("asyncio.Transport", transport)
        self._held = self._server.limiter.admit(transport)
        if self._held is None:
            self.abort()
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the reason does not matter
        self._server.connections.discard(self)
        if self._streams_of:
            self._server.streams.give_back(self._streams_of)
        if self._held:
            self._held.forget()
        if self._task:
            self._task.cancel()

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._task or not self._held:
            return
        if not self._begun:
            self._begun = True
            self._held.sends_head()
        try:
            self._http.receive_data(data)
            event = self._http.next_event()
        except h11.RemoteProtocolError as error:
            self._refuse(_REFUSED.get(error.error_status_hint) or HttpError(Code.INVALID_REQUEST, _NO_REQUEST))
            return
        if isinstance(event, h11.Request):
            if refusal := _head_fault(event):
                self._refuse(refusal)
                return
            self._held.is_answered()
            self._head_alone = event.method == b"HEAD"
            self._transport.pause_reading()
            self._task = asyncio.create_task(self._answer(event))

    def _refuse(self, refusal: HttpError) -> None:
        content = problem_bytes(refusal.code, refusal.detail)
        self._send(body(refusal.code.status, "application/problem+json", content, refusal.headers))

    def _send(self, response: bytes) -> None:
        self._transport.write(response[: response.index(b"\r\n\r\n") + 4] if self._head_alone else response)
        if self._held:
            self._held.closes()
        self._transport.close()

    async def _answer(self, request: h11.Request) -> None:
        try:
            await self._route(request)
        except HttpError as refusal:
            self._refuse(refusal)
        except ArchivedGame:
            self._refuse(HttpError(Code.ARCHIVED, ARCHIVED))
        except UnknownGame:
            self._refuse(
                HttpError(Code.NOT_FOUND, "Game does not exist. List games with GET /api/games on the gateway.")
            )
        except Exception as error:  # without an answer the connection would hang
            _log.error("request_failed", error=repr(error))
            self.abort()

    async def _route(self, request: h11.Request) -> None:
        path, _, query = request.target.decode("ascii", "replace").partition("?")
        page = self._server.page(path)
        kind, game_id = self._feed(path)
        if page is None and kind is None:
            raise HttpError(
                Code.NOT_FOUND,
                "Path does not exist. Feeds are /ws/games/{id}, /ws/lobby, /sse/games/{id} and /sse/lobby.",
            )
        if kind and request.method == b"OPTIONS":
            self._send(head(204, _PREFLIGHT))
            return
        allowed = ("GET",) if kind == "ws" else ("GET", "HEAD")
        if request.method.decode("ascii", "replace") not in allowed:
            allow = ", ".join((*allowed, "OPTIONS") if kind else allowed)
            raise HttpError(
                Code.METHOD_NOT_ALLOWED, f"Method not allowed. Use {allow}; send actions to the gateway.", Allow=allow
            )
        if self._held and self._held.spare and page is None:
            raise _unavailable(
                "This server has reached its connection limit, in total or for your address. Retry later."
            )
        if page is not None:
            self._send(page)
            return
        self._server.check_room()
        self._count_feed(request)
        last = dict(request.headers).get(b"last-event-id")
        after = version(last.decode("latin-1")) if last else after_of(query)
        if kind == "ws":
            await self._open_socket(request, game_id, after, invite_of(query))
        else:
            await self._open_events(request, game_id, after, invite_of(query), notices_alone(query))

    @staticmethod
    def _feed(path: str) -> tuple[str | None, str]:
        """The transport and the game id ("" for the lobby); None if the path is not a feed."""
        match path.split("/"):
            case ["", "ws" | "sse" as kind, "lobby"]:
                return kind, ""
            case ["", "ws" | "sse" as kind, "games", identifier] if identifier:
                return kind, identifier
        return None, ""

    def _known(self, game_id: str) -> None:
        kind = type_of(game_id) if game_id else None
        if game_id and (kind in SESSION_TYPES or kind not in self._server.source.present().union(WATCHED_TYPES)):
            raise UnknownGame(game_id)

    async def _open_events(
        self, request: h11.Request, game_id: str, after: int | None, invite: str, notices: bool
    ) -> None:
        self._known(game_id)
        if after is None and game_id:
            raise HttpError(Code.INVALID_REQUEST, _AFTER_HELP)
        dialect: Dialect = EVENTS if game_id else LOBBY_EVENTS
        self._count_stream(request)

        def take_over() -> Watcher:
            self._transport.write(head(200, _EVENT_STREAM))
            return EventStreamWatcher(self._transport, dialect, self._server.timeouts, self._server.metrics)

        def answered(feed: Feed | None) -> bool:
            """Whether the request was answered without a watcher."""
            if feed and after and feed.closed and after >= feed.head:
                self._send(head(204, {**_CORS, "Connection": "close"}))
            elif self._head_alone:
                self._send(head(200, _EVENT_STREAM))
            else:
                return False
            return True

        try:
            await self._open(game_id, after or 0, invite, take_over, answered, notices=notices)
        except BusUnavailable:
            self._send(head(200, _EVENT_STREAM) + _COME_BACK)

    def _address(self, request: h11.Request) -> Address | None:
        peer = self._transport.get_extra_info("peername")
        return address_of(peer[0] if peer else None, request.headers, self._server.trusted)

    def _count_feed(self, request: h11.Request) -> None:
        """Bound how often an address opens feeds: each may ask an engine for what came before. Raises HttpError."""
        address = self._address(request)
        if address is not None and address.is_loopback:
            return
        if seconds := self._server.opened.wait(bucket_of(address)):
            detail = f"Your address opens too many feeds. Keep one open instead, and wait {seconds} seconds."
            raise HttpError(Code.RATE_LIMITED, detail, Retry_After=str(seconds))

    def _count_stream(self, request: h11.Request) -> None:
        """Count an event stream against its address until the connection is lost. Raises HttpError."""
        address = bucket_of(self._address(request))
        if not self._server.streams.take(address):
            detail = f"Your address has {self._server.streams.most} open event streams, the maximum. Close one first."
            raise HttpError(Code.RATE_LIMITED, detail, Retry_After="5")
        self._streams_of = address

    async def _open_socket(self, request: h11.Request, game_id: str, after: int | None, invite: str) -> None:
        self._known(game_id)
        protocol, response = self._handshake(request)

        def take_over() -> Watcher:
            protocol.send_response(response)
            self._transport.write(b"".join(protocol.data_to_send()))
            return WebSocketWatcher(self._transport, self._server.timeouts, self._server.metrics, protocol)

        if after is None and game_id:
            self._hand_over(take_over()).finish(BAD_REQUEST, "after must be the last version you received, in digits")
            return
        try:
            await self._open(game_id, after or 0, invite, take_over)
        except BusUnavailable:
            self._hand_over(take_over()).finish(TRY_AGAIN, "the source of this feed is unavailable")

    @staticmethod
    def _handshake(request: h11.Request) -> tuple[ServerProtocol, Response]:
        spoken = dict(request.headers).get(b"sec-websocket-version", b"13").strip()
        if spoken != b"13":
            raise HttpError(
                Code.UNSUPPORTED_VERSION, "Unsupported WebSocket version. Use version 13.", Sec_WebSocket_Version="13"
            )
        lines = [b"GET %b HTTP/%b" % (request.target, request.http_version), *map(b": ".join, request.headers)]
        protocol = ServerProtocol(max_size=limits.BODY_BYTES)
        protocol.receive_data(b"\r\n".join([*lines, b"", b""]))
        for event in protocol.events_received():
            if isinstance(event, Request) and (response := protocol.accept(event)).status_code == 101:
                return protocol, response
        raise HttpError(
            Code.INVALID_REQUEST,
            "Not a WebSocket handshake. Use a WebSocket client (RFC 6455) or the same feed under /sse/.",
        )

    async def _open(
        self,
        game_id: str,
        after: int,
        invite: str,
        take_over: Callable[[], Watcher],
        answered: Callable[[Feed | None], bool] = lambda _: False,
        *,
        notices: bool = False,
    ) -> None:
        """Open the feed, then answer the request or hand it over to a watcher."""
        server = self._server
        if game_id:
            feed = await server.hub.hold(game_id, after, invite)
            try:
                server.check_room()
                done = answered(feed)
            except HttpError:
                server.hub.release(feed)
                raise
            if done:
                server.hub.release(feed)
                return
            watcher = self._hand_over(take_over())
            server.hub.attach(feed, watcher, after)
        else:
            await server.lobby.wait_ready()
            server.check_room()
            if answered(None):
                return
            watcher = self._hand_over(take_over())
            server.lobby.attach(watcher, notices=notices)
        if early := self._http.trailing_data[0]:
            watcher.data_received(early)

    def _hand_over(self, watcher: Watcher) -> Watcher:
        self._server.connections.discard(self)
        self._transport.set_protocol(watcher)
        self._transport.set_write_buffer_limits(high=0)
        bound_kernel(self._transport.get_extra_info("socket"))
        self._transport.resume_reading()
        self._server.add(watcher, self._held, self._streams_of)
        return watcher
