"""An ordered feed in memory: its newest messages, its head, and the watchers at the head."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from playmolt_spectator.frame_writer import write_to_all
from playmolt_spectator.frames import Dialect, Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.watcher import NORMAL, Watcher

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
        """What follows a version; None when it is no longer all there."""
        if not self._messages or version + 1 < self._messages[0].version:
            return None
        return list(islice(self._messages, version + 1 - self._messages[0].version, None))


class Channel(ABC):
    """Watchers and what they are sent. A subclass keeps the order and says where older messages come from."""

    def __init__(self, metrics: Metrics, head: int = 0) -> None:
        self.head = head
        self.closed = False
        """Whether nothing comes after the head."""
        self.tail = Tail()
        self._metrics = metrics
        self._watchers: set[Watcher] = set()
        # In the order they came: sockets written in the order of their making cost a tenth less than in a set's order.
        self._live: dict[Dialect, dict[Watcher, None]] = {}
        self._ahead: dict[Watcher, int] = {}

    @abstractmethod
    async def older(self, version: int) -> Sequence[Message]:
        """Some messages that follow `version`, in order and at least one, from outside memory."""

    def join(self, watcher: Watcher) -> None:
        """Count a watcher in: it gets heartbeats and the end."""
        self._watchers.add(watcher)

    def leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        self._ahead.pop(watcher, None)
        for watchers in self._live.values():
            watchers.pop(watcher, None)

    async def serve(self, watcher: Watcher, version: int) -> None:
        """Bring a watcher that has everything up to `version` to the head and keep it there."""
        while version < self.head:
            messages = self.tail.after(version) or await self.older(version)
            await watcher.deliver(messages)
            version = messages[-1].version
        if self.closed:
            watcher.finish(NORMAL)
        elif version > self.head:
            self._ahead[watcher] = version
        else:
            self._live.setdefault(watcher.dialect, {})[watcher] = None

    def publish(self, messages: Sequence[Message]) -> None:
        self.tail.extend(messages)
        self.head = messages[-1].version
        for dialect, watchers in self._live.items():
            if watchers:
                self._send(dialect, messages, tuple(watchers))
        for watcher, version in tuple(self._ahead.items()):
            if self.head >= version:
                del self._ahead[watcher]
                self._live.setdefault(watcher.dialect, {})[watcher] = None
                self._send(watcher.dialect, [m for m in messages if m.version > version], (watcher,))

    def _send(self, dialect: Dialect, messages: Sequence[Message], watchers: Sequence[Watcher]) -> None:
        write_to_all(watchers, dialect, messages, self._metrics)

    def end(self) -> None:
        """Nothing comes after the head: end everybody who is there; the others end when they arrive."""
        self.closed = True
        for watcher in (*self._ahead, *(watcher for watchers in self._live.values() for watcher in watchers)):
            watcher.finish(NORMAL)

    def heartbeat(self) -> None:
        beats: dict[Dialect, bytes] = {}
        for watcher in tuple(self._watchers):
            if (beat := beats.get(watcher.dialect)) is None:
                beat = beats[watcher.dialect] = watcher.dialect.heartbeat(self.beat_version)
            watcher.beat(beat)

    @property
    def beat_version(self) -> int:
        return self.head
