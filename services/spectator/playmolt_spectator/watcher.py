"""One reader and the rules for slow ones (api.md, Feeds): what waits for it is bounded, and so is how long.

What the kernel does not take waits here, not in the transport, so that it can be counted and, when the reader is
dropped, thrown away: the close frame then follows the frame under way instead of a megabyte.
"""

import asyncio
import socket
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from playmolt_core.ops.telemetry import log
from playmolt_schemas import limits
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from playmolt_spectator.frames import WEBSOCKET, Dialect, Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Pace

NORMAL, GOING_AWAY, FAILED, BAD_REQUEST, SLOW = 1000, 1001, 1011, 4400, 4008
_KERNEL_BYTES = 64 * 1024
_DEAD_MILLISECONDS = 60_000
_CHUNK = 64 * 1024
_log = log("reader")


def bound_kernel(connection: socket.socket) -> None:
    """Bound what the kernel keeps for a reader, and for how long.

    Its own choice of megabytes would hide that a reader takes nothing, and it waits a quarter of an hour for a machine
    that is gone.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
    if sys.platform == "linux":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_MILLISECONDS)


def chunked(dialect: Dialect, messages: Iterable[Message]) -> Iterable[tuple[bytes, int]]:
    """Join frames into writes of about 64 KiB; gives each with its number of messages."""
    frames: list[bytes] = []
    size = 0
    for message in messages:
        frames.append(dialect.message(message))
        size += len(frames[-1])
        if size >= _CHUNK:
            yield b"".join(frames), len(frames)
            frames, size = [], 0
    if frames:
        yield b"".join(frames), len(frames)


class Reader(asyncio.Protocol, ABC):
    """Takes over a connection once its request is answered. `left` is called once, when it takes nothing any more."""

    # A fan-out touches every reader: small ones stay in the processor's cache.
    __slots__ = (
        "_close_when_flushed",
        "_ending",
        "_flushed",
        "_linger",
        "_loop",
        "_metrics",
        "_pace",
        "_queue",
        "_stall",
        "_task",
        "_transport",
        "_waiting_bytes",
        "_waiting_messages",
        "dialect",
        "gone",
        "left",
        "paused",
        "write",
    )

    def __init__(self, transport: asyncio.Transport, dialect: Dialect, pace: Pace, metrics: Metrics) -> None:
        self.dialect = dialect
        self.left: Callable[[], None] = lambda: None
        self.gone: Callable[[], None] = lambda: None
        self._transport = transport
        self.write = transport.write
        self._pace = pace
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self.paused = False
        self._ending = False
        self._close_when_flushed = False
        self._queue: deque[tuple[bytes, int]] = deque()
        self._waiting_messages = 0
        self._waiting_bytes = 0
        self._flushed: asyncio.Future[None] | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def feed(self, source: Coroutine[Any, Any, None]) -> None:
        """Run what brings the reader up to the head; it ends with the reader."""
        self._task = asyncio.create_task(source)
        self._task.add_done_callback(self._fed)

    def _fed(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error("feed_failed", error=repr(error))
            self.finish(FAILED)

    def push(self, chunk: bytes, messages: int) -> None:
        """Send now, or let it wait; a reader with too much waiting is dropped."""
        if not self.paused:
            self.write(chunk)
        elif not self._ending:
            self._queue.append((chunk, messages))
            self._waiting_messages += messages
            self._waiting_bytes += len(chunk)
            if (
                self._waiting_messages >= limits.READER_MESSAGES
                or self._waiting_bytes + self._transport.get_write_buffer_size() >= limits.READER_BYTES
            ):
                self.drop()

    def beat(self, chunk: bytes) -> None:
        """Send a heartbeat, unless the reader has enough to read as it is."""
        if not self.paused:
            self.write(chunk)

    async def deliver(self, messages: Iterable[Message]) -> None:
        """Send messages as fast as the reader takes them; only a stall drops it here."""
        for chunk, count in chunked(self.dialect, messages):
            if self.paused:
                self._flushed = self._loop.create_future()
                await self._flushed
            self._metrics.sent(count, len(chunk))
            self.write(chunk)

    def drop(self) -> None:
        """End a reader that is too slow; it can resume. What waits for it is thrown away."""
        if not self._ending:
            self._metrics.counts["readers_dropped_total"] += 1
            self._queue.clear()
            self._end(SLOW, "too slow; reconnect with after= the last version you have")

    def finish(self, code: int, reason: str = "") -> None:
        """Send what waits, then end."""
        if not self._ending:
            self._end(code, reason)

    def _end(self, code: int, reason: str) -> None:
        self._ending = True
        self._leave()
        self._linger = self._loop.call_later(self._pace.linger, self._transport.abort)
        self._farewell(code, reason)

    def _leave(self) -> None:
        if self._task:
            self._task.cancel()
        left, self.left = self.left, lambda: None
        left()

    @abstractmethod
    def _farewell(self, code: int, reason: str) -> None:
        """Tell the other end why nothing more comes."""

    def _last(self, chunk: bytes) -> None:
        """Send after all that waits."""
        if self.paused:
            self._queue.append((chunk, 0))
        else:
            self.write(chunk)

    def _close(self) -> None:
        self._close_when_flushed = True
        if not self.paused:
            self._transport.close()

    def pause_writing(self) -> None:
        """Note that the kernel took no more."""
        self.paused = True
        self._watch_stall(self._transport.get_write_buffer_size(), self._loop.time())

    def _watch_stall(self, size: int, since: float) -> None:
        now, left = self._loop.time(), self._transport.get_write_buffer_size()
        if left != size:
            size, since = left, now
        if now - since >= self._pace.stall:
            self.drop()
        else:
            self._stall = self._loop.call_later(self._pace.stall / 10, self._watch_stall, size, since)

    def resume_writing(self) -> None:
        """Write what waited, in pieces, until the kernel takes no more."""
        self.paused = False
        if self._stall:
            self._stall.cancel()
        while self._queue and not self.paused:
            self.write(self._next_piece())
        if self.paused:
            return
        if self._close_when_flushed:
            self._transport.close()
        elif self._flushed and not self._flushed.done():
            self._flushed.set_result(None)

    def _next_piece(self) -> bytes:
        piece: list[bytes] = []
        size = 0
        while self._queue and size < _CHUNK:
            chunk, messages = self._queue.popleft()
            piece.append(chunk)
            size += len(chunk)
            self._waiting_messages -= messages
            self._waiting_bytes -= len(chunk)
        return b"".join(piece)

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- why it went changes nothing
        """Forget the reader."""
        self._ending = True
        for timer in (self._stall, self._linger):
            if timer:
                timer.cancel()
        self._leave()
        self.gone()


class EventReader(Reader):
    """Reads server-sent events. What it sends is ignored."""

    __slots__ = ()

    def _farewell(self, code: int, reason: str) -> None:  # noqa: ARG002 -- SSE has no words for it
        if code == SLOW:
            self._transport.abort()
        else:
            self._close()


class SocketReader(Reader):
    """Reads WebSocket frames. Its texts are ignored; pings and close are answered."""

    __slots__ = ("_protocol",)

    def __init__(self, transport: asyncio.Transport, pace: Pace, metrics: Metrics, protocol: ServerProtocol) -> None:
        super().__init__(transport, WEBSOCKET, pace, metrics)
        self._protocol = protocol

    def data_received(self, data: bytes) -> None:
        """Answer control frames."""
        self._protocol.receive_data(data)
        self._protocol.events_received()
        for answer in self._protocol.data_to_send():
            if answer:
                self.push(answer, 1)
            else:
                self._close()
        if self._protocol.state is not OPEN and not self._ending:
            self._ending = True
            self._linger = self._loop.call_later(self._pace.linger, self._transport.abort)
            self._leave()

    def _farewell(self, code: int, reason: str) -> None:
        if self._protocol.state is OPEN:
            self._protocol.send_close(code, reason)
            self._last(b"".join(self._protocol.data_to_send()))
