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

from playmolt_core.ops.connections import Door
from playmolt_core.ops.http_protocol import BoundedProtocol
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.limits import BODY_BYTES
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.bodies import CUT_SHORT, length_of
from playmolt_gateway.http.problems import Headers, Refusal
from playmolt_gateway.http.responses import json_type
from playmolt_gateway.request.checked_request import Head, read_head
from playmolt_gateway.routes.action import ActionRoute, Observed, Rendered, failed, rendered

_ACTION_URL: Final = re.compile(rb"/api/games/[A-Za-z0-9_-]*/actions")
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


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


class GatewayProtocol(BoundedProtocol):
    """One connection. What connections share is set on a subclass (`protocol_for`)."""

    route: ActionRoute
    openings: Openings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._action = ActionCycle()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._action.gathering:
            self.route.arrivals.expect(self._action, self._give_up)

    @override
    def is_privileged(self) -> bool:
        return super().is_privileged() or self.route.is_operator(read_head(self.headers))

    @override
    def begin(self) -> None:
        if not self._begin_action():
            super().begin()

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
            self._told = True
            if self._action.gathering:
                self._action.body += body

    @override
    def on_message_complete(self) -> None:
        if self.cycle is not self._action or self._upgrading:
            super().on_message_complete()
            return
        self._told, self._in_body = True, False
        if self._action.gathering:
            self._action.gathering = False
            self.route.arrivals.arrived(self._action)
            self._submit(self._action)

    def _submit(self, action: ActionCycle) -> None:
        try:
            if self.route.limited(self.client[0] if self.client else None, self.headers):
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

    def _give_up(self, why: Refusal) -> None:
        self._action.gathering = False
        self._finish(rendered(why))

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
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._action.gathering:
            self._action.gathering = False
            self.route.arrivals.arrived(self._action)
            self._finish(rendered(CUT_SHORT))


def protocol_for(route: ActionRoute, door: Door) -> type[GatewayProtocol]:
    return type("GatewayProtocol", (GatewayProtocol,), {"route": route, "openings": Openings(), "door": door})
