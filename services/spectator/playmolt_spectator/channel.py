"""An ordered feed in memory: its newest messages, its head, and the readers at the head."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from playmolt_spectator.frames import Dialect, Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.watcher import NORMAL, Reader, chunked

TAIL_MESSAGES = 256
TAIL_BYTES = 256 * 1024


class Tail:
    """The newest messages of a feed without a hole, as many as fit."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._bytes = 0

    def extend(self, messages: Iterable[Message]) -> None:
        """Add the messages that follow; the oldest make room."""
        for message in messages:
            self._messages.append(message)
            self._bytes += len(message.raw)
        while len(self._messages) > TAIL_MESSAGES or self._bytes > TAIL_BYTES:
            self._bytes -= len(self._messages.popleft().raw)

    def after(self, version: int) -> Sequence[Message] | None:
        """Give what follows a version; None when it is no longer all there."""
        if not self._messages or version + 1 < self._messages[0].version:
            return None
        return list(islice(self._messages, version + 1 - self._messages[0].version, None))


class Channel(ABC):
    """Readers and what they read. A subclass keeps the order and says where older messages come from."""

    def __init__(self, metrics: Metrics, head: int = 0) -> None:
        self.head = head
        self.closed = False
        """Whether nothing comes after the head."""
        self.tail = Tail()
        self._metrics = metrics
        self._readers: set[Reader] = set()
        # In the order they came: sockets written in the order of their making cost a tenth less than in a set's order.
        self._live: dict[Dialect, dict[Reader, None]] = {}
        self._ahead: dict[Reader, int] = {}

    @abstractmethod
    async def older(self, version: int) -> Sequence[Message]:
        """Give some messages that follow `version`, in order and at least one, from outside memory."""

    def join(self, reader: Reader) -> None:
        """Count a reader in: it gets heartbeats and the end."""
        self._readers.add(reader)

    def leave(self, reader: Reader) -> None:
        """Send a reader nothing more."""
        self._readers.discard(reader)
        self._ahead.pop(reader, None)
        for readers in self._live.values():
            readers.pop(reader, None)

    async def serve(self, reader: Reader, version: int) -> None:
        """Bring a reader that has everything up to `version` to the head and keep it there."""
        while version < self.head:
            messages = self.tail.after(version) or await self.older(version)
            await reader.deliver(messages)
            version = messages[-1].version
        if self.closed:
            reader.finish(NORMAL)
        elif version > self.head:
            self._ahead[reader] = version
        else:
            self._live.setdefault(reader.dialect, {})[reader] = None

    def publish(self, messages: Sequence[Message]) -> None:
        """Send the messages that follow the head to everybody who is there."""
        self.tail.extend(messages)
        self.head = messages[-1].version
        for dialect, readers in self._live.items():
            if readers:
                self._send(dialect, messages, tuple(readers))
        for reader, version in tuple(self._ahead.items()):
            if self.head >= version:
                del self._ahead[reader]
                self._live.setdefault(reader.dialect, {})[reader] = None
                self._send(reader.dialect, [m for m in messages if m.version > version], (reader,))

    def _send(self, dialect: Dialect, messages: Sequence[Message], readers: Sequence[Reader]) -> None:
        for chunk, count in chunked(dialect, messages):
            for reader in readers:
                if reader.paused:
                    reader.push(chunk, count)
                else:
                    reader.write(chunk)
            self._metrics.sent(count * len(readers), len(chunk) * len(readers))

    def end(self) -> None:
        """Nothing comes after the head: end everybody who is there; the others end when they arrive."""
        self.closed = True
        for reader in (*self._ahead, *(reader for readers in self._live.values() for reader in readers)):
            reader.finish(NORMAL)

    def heartbeat(self) -> None:
        """Tell every reader the head."""
        beats: dict[Dialect, bytes] = {}
        for reader in tuple(self._readers):
            if (beat := beats.get(reader.dialect)) is None:
                beat = beats[reader.dialect] = reader.dialect.heartbeat(self.beat_version)
            reader.beat(beat)

    @property
    def beat_version(self) -> int:
        """The version that heartbeats carry."""
        return self.head
