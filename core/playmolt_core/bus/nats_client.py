"""The client of nats-py, extended for servers that hang, forge reply subjects or lost their routes."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from nats.aio.client import Client, Server
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import (
    ConnectionClosedError,
    MaxPayloadError,
    OutboundBufferLimitError,
    SecureConnRequiredError,
    StaleConnectionError,
)
from nats.errors import (
    Error as NatsError,
)

from playmolt_core.ops.process import next_tick

READ_IN: Final = "2.16.0"
"""The version of nats-py whose private methods this module overrides or calls; no other module does."""
PING_SECONDS: Final = 2
PINGS_MISSED: Final = 2
RECONNECT_SECONDS: Final = 0.25
_CLOSE_SECONDS: Final = 1.0
_INBOXES = (b"_INBOX.", b"_R_.")  # the second is of another account: the server rewrote the requester's
_DISCOVERY = b"$SRV."
_UNREAD_BYTES = 64 * 1024
_JUST_CLOSED: Final = (RuntimeError, AttributeError)
"""Raised by a write to a closed transport, of uvloop or of the library without a transport."""

Receiver = Callable[[Msg], Awaitable[None]]


_HEADER_LINE_BYTES: Final = len("NATS/1.0\r\n" + "\r\n")
_HEADER_MARKS_BYTES: Final = len(": " + "\r\n")


def _header_bytes(headers: Mapping[str, str] | None) -> int:
    if headers is None:
        return 0
    lines = (len(name.encode()) + len(value.encode()) + _HEADER_MARKS_BYTES for name, value in headers.items())
    return _HEADER_LINE_BYTES + sum(lines)


class NatsClient(Client):
    """Replies to inboxes only: a reply subject of the events would let any client publish there through us.

    Leaves a server that answers no pings, even if data is still buffered, and then connects to another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._left = ""
        self.ended_by = ""
        """The error with which a server ended or refused the last connection; "" once there is a new one."""
        self._inline_receivers: dict[int, Receiver] = {}
        self._gathered: list[bytes] | None = None

    def send(self, subject: str, body: bytes, reply: str = "") -> None:
        """Publish without waiting. Raises as `publish` does, also where that would wait for buffer space."""
        if self.is_closed:
            raise ConnectionClosedError
        command = f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"
        if len(body) > self._max_payload:
            raise MaxPayloadError
        if self._pending_data_size + len(command) > self._max_pending_size:
            raise OutboundBufferLimitError
        self.put(command)

    def put(self, commands: bytes) -> None:
        """Write commands of the protocol unchanged, without waiting.

        Written at once if the server keeps up: the library's flusher, a task behind a queue, would take two loop turns
        more. It gets the rest.
        """
        if self._gathered is not None:
            self._gathered.append(commands)
            return
        self._pending.append(commands)
        self._pending_data_size += len(commands)
        if self._transport and self.is_connected and not self._is_unread():
            self._transport.write(b"".join(self._pending))
            self._pending = []
            self._pending_data_size = 0
        elif self._flush_queue and self._flush_queue.empty():
            self._flush_queue.put_nowait(asyncio.get_running_loop().create_future())

    @contextmanager
    def in_one_write(self) -> Iterator[None]:
        """Write everything that is sent within in one piece, with what a surrounding block sends."""
        if self._gathered is not None:
            yield
            return
        gathered = self._gathered = []
        try:
            yield
        finally:
            self._gathered = None
            if gathered:
                self.put(b"".join(gathered))

    def _is_unread(self) -> bool:
        """Whether the server has not read earlier writes yet, or never will because the connection is closed."""
        writer = getattr(self._transport, "_io_writer", None)
        if writer is None or writer.transport.is_closing():
            return True
        return bool(writer.transport.get_write_buffer_size() > _UNREAD_BYTES)

    def receive_inline(self, subscription: Subscription, receive: Receiver) -> None:
        """Process the messages of a subscription where they are read, without a queue and a task in between.

        The next message is read when `receive` has returned, so it must not wait for anything from NATS.
        """
        self._inline_receivers[subscription._id] = receive  # noqa: SLF001

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if reply and not reply.startswith(_INBOXES):
            if subject.startswith(_DISCOVERY):
                return  # useless without an answer
            reply = b""
        receive = self._inline_receivers.get(sid)
        if receive is None or sid not in self._subs:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        message = self._build_message(
            sid, subject, reply, data, await self._process_headers(headers) if headers else None
        )
        try:
            await receive(message)
        except Exception as error:
            await self._error_cb(error)

    async def _send_publish(
        self, subject: str, reply: str, payload: bytes, payload_size: int, headers: dict[str, Any] | None
    ) -> None:
        """Count the headers, too: the server ends the connection if they pass its bound together with the payload."""
        if payload_size + _header_bytes(headers) > self._max_payload:
            raise MaxPayloadError
        await super()._send_publish(subject, reply, payload, payload_size, headers)

    async def give_up(self) -> None:
        """Close what an attempt to connect has opened: the library leaves it open when it is cancelled."""
        if self._transport is None:
            return
        with suppress(TimeoutError, OSError, NatsError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.close()

    async def _process_pong(self) -> None:
        """Skip a flush that was given up: the library would fail to set its result and read nothing more."""
        if self._pongs and self._pongs[0].done():
            del self._pongs[0]
            self._pings_outstanding = 0
            return
        await super()._process_pong()

    async def _process_err(self, err_msg: str) -> None:
        """Connect again after an error that ends the connection: the library would close the client for good."""
        if "permissions violation" not in err_msg.lower():
            self.ended_by = err_msg.strip("'")
        if self.is_connected and "permissions violation" not in err_msg.lower():
            await self._error_cb(NatsError(f"nats: {self.ended_by}"))
            await self._process_op_err(NatsError(self.ended_by))
            return
        await super()._process_err(err_msg)

    async def _process_info(self, info: dict[str, object], initial_connection: bool = False) -> None:
        """Refuse a server without TLS if TLS is required: the library would send the password unencrypted."""
        wanted = "tls" in self.options or (self._current_server and self._current_server.uri.scheme == "tls")
        if wanted and initial_connection and not info.get("tls_required"):
            raise SecureConnRequiredError
        await super()._process_info(info, initial_connection)

    async def _ping_interval(self) -> None:
        """Ping ahead of buffered data: the library waits for buffer space, which a hung server never frees."""
        while True:
            await next_tick(PING_SECONDS)
            if not self.is_connected or self._transport is None:
                continue
            self._pings_outstanding += 1
            if self._pings_outstanding > PINGS_MISSED:
                await self._process_op_err(StaleConnectionError())
                return
            self._pongs.append(asyncio.get_running_loop().create_future())
            with suppress(*_JUST_CLOSED):  # the reader is about to notice
                self._transport.write(b"PING\r\n")

    async def _send_ping(self, future: asyncio.Future[object] | None = None) -> None:
        """Fail as on a lost connection if it was just closed and the reader has not noticed yet."""
        try:
            await super()._send_ping(future)
        except _JUST_CLOSED as error:
            raise ConnectionResetError("the connection was closed just now") from error

    async def _flush_pending(self, force_flush: bool = False) -> None:
        """Keep buffered data for the next connection if this one was just closed."""
        with suppress(*_JUST_CLOSED):
            await super()._flush_pending(force_flush)

    async def _attempt_reconnect(self) -> None:
        if self._current_server is not None:
            self._left = self._current_server.uri.netloc
        self._abort()
        await super()._attempt_reconnect()
        if self.is_connected:
            self.ended_by = ""

    async def _connect_to_server(self, s: Any) -> None:
        self._abort()  # of a server that accepted the connection and stayed silent
        await super()._connect_to_server(s)

    def _abort(self) -> None:
        # An orderly close would wait until the server has read the socket's buffer.
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    def choose(self, servers: list[Server], _: Mapping[str, object]) -> tuple[Server, float]:
        """The next server to try, and the pause before: the least tried one; the one just left comes last."""

        def tries(one: Server) -> tuple[int, float]:
            return one.reconnects + (one.uri.netloc == self._left), random.random()  # noqa: S311 -- no secret

        chosen = min(servers, key=tries)
        return chosen, RECONNECT_SECONDS if chosen.reconnects else 0.0
