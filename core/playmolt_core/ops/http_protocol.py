"""uvicorn's protocol with bounds on heads, bodies, time, and pipelined requests and answers of a connection.

All servers that use uvicorn share it, so that none has bounds of its own.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import httptools
import uvicorn
from playmolt_schemas.codes import Code, problem_bytes
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from playmolt_core.ops.connections import HEAD_BYTES, HEAD_TOO_LARGE, HEADER_LINES, ClientConnection, ConnectionLimiter
from playmolt_core.ops.process import set_before_tick

READ_IN: Final = "0.54.0"
"""The version of uvicorn whose server and protocol this module overrides; the gateway extends them from here."""
_TICK_SECONDS: Final = 1.0
"""How often the date of responses is refreshed."""


class HttpServer(uvicorn.Server):
    """A server without signal handlers: uvicorn's own end the process before its owner has cleaned up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Accept no more connections, let pending requests finish, and make `serve` return."""
        self.should_exit = True
        self._stopping.set()

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    @override
    async def main_loop(self) -> None:
        """uvicorn polls ten times a second whether to stop, which was most of the work of an idle server."""
        while not await self.on_tick(0):
            await set_before_tick(self._stopping, _TICK_SECONDS)


BREAK_OFF: Final = "playmolt.break_off"
"""The extension of an ASGI scope that ends an answer without its end: no message of ASGI says so."""
MESSAGE_BYTES: Final = 2 * 1024 * 1024
"""What a connection may send of one body, its chunks' extensions and trailers included, wanted or not:
more than the longest body of a route, unless `BoundedProtocol.body_bytes` allows one more."""
_PIECE: Final = 4 * 1024
"""So much is parsed at once: what is parsed is a request, with all that belongs to one."""
_LINE_EXTRA: Final = len(": \r\n")
_NO_REQUEST: Final = (
    "This is not a valid HTTP/1.1 request: the request line or a header is malformed. Fix it and retry."
)
_ONE_HOST: Final = "A request needs exactly one Host header. Send the name and port that you connect to."
_ONE_CODING: Final = "The only supported transfer coding is `chunked`, sent once. Use it, or send Content-Length."
_VERSION: Final = "Unsupported HTTP version. Use HTTP/1.1 or HTTP/1.0."
_ESCAPED: Final = "The path escapes characters that need no escaping. Send letters, digits and -._~ unescaped."
_NEEDS_NO_ESCAPE: Final = re.compile(rb"%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)", re.IGNORECASE)
"""RFC 3986, 2.3: a proxy that blocks /metrics knows only one spelling of it."""
_CHECKED: Final = frozenset({b"host", b"transfer-encoding", b"expect"})
_FULL: Final = "The connection limit of this server, or of your address, is reached. Retry in a moment."
# The state of a connection. Not an Enum: a lookup of its members costs more than all else done with them here.
_IDLE: Final = 0
_IN_HEAD: Final = 1
_IN_BODY: Final = 2
_ANSWERED: Final = 3


class _ToTheClose(int):
    """The length of a response to HTTP/1.0, which has no chunks: it ends when the connection closes."""

    def __lt__(self, other: object) -> bool:
        return False

    def __sub__(self, other: object) -> "_ToTheClose":
        return self

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


