"""The fast lane: an action that arrives in one piece, or as head and body, is served without uvicorn's request cycle.

That cycle (a task, an event, scope and messages for each request) costs more than everything the gateway does itself.
HTTP libraries send head and body one after the other: a head that comes alone is kept for a moment.
Whatever is not plainly one whole action, in the strictest form of HTTP/1.1, takes the ordinary way through the same
checks; tests hold both to the same bytes.
"""

import asyncio
import re
from asyncio import Future
from http import HTTPStatus
from time import perf_counter
from typing import Any, Final

import msgspec
from opentelemetry.trace import Span
from playmolt_core.ops import tracing
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.limits import BODY_BYTES
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from playmolt_gateway.http.action_route import AFTER, BEFORE, NAME, Actions, Rendered, failed, rendered
from playmolt_gateway.http.checked_request import Head, traced
from playmolt_gateway.http.problems import Headers, Refusal, bad_request, json_type

_HEAD_BYTES: Final = 8 * 1024
_HELD_BYTES: Final = 64 * 1024
_FIRST: Final = re.compile(f"POST ({BEFORE}[A-Za-z0-9_-]*{AFTER}) HTTP/1[.]1".encode())
# Nothing behind the colon can fail, so no run of blanks is read again and again: a head costs what its length says.
_HEADER: Final = re.compile(rb"\r\n([A-Za-z0-9-]+):[ \t]*((?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*")
_LENGTH: Final = re.compile(rb"[1-9][0-9]{0,7}")
_HEAD_SECONDS: Final = 0.05
"""How long a head waits here for its body. Then the ordinary way takes it, which may answer before it has the body."""
_ORDINARY: Final = frozenset({b"transfer-encoding", b"expect", b"upgrade", b"te", b"trailer"})
_NO_REQUEST: Final = bad_request("This is no HTTP/1.1 request: its first line or a header is malformed or too long.")
_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Action(msgspec.Struct):
    """An action request as it came; `body` is None as long as only its head is there."""

    path: str
    head: Head
    body: bytes | None


def read_action(data: bytes) -> Action | None:
    """Read one action request, whole or all of its head and no more, that fills `data`; None for anything else, however
    slight the difference."""
    first = _FIRST.match(data)
    end = data.find(b"\r\n\r\n", 0, _HEAD_BYTES)
    if first is None or end < 0:
        return None
    # What stands before, between and behind the headers, which must be nothing; and after each of it name and value.
    parts = _HEADER.split(data[first.end() : end])
    headers = {parts[at].lower(): parts[at + 1] for at in range(1, len(parts), 3)}
    if any(parts[::3]) or 3 * len(headers) + 1 != len(parts) or not _ORDINARY.isdisjoint(headers):
        return None
    # HTTP/1.1 means it anyway, and most HTTP libraries say it all the same.
    if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    rest, length = data[end + 4 :], headers.get(b"content-length", b"")
    whole = length == b"%d" % len(rest)
    if (not whole and (rest or not _LENGTH.fullmatch(length))) or int(length) > BODY_BYTES:
        return None
    head = Head(
        headers.get(b"authorization"), headers.get(b"idempotency-key"), length, headers.get(b"traceparent", b"")
    )
    return Action(first.group(1).decode(), head, rest if whole else None)


class Openings:
    """What a response begins with, up to the figure of its length: made once for a status until the date changes."""

    def __init__(self) -> None:
        self._common: Headers = []
        self._made: dict[int, bytes] = {}

    def of(self, status: int, common: Headers) -> bytes:
        """Give the opening with the headers that all responses share; uvicorn makes a new list of them each second."""
        if common is not self._common:
            self._common, self._made = common, {}
        opening = self._made.get(status)
        if opening is None:
            lines = [name + b": " + value + b"\r\n" for name, value in (*common, (b"content-type", json_type(status)))]
            opening = self._made[status] = b"".join((_STATUS_LINES[status], *lines, b"content-length: "))
        return opening


