"""Writing to watchers, with bounds in bytes and time for slow ones (api.md, Feeds).

Unsent data is queued here, not in the transport, so that it can be counted and discarded when the watcher is dropped:
the close frame then follows the frame in flight instead of a megabyte.
"""

import asyncio
import socket
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence

from playmolt_schemas import limits

from playmolt_spectator.frames import Dialect, Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts

_KERNEL_BYTES = 64 * 1024
_DEAD_MILLISECONDS = 60_000
_CHUNK = 64 * 1024


def bound_kernel(connection: socket.socket) -> None:
    """Bound the kernel's send buffer and its timeout for unacknowledged data.

    By default it buffers megabytes, which hides that a watcher reads nothing, and waits 15 minutes for a dead peer.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)
    if sys.platform == "linux":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_MILLISECONDS)


def chunked(dialect: Dialect, messages: Iterable[Message]) -> Iterable[tuple[bytes, int]]:
    """Join frames into chunks of about 64 KiB; yields each with its number of messages."""
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


class FrameWriter(asyncio.Protocol, ABC):
    """Writes to one connection. Subclasses implement `drop`."""

    # A fan-out touches every writer; small objects stay in the CPU cache.
    __slots__ = (
        "_close_when_flushed",
        "_ending",
        "_flushed",
        "_loop",
        "_metrics",
        "_queue",
        "_stall",
        "_timeouts",
        "_transport",
        "_waiting_bytes",
        "_waiting_messages",
        "dialect",
        "paused",
        "write",
    )

    def __init__(self, transport: asyncio.Transport, dialect: Dialect, timeouts: Timeouts, metrics: Metrics) -> None:
        self.dialect = dialect
        self.write = transport.write
        self.paused = False
        self._transport = transport
        self._timeouts = timeouts
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._ending = False
        self._close_when_flushed = False
        self._queue: deque[tuple[bytes, int]] = deque()
        self._waiting_messages = 0
        self._waiting_bytes = 0
        self._flushed: asyncio.Future[None] | None = None
        self._stall: asyncio.TimerHandle | None = None

    @abstractmethod
    def drop(self) -> None:
        """Disconnect a slow watcher, which can resume, and discard its queue."""

    def push(self, chunk: bytes, messages: int) -> None:
        """Send or queue a chunk; drop the watcher if its queue is too long."""
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
        """Send a heartbeat unless data is queued."""
        if not self.paused:
            self.write(chunk)

    async def deliver(self, messages: Iterable[Message]) -> None:
        """Send messages as fast as the watcher reads; only a stall drops it."""
        for chunk, count in chunked(self.dialect, messages):
            if self.paused:
                self._flushed = self._loop.create_future()
                await self._flushed
            self._metrics.sent(count, len(chunk))
            self.write(chunk)

    def _last(self, chunk: bytes) -> None:
        """Send a chunk after the queue."""
        if self.paused:
            self._queue.append((chunk, 0))
        else:
            self.write(chunk)

    def _close(self) -> None:
        self._close_when_flushed = True
        if not self.paused:
            self._transport.close()

    def pause_writing(self) -> None:
        self.paused = True
        self._watch_stall(self._transport.get_write_buffer_size(), self._loop.time())

    def _watch_stall(self, size: int, since: float) -> None:
        now, left = self._loop.time(), self._transport.get_write_buffer_size()
        if left != size:
            size, since = left, now
        if now - since >= self._timeouts.stall:
            self.drop()
        else:
            self._stall = self._loop.call_later(self._timeouts.stall / 10, self._watch_stall, size, since)

    def resume_writing(self) -> None:
        """Write the queue in pieces until the transport pauses again."""
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


def write_to_all(
    writers: Sequence[FrameWriter], dialect: Dialect, messages: Sequence[Message], metrics: Metrics
) -> None:
    """Build each chunk once and write it to all writers of a dialect."""
    for chunk, count in chunked(dialect, messages):
        for writer in writers:
            if writer.paused:
                writer.push(chunk, count)
            else:
                writer.write(chunk)
        metrics.sent(count * len(writers), len(chunk) * len(writers))
