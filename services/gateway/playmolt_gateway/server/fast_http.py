"""uvicorn's protocol, with actions served from the parser's callbacks (docs/decisions).

uvicorn's request cycle (task, event, scope and messages per request) costs more than all the gateway's work for an
action. So an action of a cached caller is collected while httptools parses it and submitted when its body is complete.
All other requests (key not cached, chunked or large body, pipelined behind a request in flight) take uvicorn's way and
reach the same route through ASGI. One parser serves both ways, so they agree on where a request ends; tests compare
their bytes.
"""

import asyncio
import re
from asyncio import Future
from http import HTTPStatus
from typing import Final, cast

from playmolt_core.ops.connections import ConnectionLimiter
from playmolt_core.ops.http_protocol import MESSAGE_BYTES, BoundedProtocol
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.limits import BODY_BYTES
from playmolt_schemas.routes.platform import ACT, ROUTES
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.bodies import CUT_SHORT, length_of
from playmolt_gateway.http.problems import Headers, HttpProblem
from playmolt_gateway.http.responses import json_type
from playmolt_gateway.request.checked_request import RequestHead, read_head
from playmolt_gateway.routes.action import ActionObservation, ActionRoute, Rendered, failed, rendered

_ACTION_URL: Final = re.compile(ACT.path.replace("{id}", "[A-Za-z0-9_-]*").encode())
_LONG_BODIES: Final = tuple(
    (re.compile(re.sub(r"\{\w+\}", "[^/]*", route.path).encode()), route.method.encode(), route.body_bytes)
    for route in ROUTES
    if route.body_bytes > MESSAGE_BYTES
)
"""The routes with bodies that a connection does not otherwise take: path, method, bytes."""
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class ResponseHeads:
    """Response heads up to the value of content-length, cached per status until the date changes."""

    def __init__(self) -> None:
        self._common: Headers = []
        self._made: dict[int, bytes] = {}

    def of(self, status: int, common: Headers) -> bytes:
        """`common` are uvicorn's default headers, a new list every second."""
        if common is not self._common:
            self._common, self._made = common, {}
        opening = self._made.get(status)
        if opening is None:
            lines = [name + b": " + value + b"\r\n" for name, value in (*common, (b"content-type", json_type(status)))]
            opening = self._made[status] = b"".join((_STATUS_LINES[status], *lines, b"content-length: "))
        return opening


class ActionCycle(RequestResponseCycle):
    """An action in place of uvicorn's request cycle, so that pipelined requests wait and shutdown ends it.

    Each connection reuses one. It has only the attributes that uvicorn's protocol reads and the action needs.
    """

    caller: Caller
    head: RequestHead
    observed: ActionObservation

    def __init__(self) -> None:
        self.response_complete = True
        self.keep_alive = True
        self.disconnected = False
        self.message_event = asyncio.Event()
        self.body = bytearray()
        self.gathering = False
        self.url = b""


class GatewayProtocol(BoundedProtocol):
    """One connection. `protocol_for` sets what connections share on a subclass."""

    route: ActionRoute
    response_heads: ResponseHeads

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self._action = ActionCycle()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._action.gathering:
            self.route.deadlines.expect(self._action, self._give_up)

    @override
    def is_privileged(self) -> bool:
        return super().is_privileged() or self.route.is_operator(read_head(self.headers))

    @override
    def body_bytes(self) -> int:
        path, method = self.url.partition(b"?")[0], self.parser.get_method()
        return next((most for known, by, most in _LONG_BODIES if by == method and known.fullmatch(path)), 0)

    @override
    def begin(self) -> None:
        if not self._begin_action():
            super().begin()

    def _begin_action(self) -> bool:
        """Start an action that needs no await before its body is complete; False if the request is not one."""
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
        if caller is None or length is None or length > BODY_BYTES or head.content_encoding:
            return False
        action = self.cycle = self._action
        action.url, action.head, action.caller = self.url, head, caller
        action.keep_alive, action.disconnected = parser.should_keep_alive(), False
        action.response_complete, action.gathering = False, True
        self.answering = True
        action.body.clear()
        action.observed = self.route.observe(head)
        return True

    @override
    def on_body(self, body: bytes) -> None:
        if self.cycle is not self._action:
            super().on_body(body)
        else:
            self._parsed = True
            if self._action.gathering:
                self._action.body += body

    @override
    def on_message_complete(self) -> None:
        if self.cycle is not self._action or self._upgrading:
            super().on_message_complete()
            return
        self._parsed, self._in_body = True, False
        if self._action.gathering:
            self._action.gathering = False
            self.route.deadlines.arrived(self._action)
            self._submit(self._action)

    def _submit(self, action: ActionCycle) -> None:
        try:
            if self.route.limited(self.client[0] if self.client else None, self.headers):
                submitted: Future[Answer | HttpProblem] = asyncio.ensure_future(self._submit_in_rate(action))
            else:
                sent = self._sent(action)
                if isinstance(sent, HttpProblem):
                    self._finish(rendered(sent))
                    return
                submitted = cast("Future[Answer | HttpProblem]", sent)
        except Exception as error:
            self._finish(failed(error, action.head.trace))
            return
        submitted.add_done_callback(self._answered)

    def _sent(self, action: ActionCycle) -> "Future[Answer] | HttpProblem":
        return self.route.submit(action.caller, action.head, action.url.decode(), b"", bytes(action.body))

    async def _submit_in_rate(self, action: ActionCycle) -> Answer | HttpProblem:
        refusal = await self.route.over_rate(action.caller)
        sent = refusal or self._sent(action)
        return sent if isinstance(sent, HttpProblem) else await sent

    def _answered(self, submitted: "Future[Answer | HttpProblem]") -> None:
        error = TimeoutError() if submitted.cancelled() else submitted.exception()
        self._finish(failed(error, self._action.head.trace) if error else rendered(submitted.result()))

    def _give_up(self, why: HttpProblem) -> None:
        self._action.gathering = False
        self._finish(rendered(why))

    def _finish(self, reply: Rendered) -> None:
        status, body, extra = reply
        action = self._action
        action.response_complete = True
        action.observed.end(status)
        if not self.transport.is_closing():
            parts = [self.response_heads.of(status, self.server_state.default_headers), b"%d\r\n" % len(body)]
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
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._action.gathering:
            self._action.gathering = False
            self.route.deadlines.arrived(self._action)
            self._finish(rendered(CUT_SHORT))


def protocol_for(route: ActionRoute, limiter: ConnectionLimiter) -> type[GatewayProtocol]:
    return type(
        "GatewayProtocol", (GatewayProtocol,), {"route": route, "response_heads": ResponseHeads(), "limiter": limiter}
    )