class LaneProtocol(HttpToolsProtocol):
    """uvicorn's protocol with the fast lane in front. What connections share is set on a subclass (`protocol_for`)."""

    actions: Actions
    openings: Openings

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._started: float | None = None
        self._rested = 0.0
        self._span: Span | None = None
        self._trace = ""
        self._alone = b""
        self._patience: asyncio.TimerHandle | None = None
        self._held = b""
        self._parsing = False
        self._stopping = False

    def data_received(self, data: bytes) -> None:
        """Serve a whole action at once; hold what comes while one is under way; pass on all else."""
        if self._started is not None or self._held:
            self._hold(data)
            return
        data = self._head_alone() + data
        action = read_action(data) if self._idle() else None
        if action is None:
            super().data_received(data)
        elif action.body is None:
            self._alone, self._patience = data, self.loop.call_later(_HEAD_SECONDS, self._pass_on)
        else:
            self._begin(action, action.body)

    def _head_alone(self) -> bytes:
        """Give back the head that waits for its body, if one does."""
        if self._patience:
            self._patience.cancel()
            self._patience = None
        head, self._alone = self._alone, b""
        return head

    def _pass_on(self) -> None:
        super().data_received(self._head_alone())

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP request in the form of every refusal; uvicorn's own answer is bare text."""
        del msg
        body = _NO_REQUEST.body()
        opening = self.openings.of(_NO_REQUEST.status, self.server_state.default_headers)
        self.transport.write(opening + b"%d\r\nconnection: close\r\n\r\n" % len(body) + body)
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a head that waits."""
        self._head_alone()
        super().connection_lost(exc)

    def _idle(self) -> bool:
        """Say whether a request may begin here: none is being parsed or answered."""
        return not self._parsing and (self.cycle is None or self.cycle.response_complete)

    def on_message_begin(self) -> None:
        """Note that the parser is inside a request: what comes next is its rest, whatever it looks like."""
        self._parsing = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        """Note that the parser is between requests."""
        self._parsing = False
        super().on_message_complete()

    def _hold(self, data: bytes) -> None:
        self._held += data
        if len(self._held) > _HELD_BYTES:
            self.flow.pause_reading()

    def _begin(self, action: Action, body: bytes) -> None:
        self._started = perf_counter()
        self.actions.metrics.in_flight += 1
        self._span, self._trace = traced(action.head, NAME), action.head.trace
        try:
            caller = self.actions.admitted_now(action.head)
            if caller is None:
                asyncio.ensure_future(self._admit(action, body)).add_done_callback(self._answered)
                return
            sent = self.actions.submit(caller, action.head, action.path, b"", body)
        except Exception as error:
            self._finish(failed(error, self._trace))
            return
        if isinstance(sent, Refusal):
            self._finish(rendered(sent))
        else:
            sent.add_done_callback(self._answered)

    async def _admit(self, action: Action, body: bytes) -> Answer | Refusal:
        caller = await self.actions.admitted(action.head)
        if isinstance(caller, Refusal):
            return caller
        sent = self.actions.submit(caller, action.head, action.path, b"", body)
        return sent if isinstance(sent, Refusal) else await sent

    def _answered(self, reply: "Future[Any]") -> None:
        if reply.cancelled():
            self._finish(failed(TimeoutError(), self._trace))
            return
        error = reply.exception()
        self._finish(rendered(reply.result()) if error is None else failed(error, self._trace))

    def _finish(self, reply: Rendered) -> None:
        status, body, extra = reply
        started, self._started, self._rested = self._started, None, perf_counter()
        self.actions.metrics.in_flight -= 1
        self.actions.metrics.observe(NAME, status, self._rested - (started or 0.0))
        if self._span:
            tracing.answered(self._span, status)
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        parts = [self.openings.of(status, self.server_state.default_headers), b"%d\r\n" % len(body)]
        for name, value in extra:
            parts += (name, b": ", value, b"\r\n")
        if self._stopping:
            parts.append(b"connection: close\r\n")
        parts += (b"\r\n", body)
        self.transport.write(b"".join(parts))
        if self._stopping:
            self.transport.close()
            return
        self.flow.resume_reading()
        if self._held:
            self.loop.call_soon(self._resume)
        elif self.timeout_keep_alive_task is None:
            self._watch_rest(self.timeout_keep_alive)

    def _watch_rest(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def timeout_keep_alive_handler(self) -> None:
        """Close when nothing came for the whole time. Actions leave the timer alone: it looks here how long that is."""
        self.timeout_keep_alive_task = None
        if self._started is not None or self._alone:
            return
        rest = self._rested + self.timeout_keep_alive - perf_counter()
        if rest > 0:
            self._watch_rest(rest)
        else:
            super().timeout_keep_alive_handler()

    def _resume(self) -> None:
        held, self._held = self._held, b""
        self.data_received(held)

    def shutdown(self) -> None:
        """Close now, or behind the action that is under way."""
        if self._alone:
            self._pass_on()
        if self._started is None:
            super().shutdown()
        else:
            self._stopping = True


def protocol_for(actions: Actions) -> type[LaneProtocol]:
    """Give the protocol class of a gateway."""
    return type("GatewayProtocol", (LaneProtocol,), {"actions": actions, "openings": Openings()})
