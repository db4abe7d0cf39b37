"""Fills the gaps between a shard of the log and its streams: sequence k is position k, in order, each exactly once.

Engines publish what they commit. The relay publishes what they could not: after a crash, a lost race of two engines, a
lost server. The end of the stream is the cursor, and a batch is stored only directly after it. So publishers cannot
interleave, a lost acknowledgement cannot duplicate, and a stream that lost messages is filled again from the log.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from opentelemetry.trace import SpanKind
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.records import Record

from playmolt_core.bus.batches import MOST_MESSAGES, Fenced, cut
from playmolt_core.bus.jetstream import StoredMessage, StreamState
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.feed import trace_of
from playmolt_core.log.chain import recomputed
from playmolt_core.log.port import OutgoingRecord, ShardReader
from playmolt_core.ops import tracing
from playmolt_core.ops.metrics import SIZES, Histogram
from playmolt_core.ops.process import set_before_tick
from playmolt_core.ops.telemetry import log as logger
from playmolt_core.relay.feeds import (
    FeedBroken,
    FeedStream,
    PublicForm,
    Streams,
    alike,
    feeds,
    public_form,
    same,
    type_of_stream,
)

POLL_SECONDS: Final = 1 / 3
PATIENCE_SECONDS: Final = 0.1
"""How long a stream may be behind the log before the relay fills it: the engine's batch is usually on its way."""
CHECK_SECONDS: Final = 5.0
"""How long the known end of a stream is trusted: a stream that loses its tail does not report it."""
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0
LONGEST_PAUSE_BROKEN: Final = 30.0
STILL_SECONDS: Final = 5.0
"""A relay whose last step is older hangs on a server that does not answer."""

_read = msgspec.json.Decoder(Record).decode
_log = logger("relay")


