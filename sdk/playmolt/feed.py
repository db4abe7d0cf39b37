"""A game's server-sent events as one gapless sequence across reconnects."""

import time
from collections.abc import Callable, Iterator, Mapping, Set
from http import HTTPStatus

import msgspec
from playmolt_schemas.limits import HEARTBEAT_SECONDS
from playmolt_schemas.routes.route import EVENT_STREAM, Route

from playmolt import calls
from playmolt.calls import Request
from playmolt.errors import UNAVAILABLE, Unavailable, UnexpectedAnswer
from playmolt.retries import Retry, raise_for, retry_after

CLOSING = frozenset({"game_end", "game_aborted", "run_ended"})
"""Types of the messages that end a feed (api.md, Feeds)."""
OVER = frozenset({"end", "aborted"})
"""Phases of a game that is over."""
NOTHING_MORE = HTTPStatus.NO_CONTENT
"""The status of a feed whose reader already has its closing message."""
SILENCE_SECONDS = 3.0 * HEARTBEAT_SECONDS
"""A connection without event or heartbeat for this long counts as dead."""
MESSAGE_BYTES = 4 * 1024 * 1024
"""Maximum size of a message, so that an endless line cannot fill the memory."""

Message = dict[str, object]


class SseReader:
    """Incremental parser of text/event-stream; returns the data of complete messages."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """Parse a chunk; returns the data of the messages it completes. Other fields and comments are skipped."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) + sum(map(len, self._data)) > MESSAGE_BYTES:
            raise UnexpectedAnswer(f"a message of the stream is larger than {MESSAGE_BYTES} bytes")
        return [message for line in lines if (message := self._line(line.removesuffix(b"\r"))) is not None]

    def _line(self, line: bytes) -> bytes | None:
        if line:
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            return None
        message, self._data = b"\n".join(self._data), []
        return message or None


class Feed:
    """The position of a reader in the stream of a game or session, across connections.

    Each version is delivered once and in order. Repeats are dropped; a gap ends the connection, and the next one
    resumes from the last version.
    """

    def __init__(
        self,
        route: Route[bytes | None],
        game_id: str,
        after: int,
        retry: Retry,
        clock: Callable[[], float] = time.monotonic,
        *,
        closing: Set[str] = CLOSING,
        over: Set[str] = OVER,
        aside: Set[str] = frozenset(),
    ) -> None:
        self._route = route
        self._closing = closing
        self._over = over
        self._aside = aside
        """Types of unversioned messages to deliver as well; some of them may be lost."""
        self.game_id = game_id
        self.version = after
        self.closed = False
        self._retry = retry
        self._clock = clock
        self._failures = 0
        self._failing_since = clock()
        self._opened_at = clock()
        self._received = False
        self._reader = SseReader()

    def request(self) -> tuple[Request[bytes | None], dict[str, str]]:
        """The request of the next connection, and its headers."""
        self._reader = SseReader()
        self._opened_at = self._clock()
        self._received = False
        headers = {"Accept": EVENT_STREAM, "Cache-Control": "no-store"}
        if self.version:
            headers["Last-Event-ID"] = str(self.version)
        return calls.request(self._route, self.game_id, query={"after": self.version}), headers

    def take(self, chunk: bytes) -> Iterator[Message]:
        """The new events in a chunk; raises ConnectionError at a gap."""
        self._received = True
        for data in self._reader.feed(chunk):
            event = self._new(data)
            if event is not None:
                yield event

    def _new(self, data: bytes) -> Message | None:
        try:
            event = msgspec.json.decode(data, type=Message)
        except msgspec.MsgspecError as error:
            raise UnexpectedAnswer(f"stream of {self.game_id}: {data[:200]!r}: {error}") from error
        version = event.get("version")
        if version is None and event.get("type") in self._aside:
            return event
        if not isinstance(version, int) or self.closed or version <= self.version:
            return None
        if version != self.version + 1:
            raise ConnectionError(f"event {self.version + 1} is missing before {version}")
        self.version = version
        self.closed = event.get("type") in self._closing
        self._failures = 0
        return event

    def refused(self, status: int, headers: Mapping[str, str], body: bytes) -> float:
        """The pause after an error response; raises Refused if a retry cannot help."""
        if status != HTTPStatus.TOO_MANY_REQUESTS and status not in UNAVAILABLE:
            raise_for(status, body, f"stream of {self.game_id}")
        return self.lost(Unavailable(f"stream of {self.game_id}: {status}"), retry_after(headers))

    def lost(self, cause: Exception | None, at_least: float = 0.0) -> float:
        """The pause before reconnecting; raises Unavailable when the retry limits are reached."""
        now = self._clock()
        lived = self._received and now - self._opened_at >= HEARTBEAT_SECONDS
        if lived or self._failures == 0:
            self._failures, self._failing_since = 0, now
        self._failures += 1
        pause = self._retry.pause(self._failures, at_least)
        late = now - self._failing_since + pause > self._retry.seconds
        if self._failures >= self._retry.attempts or late:
            raise Unavailable(
                f"the stream of {self.game_id} broke off after event {self.version}: {cause!r}"
            ) from cause
        return pause

    def ended(self, phase: str, version: int) -> bool:
        """Whether the feed is complete: a stream opened at its very end closes without a message.

        `phase` and `version` are the current ones of the game or session.
        """
        self.closed = self.closed or (phase in self._over and version <= self.version)
        return self.closed
