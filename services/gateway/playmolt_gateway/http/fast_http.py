"""uvicorn's protocol, with actions served from the parser's callbacks (docs/decisions).

uvicorn's request cycle (a task, an event, scope and messages for each request) costs more than everything the gateway
does for an action. So an action of a caller who is known is gathered as httptools parses it and submitted when its
body is complete. Whatever would have to wait or to be treated apart (a key to look up, a chunked or too large body, a
request behind one that is under way) is uvicorn's, and comes to the same route as an ASGI request. One parser reads
both, so they cannot disagree on where a request ends; tests hold both to the same bytes.
"""

import asyncio
import re
from asyncio import Future
from http import HTTPStatus
from typing import Any, Final, cast

import httptools
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.limits import BODY_BYTES
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from playmolt_gateway.http.auth import Caller
from playmolt_gateway.http.bodies import CUT_SHORT, length_of, overdue_body
from playmolt_gateway.http.checked_request import Head, read_head
from playmolt_gateway.http.problems import Headers, Refusal, bad_request, json_type
from playmolt_gateway.routes.action import ActionRoute, Observed, Rendered, failed, rendered

HEAD_BYTES: Final = 16 * 1024
HEADER_LINES: Final = 100
_ACTION_URL: Final = re.compile(rb"/api/games/[A-Za-z0-9_-]*/actions")
_LINE_EXTRA: Final = len(": \r\n")
_NO_REQUEST: Final = bad_request("This is no HTTP/1.1 request: its first line or a header is malformed.")
_HEAD_TOO_LARGE: Final = Refusal(
    Code.HEADERS_TOO_LARGE,
    f"The head of a request may have {HEADER_LINES} header lines and {HEAD_BYTES} bytes. Send a shorter one.",
)
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class HeadTooLarge(Exception):
    """Raised in a callback, so that the parser stops before the header is kept."""


class Openings:
    """What a response begins with, up to the figure of its length: made once for a status until the date changes."""

    def __init__(self) -> None:
        self._common: Headers = []
        self._made: dict[int, bytes] = {}

    def of(self, status: int, common: Headers) -> bytes:
        """`common` are the headers that all responses share; uvicorn makes a new list of them each second."""
        if common is not self._common:
            self._common, self._made = common, {}
        opening = self._made.get(status)
        if opening is None:
            lines = [name + b": " + value + b"\r\n" for name, value in (*common, (b"content-type", json_type(status)))]
            opening = self._made[status] = b"".join((_STATUS_LINES[status], *lines, b"content-length: "))
        return opening


class ActionCycle(RequestResponseCycle):
    """An action where uvicorn keeps the cycle of a request, so that what comes behind it waits and a shutdown ends it.

    A connection has one, used again for each action. It holds only what uvicorn's protocol reads of a cycle, and what
    the action needs.
    """

    caller: Caller
    head: Head
    observed: Observed

    def __init__(self) -> None:
        self.response_complete = True
        self.keep_alive = True
        self.disconnected = False
        self.message_event = asyncio.Event()
        self.body = bytearray()
        self.gathering = False
        self.url = b""