class Relay:
    """Keeps the two streams of a shard complete. Each keeps the newest `limit` messages."""

    def __init__(
        self, log: ShardReader, streams: Streams, limit: int, shard: int = 0, form_of: PublicForm = public_form,
        *, on_poll: Callable[[int, int], None] = lambda _shard, _position: None,
        prepare: Callable[[Sequence[Record]], Awaitable[None]] | None = None,
        renames: Callable[[], bool] = lambda: False, check_seconds: float = CHECK_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:  # fmt: skip
        """`on_poll` is called with the shard and the end of the log whenever it was read, `prepare` with records before
        their messages are made. `renames`: whether anything is shown differently than when it was published."""
        self._prepare = prepare
        self._renames = renames
        self._check_seconds = check_seconds
        self._patience_seconds = patience_seconds
        self._log = log
        self._on_poll = on_poll
        self._shard = shard
        self._feeds = feeds(shard, log.shards, form_of)
        self._streams = streams
        self._limit = limit
        self._tails: dict[str, int] = {}
        self._checked_at = -math.inf
        self._urgent = False
        """An engine reported that it could not publish."""
        self._filling = False
        """The ends of the streams are known because the last step filled them."""
        self._ahead: tuple[int, asyncio.Task[Sequence[OutgoingRecord]]] | None = None
        """The read after a position, while the events before it are published: this fills a stream in three quarters of
        the time."""
        self._stepped_at = -math.inf
        self._awake = asyncio.Event()
        self.ready = False
        """Whether the last step succeeded."""
        self.rebuilds = dict.fromkeys((feed.stream for feed in self._feeds), 0)
        """How often each stream was rebuilt because another client had published to it."""
        self.chain_faults = dict.fromkeys((game for games in ENGINES.values() for game in games), 0)
        """Records by game type whose hash does not match their content."""
        self._examined = 0
        self.lag_seconds = Histogram()
        self.batch_sizes = Histogram(SIZES)

    @property
    def moving(self) -> bool:
        """Whether it copies: a recent step succeeded."""
        return self.ready and time.monotonic() < self._stepped_at + STILL_SECONDS

    def wake(self) -> None:
        """Fill now: an engine could not publish its commit."""
        self._urgent = True
        self._awake.set()

    def recheck(self) -> None:
        """Check the ends of the streams at once: the connection was lost or is back."""
        self._checked_at = -math.inf
        self._awake.set()

    def ends(self) -> tuple[int, int]:
        """The last known ends of the streams of events and of spectators; 0 means unknown."""
        events, spectate = (self._tails.get(feed.stream, 0) for feed in self._feeds)
        return events, spectate

    async def run(self) -> None:
        """Copy until cancelled; failures are retried after a pause that grows up to a bound."""
        try:
            await self._run()
        finally:
            self._drop_ahead()

    async def _run(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                moved = await self.step()
            except (FeedBroken, BusUnavailable, LogUnavailable) as error:
                self._failed(error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_BROKEN if isinstance(error, FeedBroken) else LONGEST_PAUSE)
                continue
            self.ready, self._stepped_at, pause = True, time.monotonic(), FIRST_PAUSE
            if not moved:
                await self._sleep()

    def _failed(self, error: Exception) -> None:
        self.ready = False
        self._tails.clear()
        self._filling = False
        self._drop_ahead()
        if isinstance(error, FeedBroken):
            _log.error("feed_broken", detail=str(error))
        else:
            _log.warning("relay_waits", detail=str(error)[:300])

    async def _sleep(self) -> None:
        """Wait until the next poll, or until it is woken."""
        await set_before_tick(self._awake, POLL_SECONDS)
        self._awake.clear()

    async def step(self) -> int:
        """Fill the next part of a gap and return its size; 0 without a gap.

        Raises FeedBroken. BusUnavailable and LogUnavailable: it is unknown whether the part was stored.
        """
        await self._check_streams()
        if not self._filling and not await self._behind():
            return 0
        after = min(self._tails.values())
        entries = await self._read(after)
        self._filling = len(entries) == MOST_MESSAGES
        if not entries:
            return 0
        for position, entry in enumerate(entries, after + 1):
            if entry.position != position:
                raise FeedBroken(f"position {position} is missing from the log")
        self._examine(entries)
        if self._prepare:
            await self._prepare([_read(entry.record) for entry in entries])
        started = time.time_ns()
        copied = await asyncio.gather(*(self._copy(feed, entries) for feed in self._feeds), return_exceptions=True)
        for failure in copied:
            if failure is not None:
                raise failure
        self._measure(entries, started)
        return len(entries)

    async def _behind(self) -> bool:
        """Whether a stream has been behind the log for a while."""
        urgent, self._urgent = self._urgent, False
        position, furthest = await self._log.position(self._shard), max(self._tails.values())
        self._on_poll(self._shard, position)
        if furthest > position:
            raise FeedBroken(f"the log ends at {position}, its copy at {furthest}: the database was set back")
        if min(self._tails.values()) == position:
            return False
        if not urgent:
            await asyncio.sleep(self._patience_seconds)
        await self._read_tails()
        if min(self._tails.values()) >= position:
            return False
        for feed in self._feeds:
            self._tails[feed.stream] = await self._opened(feed)
        return min(self._tails.values()) < position

    async def _read_tails(self) -> None:
        for feed in self._feeds:
            state = await self._streams.state(feed.stream)
            self._tails[feed.stream] = state.last if state else 0

    async def _read(self, after: int) -> Sequence[OutgoingRecord]:
        """The next batch; after a full batch, start to read the following one."""
        if self._ahead and self._ahead[0] == after:
            (_, reading), self._ahead = self._ahead, None
            entries = await reading
        else:
            self._drop_ahead()
            entries = await self._log.outgoing(after, MOST_MESSAGES, self._shard)
        if len(entries) == MOST_MESSAGES:
            behind = entries[-1].position
            reading = asyncio.ensure_future(self._log.outgoing(behind, MOST_MESSAGES, self._shard))
            self._ahead = behind, reading
        return entries

    def _drop_ahead(self) -> None:
        if self._ahead:
            self._ahead[1].add_done_callback(_discard_result)
            self._ahead[1].cancel()
            self._ahead = None

    def _examine(self, entries: Sequence[OutgoingRecord]) -> None:
        """Recompute the hashes: `log.append` trusts the engine, and no other check comes so soon."""
        for entry in entries:
            if entry.position <= self._examined:
                continue
            self._examined = entry.position
            record = _read(entry.record)
            if recomputed(record) != record.hash:
                game = type_of_stream(record.stream)
                self.chain_faults[game] = self.chain_faults.get(game, 0) + 1
                _log.error("chain_broken", stream=record.stream, version=record.version)

    def _measure(self, entries: Sequence[OutgoingRecord], started: int) -> None:
        oldest = datetime.fromisoformat(_read(entries[0].record).at).timestamp()
        self.lag_seconds.observe(max(0.0, time.time() - oldest))
        self.batch_sizes.observe(len(entries))
        if not tracing.on():
            return
        for entry in entries:
            record = _read(entry.record)
            if carried := trace_of(bytes(record.metadata)):
                facts: tracing.Attributes = {
                    "playmolt.target": entry.stream,
                    "playmolt.version": record.version,
                    "messaging.batch.message_count": len(entries),
                }
                tracing.record(carried, "publish", started, facts, SpanKind.PRODUCER)

    async def _check_streams(self) -> None:
        now = asyncio.get_running_loop().time()
        trusted = now < self._checked_at + self._check_seconds
        if not trusted:
            self._checked_at = now
        for feed in self._feeds:
            if not trusted or feed.stream not in self._tails:
                self._tails[feed.stream] = await self._opened(feed)

    async def _copy(self, feed: FeedStream, entries: Sequence[OutgoingRecord]) -> None:
        tail = self._tails[feed.stream]
        waiting = entries[tail + 1 - entries[0].position :]
        for messages in cut([feed.message(entry) for entry in waiting]):
            try:
                await self._streams.publish(messages, after=tail)
            except Fenced:  # another relay was faster, or an acknowledgement was lost
                self._tails[feed.stream] = await self._opened(feed)
                self._filling = False
                self._awake.set()
                return
            stored, waiting = waiting[: len(messages)], waiting[len(messages) :]
            tail = self._tails[feed.stream] = stored[-1].position

    async def _opened(self, feed: FeedStream) -> int:
        """The end of a stream, which is created if missing and otherwise compared with the log."""
        position, state, held = await self._made(feed)
        if held and not held.fenced:
            await self._rebuild_stream(feed, position, state)
            position, state, held = await self._made(feed)
        if state.last > position and state.last > await self._log.position(self._shard):
            raise FeedBroken(f"{feed.stream} is at {state.last}, the log at {position}: the database was set back")
        if held:
            await self._compare(feed, state.last, held)
        return state.last

    async def _made(self, feed: FeedStream) -> tuple[int, StreamState, StoredMessage | None]:
        """The position of the log, and the state of a stream that exists by then with its last message."""
        position = await self._log.position(self._shard)
        # After archived positions, too: the stream may keep more messages now than at that time.
        oldest_kept = max(1, position - self._limit + 1, await self._log.archived_to(self._shard) + 1)
        state = await self._streams.ensure(feed.stream, feed.subjects, first=oldest_kept, limit=self._limit)
        held = await self._streams.held(feed.stream, state.last) if state.last >= state.first > 0 else None
        if held is None and state.last >= state.first > 0 and not feed.withdraws:
            raise BusUnavailable(f"{feed.stream} no longer holds sequence {state.last}")
        return position, state, held

    async def _rebuild_stream(self, feed: FeedStream, position: int, state: StreamState) -> None:
        """Delete a stream that ends in messages of other clients, to fill it again from the log.

        A single message cannot be removed so that its sequence becomes free. The messages of the relay must still agree
        with the log: this never hides a log that was reset to an earlier state.
        """
        own = await self._end_of_own(feed, state)
        if own >= state.first:
            if own > position:
                raise FeedBroken(f"{feed.stream} is at {own}, the log at {position}: the database was set back")
            if (held := await self._streams.held(feed.stream, own)) is not None:
                await self._compare(feed, own, held)
        await self._streams.drop(feed.stream)
        self.rebuilds[feed.stream] += 1
        _log.error("feed_mended", stream=feed.stream, foreign_from=own + 1, foreign_to=state.last)

    async def _end_of_own(self, feed: FeedStream, state: StreamState) -> int:
        """The last sequence that a relay stored. All messages after the first foreign one are foreign, since relays
        store nothing after one."""
        own, foreign = state.first - 1, state.last
        while foreign - own > 1:
            middle = (own + foreign) // 2
            held = await self._streams.held(feed.stream, middle)
            if held is None and not feed.withdraws:
                raise BusUnavailable(f"{feed.stream} no longer holds sequence {middle}")
            if held is None or held.fenced:  # only a relay withdraws messages, its own ones
                own = middle
            else:
                foreign = middle
        return own

    async def _compare(self, feed: FeedStream, sequence: int, held: StoredMessage) -> None:
        entries = await self._log.outgoing(sequence - 1, 1, self._shard)
        if not held.fenced:  # again, so soon
            raise BusUnavailable(f"another client publishes to {feed.stream}")
        expected = feed.message(entries[0]) if entries else None
        if expected is None or not (
            same(expected, held.message) or (self._renames() and feed.withdraws and alike(expected, held.message))
        ):
            raise FeedBroken(f"{feed.stream} differs from the log at {sequence}")


def _discard_result(reading: "asyncio.Task[Sequence[OutgoingRecord]]") -> None:
    """Retrieve the result of an abandoned read: asyncio reports errors that are never retrieved."""
    if not reading.cancelled():
        reading.exception()