class HttpError(Exception):
    """Raised in a callback to stop the parser: the request is refused and its connection closed."""

    def __init__(self, code: Code, detail: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.headers = headers


class BoundedProtocol(HttpToolsProtocol):
    """One connection. Shared attributes are set on a subclass."""

    limiter: ConnectionLimiter

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.held: ClientConnection | None = None
        self._state = _IDLE
        self._in_head = False
        self._in_body = False
        self._upgrading = False
        self._refusal: HttpError | None = None
        self._lines = 0
        self._size = 0
        self._parsed = False
        self._unparsed = 0
        self._taken = 0
        self._most = MESSAGE_BYTES
        self._hosts = 0
        self._codings = 0
        self._waiting = b""
        self.answering = False

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.held = self.limiter.admit(transport)
        if self.held is None:
            transport.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if self.held:
            self.held.forget()
            self.held = None
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._refusal or not self.held:
            return
        if self._waiting or len(data) > _PIECE or self.pipeline or self.flow.write_paused:
            self._waiting += data
            self._read_on()
        else:
            self._feed(data)
        self._report_state()

    def _read_on(self) -> None:
        """Parse waiting data piece by piece, until a request waits for an earlier answer or answers wait to be read.

        Unread data stays in the kernel, which makes the sender wait.
        """
        # Taken out first: a request that is answered at once calls this again from within the parser.
        data, self._waiting, at = self._waiting, b"", 0
        while at < len(data) and not self.pipeline and not self.flow.write_paused and not self._refusal:
            self._feed(data[at : at + _PIECE])
            at += _PIECE
        self._waiting = b"" if self._refusal else data[at:]
        if self.pipeline or self.flow.write_paused:
            self.flow.pause_reading()
            if len(self._waiting) > MESSAGE_BYTES:
                self.transport.abort()

    def _feed(self, data: bytes) -> None:
        self._parsed = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._upgrading:
                self._read_without_upgrade(data[upgrade.args[0] :])
                return
        except httptools.HttpParserError as error:
            cause = error.__context__
            self._refuse(cause if isinstance(cause, HttpError) else HttpError(Code.INVALID_REQUEST, _NO_REQUEST))
            return
        if self._in_body:
            self._taken += len(data)
            if self._taken > self._most and self.held:
                self.held.closes()
                self.transport.close()
                return
        if self._parsed:
            self._unparsed = 0
        else:
            # The parser reports complete headers and trailers only, and buffers their parts until then.
            self._unparsed += len(data)
            if self._unparsed > HEAD_BYTES:
                self._refuse(HttpError(Code.HEADERS_TOO_LARGE, HEAD_TOO_LARGE))

    def _read_without_upgrade(self, rest: bytes) -> None:
        """Read the request again without its Upgrade header, which a server may ignore (RFC 9110, 7.8).

        The parser treats the body as bytes of another protocol, and this cannot be changed.
        """
        first = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        kept = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self._upgrading = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self._feed(b"\r\n".join([first, *kept, b"", rest]))

    def _report_state(self) -> None:
        """Report the state of the connection when it changes."""
        held = self.held
        if held is None:
            return
        if self.pipeline or self._waiting:
            state = _ANSWERED
        elif self._in_body:
            state = _IN_BODY
        elif self.answering:
            state = _ANSWERED
        else:
            state = _IN_HEAD if self._in_head else _IDLE
        if state == self._state:
            return
        self._state = state
        if self.transport.is_closing():
            held.closes()
        elif state == _ANSWERED:
            held.is_answered()
        elif state == _IDLE:
            held.rests()
        elif state == _IN_BODY:
            held.sends_body()
        else:
            held.sends_head()

    def _refuse(self, refusal: HttpError) -> None:
        """Refuse an invalid request and close: its end is unknown."""
        self._refusal = refusal
        if not self.answering or (self._in_body and not self.pipeline):
            self._end(refusal)
        # Otherwise it follows a pending request: sent now, it would look like the answer to that one.

    def _end(self, refusal: HttpError) -> None:
        status, body = refusal.code.status, problem_bytes(refusal.code, refusal.detail)
        headers = (
            *self.server_state.default_headers,
            (b"content-type", b"application/problem+json"),
            *refusal.headers,
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        )
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), *map(b": ".join, headers), b"", body]
        self.transport.write(b"\r\n".join(lines))
        if self.held:
            self.held.closes()
        self.transport.close()

    @override
    def on_message_begin(self) -> None:
        self._parsed = self._in_head = True
        self._lines = self._size = self._taken = self._hosts = self._codings = 0
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        if self._size > HEAD_BYTES:
            raise HttpError(Code.HEADERS_TOO_LARGE, HEAD_TOO_LARGE)
        self.url += url

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Called for every header of every request: it makes no further calls.
        self._parsed = True
        self._lines += 1
        self._size += len(name) + len(value) + _LINE_EXTRA
        if self._size > HEAD_BYTES or self._lines > HEADER_LINES:
            raise HttpError(Code.HEADERS_TOO_LARGE, HEAD_TOO_LARGE)
        if self._in_head:  # A trailer never counts as a header (RFC 9110, 6.5.1).
            name = name.lower()
            self.headers.append((name, value))
            if name in _CHECKED:
                self._check_header(name, value.strip(b" \t").lower())

    def _check_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
        elif name == b"transfer-encoding":
            self._codings += 1
            if value != b"chunked" or self._codings > 1:
                raise HttpError(Code.UNSUPPORTED_CODING, _ONE_CODING)
        elif value == b"100-continue":
            self.expect_100_continue = True

    @override
    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._most = MESSAGE_BYTES + self.body_bytes()
        self._upgrading = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if self._upgrading:
            return
        refusal = self._head_fault()
        if refusal:
            self._in_body = False
            raise refusal
        self.begin()
        if self.held and self.held.spare:
            self.cycle.keep_alive = False

    def _head_fault(self) -> HttpError | None:
        """The refusal of a head before it is routed: two parsers may read it in two ways."""
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            return HttpError(Code.INVALID_REQUEST, _VERSION)
        if self._hosts != 1 and (self._hosts or version == "1.1"):
            return HttpError(Code.INVALID_REQUEST, _ONE_HOST)
        if b"%" in self.url and _NEEDS_NO_ESCAPE.search(self.url.partition(b"?")[0]):
            return HttpError(Code.INVALID_REQUEST, _ESCAPED)
        if self.held and self.held.spare and not self.is_privileged():
            return HttpError(Code.UNAVAILABLE, _FULL, (b"retry-after", b"1"))
        return None

    def is_privileged(self) -> bool:
        """Whether this request is answered even at the connection limit."""
        return self.url.partition(b"?")[0] in (b"/healthz", b"/readyz", b"/metrics")

    def body_bytes(self) -> int:
        """The longest body of this request, where that is more than usual; 0 for the usual."""
        return 0

    def begin(self) -> None:
        """Answer the request: its head is complete."""
        super().on_headers_complete()
        cycle = self.cycle
        self.scope["extensions"] = {BREAK_OFF: {"now": partial(self._break_off, cycle)}}
        if self.parser.get_http_version() == "1.0":
            cycle.keep_alive, cycle.chunked_encoding, cycle.expected_content_length = False, False, _ToTheClose()

    def _break_off(self, cycle: RequestResponseCycle) -> None:
        """Close the connection. Without this, uvicorn logs an incomplete response as a bug."""
        cycle.disconnected = True
        if self.held:
            self.held.closes()
        self.transport.close()

    @override
    def on_body(self, body: bytes) -> None:
        self._parsed = True
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._parsed, self._in_body = True, False
        if not self._upgrading:
            super().on_message_complete()

    @override
    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self.answering = True
        super()._start_asgi_task(cycle, app)

    @override
    def on_response_complete(self) -> None:
        # Unlike uvicorn's it sets no timer: the limiter has one for all connections.
        self.server_state.total_requests += 1
        self.answering = False
        if not self.transport.is_closing():
            if self.pipeline or self._waiting or self._refusal or self.flow.read_paused:
                self._go_on()
            self._report_state()
        elif self.held:
            self.held.closes()

    def _go_on(self) -> None:
        """Continue with the next request, unless answers wait to be read."""
        if self.flow.write_paused:
            return
        if self.pipeline and not self.answering:
            self._start_asgi_task(*self.pipeline.pop())
        if self._waiting:
            self._read_on()
        if self._refusal and not self.answering and not self.pipeline:
            self._end(self._refusal)
        elif not self.pipeline:
            self.flow.resume_reading()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        if self.held:
            self.held.is_unread()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        if self.held:
            self.held.is_read()
        if not self.transport.is_closing():
            self._go_on()
            self._report_state()


async def serve_until(
    stopping: asyncio.Event, app: Callable[..., Awaitable[None]], protocol: type[BoundedProtocol], sock: socket.socket,
    *, grace_seconds: int, closing: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Serve an ASGI application until it has to stop. Then call `closing`, and give answers so much time to end."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=grace_seconds,
    )
    server = HttpServer(config)

    async def stop() -> None:
        await stopping.wait()
        closing()
        server.stop()

    stopper = asyncio.create_task(stop())
    try:
        await server.serve(sockets=[sock])
    finally:
        stopper.cancel()