class GatewayProtocol(HttpToolsProtocol):
    """One connection. What connections share is set on a subclass (`protocol_for`)."""

    route: ActionRoute
    openings: Openings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._action = ActionCycle()
        self._in_head = False
        self._in_body = False
        self._upgrading = False
        self._refusal: Refusal | None = None
        self._lines = 0
        self._size = 0
        self._told = False
        self._untold = 0
        self._rested = 0.0

    @override
    def data_received(self, data: bytes) -> None:
        # Unlike uvicorn's, it leaves the keep-alive timer alone: that one looks when it fires.
        if self._refusal:
            return
        self._told = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._upgrading:
                self._read_without_upgrade(data[upgrade.args[0] :])
                return
        except httptools.HttpParserError as error:
            self._refuse(_HEAD_TOO_LARGE if isinstance(error.__context__, HeadTooLarge) else _NO_REQUEST)
            return
        if self._told:
            self._untold = 0
        else:
            # The parser tells of a header or trailer when it is whole, and keeps what came of it until then.
            self._untold += len(data)
            if self._untold > HEAD_BYTES:
                self._refuse(_HEAD_TOO_LARGE)
                return
        if self._action.gathering:
            self.route.arrivals.expect(self._action, self._give_up)

    def _read_without_upgrade(self, rest: bytes) -> None:
        """Read the request again without its Upgrade header, which a server may ignore (RFC 9110, 7.8).

        The parser has taken the body for another protocol's bytes, and cannot be told otherwise.
        """
        first = b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        kept = [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self._upgrading = False
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.data_received(b"\r\n".join([first, *kept, b"", rest]))

    def _refuse(self, refusal: Refusal) -> None:
        """Refuse what is no request of HTTP, and close: where it ends is not known."""
        self._refusal = refusal
        if self._in_body or self.cycle is None or self.cycle.response_complete:
            self._end(refusal)
        # Else it lies behind a request under way: sent now, it would be taken for that one's answer.

    def _end(self, refusal: Refusal) -> None:
        body = refusal.body()
        opening = self.openings.of(refusal.status, self.server_state.default_headers)
        self.transport.write(opening + b"%d\r\nconnection: close\r\n\r\n" % len(body) + body)
        self.transport.close()

    @override
    def on_message_begin(self) -> None:
        self._told = self._in_head = True
        self._lines = self._size = 0
        super().on_message_begin()

    @override
    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        if self._size > HEAD_BYTES:
            raise HeadTooLarge
        self.url += url

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Called for every line of every head: no calls from here.
        self._told = True
        self._lines += 1
        self._size += len(name) + len(value) + _LINE_EXTRA
        if self._size > HEAD_BYTES or self._lines > HEADER_LINES:
            raise HeadTooLarge
        if self._in_head:  # A trailer never counts as a header (RFC 9110, 6.5.1).
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    @override
    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._upgrading = self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"
        if not self._upgrading and not self._begin_action():
            super().on_headers_complete()

    def _begin_action(self) -> bool:
        """Whether this request is an action for which nothing has to be awaited before its body is there."""
        parser = self.parser
        if (
            (self.cycle and not self.cycle.response_complete)
            or _ACTION_URL.fullmatch(self.url) is None
            or parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or self.expect_100_continue
            or parser.should_upgrade()
        ):
            return False
        head = read_head(self.headers)
        length = length_of(head.content_length)
        caller = self.route.known_caller(head)
        if caller is None or length is None or length > BODY_BYTES:
            return False
        action = self.cycle = self._action
        action.url, action.head, action.caller = self.url, head, caller
        action.keep_alive, action.disconnected = parser.should_keep_alive(), False
        action.response_complete, action.gathering = False, True
        action.body.clear()
        action.observed = self.route.observe(head)
        return True

    @override
    def on_body(self, body: bytes) -> None:
        self._told = True
        if self.cycle is not self._action:
            super().on_body(body)
        elif self._action.gathering:
            self._action.body += body

    @override
    def on_message_complete(self) -> None:
        self._told, self._in_body = True, False
        if self._upgrading:
            return
        if self.cycle is not self._action:
            super().on_message_complete()
        elif self._action.gathering:
            self._action.gathering = False
            self.route.arrivals.arrived(self._action)
            self._submit(self._action)

    def _submit(self, action: ActionCycle) -> None:
        try:
            if self.route.limited:
                submitted: Future[Answer | Refusal] = asyncio.ensure_future(self._submit_in_rate(action))
            else:
                sent = self._sent(action)
                if isinstance(sent, Refusal):
                    self._finish(rendered(sent))
                    return
                submitted = cast("Future[Answer | Refusal]", sent)
        except Exception as error:
            self._finish(failed(error, action.head.trace))
            return
        submitted.add_done_callback(self._answered)

    def _sent(self, action: ActionCycle) -> "Future[Answer] | Refusal":
        return self.route.submit(action.caller, action.head, action.url.decode(), b"", bytes(action.body))

    async def _submit_in_rate(self, action: ActionCycle) -> Answer | Refusal:
        refusal = await self.route.over_rate(action.caller)
        sent = refusal or self._sent(action)
        return sent if isinstance(sent, Refusal) else await sent

    def _answered(self, submitted: "Future[Answer | Refusal]") -> None:
        error = TimeoutError() if submitted.cancelled() else submitted.exception()
        self._finish(failed(error, self._action.head.trace) if error else rendered(submitted.result()))

    def _give_up(self) -> None:
        self._action.gathering = False
        self._finish(rendered(overdue_body()))

    def _finish(self, reply: Rendered) -> None:
        status, body, extra = reply
        action = self._action
        action.response_complete = True
        action.observed.end(status)
        if not self.transport.is_closing():
            parts = [self.openings.of(status, self.server_state.default_headers), b"%d\r\n" % len(body)]
            for name, value in extra:
                parts += (name, b": ", value, b"\r\n")
            if not action.keep_alive:
                parts.append(b"connection: close\r\n")
            parts += (b"\r\n", body)
            self.transport.write(b"".join(parts))
            if not action.keep_alive:
                self.transport.close()
        self.on_response_complete()

    @override
    def on_response_complete(self) -> None:
        # As uvicorn's, but a keep-alive timer that runs already is left to run.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._rested = self.loop.time()
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refusal:
            self._end(self._refusal)
        elif self.timeout_keep_alive_task is None:
            self._close_after(self.timeout_keep_alive)

    def _close_after(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    @override
    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._in_head or not self.cycle.response_complete:
            return  # The answer to what is under way sets the next timer.
        rest = self._rested + self.timeout_keep_alive - self.loop.time()
        if rest > 0:
            self._close_after(rest)
        else:
            super().timeout_keep_alive_handler()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._unset_keepalive_if_required()
        super().connection_lost(exc)
        if self._action.gathering:
            self._action.gathering = False
            self.route.arrivals.arrived(self._action)
            self._finish(rendered(CUT_SHORT))


def protocol_for(route: ActionRoute) -> type[GatewayProtocol]:
    return type("GatewayProtocol", (GatewayProtocol,), {"route": route, "openings": Openings()})
