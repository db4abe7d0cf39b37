"""One watcher, from the response head until it disconnects, is finished, or is dropped as too slow."""

import asyncio
import codecs
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from typing import Final

from playmolt_core.ops.telemetry import log
from typing_extensions import override
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN
from websockets.server import ServerProtocol

from playmolt_spectator.frame_writer import FrameWriter
from playmolt_spectator.frames import WEBSOCKET, Dialect
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts

NORMAL, GOING_AWAY, BAD_TEXT, FAILED, TRY_AGAIN, BAD_REQUEST, SLOW = 1000, 1001, 1007, 1011, 1013, 4400, 4008
UNANSWERED = 2
"""Heartbeats carry pings; a watcher that answered none of the last so many is disconnected."""

_log = log("watcher")
_utf8: Final = codecs.getincrementaldecoder("utf-8")


class Watcher(FrameWriter):
    """Owns a connection after its request was answered. `left` is called once, when sending ends."""

    __slots__ = ("_linger", "_task", "gone", "left")

    def __init__(self, transport: asyncio.Transport, dialect: Dialect, timeouts: Timeouts, metrics: Metrics) -> None:
        super().__init__(transport, dialect, timeouts, metrics)
        self.left: Callable[[], None] = lambda: None
        self.gone: Callable[[], None] = lambda: None
        self._linger: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def feed(self, source: Coroutine[None, None, None]) -> None:
        """Run the coroutine that serves the watcher; it is cancelled when the watcher ends."""
        self._task = asyncio.create_task(source)
        self._task.add_done_callback(self._fed)

    def _fed(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error("feed_failed", error=repr(error))
            self.finish(FAILED)

    def drop(self) -> None:
        """Disconnect a slow watcher, which can resume, and discard its queue."""
        if not self._ending:
            self._metrics.counts["readers_dropped_total"] += 1
            self._queue.clear()
            self._end(SLOW, "too slow; reconnect with after= the last version you received")

    def finish(self, code: int, reason: str = "") -> None:
        """Send the queue, then end."""
        if not self._ending:
            self._end(code, reason)

    def _end(self, code: int, reason: str) -> None:
        self._ending = True
        self._leave()
        self._linger = self._loop.call_later(self._timeouts.linger, self._transport.abort)
        self._farewell(code, reason)

    def _leave(self) -> None:
        if self._task:
            self._task.cancel()
        left, self.left = self.left, lambda: None
        left()

    @abstractmethod
    def _farewell(self, code: int, reason: str) -> None:
        """Send the reason for the end."""

    def abort(self) -> None:
        self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the reason does not matter
        self._ending = True
        for timer in (self._stall, self._linger):
            if timer:
                timer.cancel()
        self._leave()
        self.gone()


class EventStreamWatcher(Watcher):
    """A client of server-sent events. Its input is ignored."""

    __slots__ = ()

    def _farewell(self, code: int, reason: str) -> None:  # noqa: ARG002 -- SSE has no close frame
        if code == SLOW:
            self._transport.abort()
        else:
            self._close()


class WebSocketWatcher(Watcher):
    """A WebSocket client. Its texts are ignored; pings and close frames are answered."""

    __slots__ = ("_protocol", "_text", "_unanswered")

    def __init__(
        self, transport: asyncio.Transport, timeouts: Timeouts, metrics: Metrics, protocol: ServerProtocol
    ) -> None:
        super().__init__(transport, WEBSOCKET, timeouts, metrics)
        self._protocol = protocol
        self._text: codecs.IncrementalDecoder | None = None
        self._unanswered = 0

    @override
    def beat(self, chunk: bytes) -> None:
        if self.paused:
            return
        if self._unanswered >= UNANSWERED:
            self.abort()
            return
        self._unanswered += 1
        super().beat(chunk)

    def data_received(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._take(event)
        for answer in self._protocol.data_to_send():
            if answer:
                self.push(answer, 1)
            else:
                self._close()
        if self._protocol.state is not OPEN and not self._ending:
            self._ending = True
            self._linger = self._loop.call_later(self._timeouts.linger, self._transport.abort)
            self._leave()

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._unanswered = 0
        elif frame.opcode is Opcode.TEXT:
            self._text = _utf8()
        if self._text is None or frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        try:
            self._text.decode(bytes(frame.data), final=frame.fin)
        except UnicodeDecodeError:
            self.finish(BAD_TEXT, "a text must be UTF-8")
        if frame.fin:
            self._text = None

    def _farewell(self, code: int, reason: str) -> None:
        if self._protocol.state is OPEN:
            self._protocol.send_close(code, reason)
            self._last(b"".join(self._protocol.data_to_send()))
