"""Watched games: one subscription per game, with ordering and gap repair, shared by all watchers."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec
from msgspec import UNSET
from opentelemetry.trace import SpanKind
from playmolt_core.bus.port import BusUnavailable, HeadedMessage
from playmolt_core.ops import tracing
from playmolt_core.ops.telemetry import log
from playmolt_schemas.game_messages import Moderated, StoredModerated
from playmolt_schemas.identifiers import MODERATION, moderation_of

from playmolt_spectator.backfill import Backfill, UnknownGame, game_type, message
from playmolt_spectator.channel import Channel
from playmolt_spectator.frames import Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.port import GameWatch, Source
from playmolt_spectator.timeouts import Timeouts
from playmolt_spectator.watcher import FAILED, Watcher

_BATCH = 64
_EARLY = 512
_log = log("hub")
_DECISIONS = 1_000
_read_notice = msgspec.json.Decoder(StoredModerated).decode


Key = tuple[str, str]
"""A game id and the hash of the watchers' invite, which the engine checks."""


class Feed(Channel):
    """One game's stored messages in order without gaps."""

    def __init__(
        self, key: Key, after: int, source: Source, backfill: Backfill, metrics: Metrics, timeouts: Timeouts
    ) -> None:
        super().__init__(metrics)
        self.holders = 0
        self.key = key
        self._id, self._invite = key
        self._source = source
        self._backfill = backfill
        self._timeouts = timeouts
        self._early: dict[int, Message] = {}
        self._final: int | None = None
        self._lost = False
        self._watch: GameWatch | None = None
        self._follower: asyncio.Task[None] | None = None
        self.opened = asyncio.create_task(self._open(after))
        """Done when the head is known; raises UnknownGame and BusUnavailable."""

    async def _open(self, after: int) -> None:
        try:
            async with asyncio.timeout(self._timeouts.connect):
                self._watch = await self._source.watch(game_type(self._id), self._id)
                page = await self._backfill.engine(self._id, after, self._invite)
        except TimeoutError:
            raise BusUnavailable(f"no engine answered for {self._id} in time") from None
        self.head = page.head
        if page.messages and page.messages[-1].version == page.head:
            self.tail.extend(page.messages)
        if page.closed:
            self.closed = True
            await self._unsubscribe()
        else:
            self._follower = asyncio.create_task(self._follow(self._watch))
            self._follower.add_done_callback(self._followed)

    async def close(self) -> None:
        """Unsubscribe and stop. Waits for opening to finish, so that its subscription is closed too."""
        await asyncio.wait([self.opened])
        if self._follower:
            self._follower.cancel()
        await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        watch, self._watch = self._watch, None
        if watch:
            with suppress(BusUnavailable):
                await watch.close()

    @property
    def failed(self) -> bool:
        """Whether the follower died before the feed closed; watchers must reconnect."""
        return not self.closed and self._follower is not None and self._follower.done()

    async def older(self, version: int) -> Sequence[Message]:
        """Fetch a page, retrying until it succeeds: watchers stay connected while engines are unavailable."""
        pause = self._timeouts.retry_first
        while True:
            with suppress(BusUnavailable, UnknownGame):
                page = await self._backfill.page(self._id, version, self._invite)
                if page.messages:
                    return page.messages
            await asyncio.sleep(pause)
            pause = min(2 * pause, self._timeouts.retry_last)

    async def _follow(self, watch: GameWatch) -> None:
        clock = asyncio.get_running_loop().time
        pause, retry_at, taken = 0.0, 0.0, 0
        while not self.closed:
            wait = max(retry_at - clock(), 0) if self._broken else self._timeouts.check
            was, taken = taken, await self._take(watch, 0 if taken == _BATCH else wait)
            if not taken and was < _BATCH and not self._broken:
                await self._repair(everything=True)
            if self._broken and clock() >= retry_at:
                pause = (
                    0.0
                    if await self._heal()
                    else min(max(2 * pause, self._timeouts.retry_first), self._timeouts.retry_last)
                )
                retry_at = clock() + pause
            if self._final is not None and self.head >= self._final:
                self.end()
            await asyncio.sleep(0)  # let sockets drain, so that a burst does not make watchers appear slow
        await self._unsubscribe()

    @property
    def _broken(self) -> bool:
        return self._lost or bool(self._early)

    async def _heal(self) -> bool:
        """Repair until complete (True) or until a repair makes no progress (False)."""
        while self._broken:
            before = self.head
            if not await self._repair(everything=self._lost) and self.head == before:
                return False
        return True

    async def _take(self, watch: GameWatch, timeout: float) -> int:
        """Publish received messages, waiting up to `timeout` for the first; returns their number."""
        taken = 0
        while taken < _BATCH and (raw := await watch.next(0 if taken else timeout)) is not None:
            self._receive(raw)
            taken += 1
        self._publish_ready()
        # The closing message is the last one: if nothing is queued and nothing was lost, it has been received.
        if taken < _BATCH and watch.closed and not self._lost:
            self._final = max(self.head, *self._early, 0)
        return taken

    def _receive(self, raw: bytes) -> None:
        if not raw:
            self._lost = True
            return
        if isinstance(raw, HeadedMessage) and raw.invite and raw.invite != self._invite:
            _log.error(
                "foreign_invite", game=self._id
            )  # must not happen: the engine opens a feed only with the game's invite
            return
        try:
            self._stash([message(raw)])
        except msgspec.DecodeError:
            _log.error("unreadable_message", game=self._id, size=len(raw))
            self._lost = True

    def _stash(self, messages: Sequence[Message]) -> None:
        for found in messages:
            if found.version > self.head:
                self._early[found.version] = found
        if len(self._early) > _EARLY:
            self._early.clear()
            self._lost = True

    def _publish_ready(self) -> None:
        ready: list[Message] = []
        while (found := self._early.pop(self.head + len(ready) + 1, None)) is not None:
            ready.append(found)
        if ready:
            started = time.time_ns() if tracing.on() else 0
            self.publish(ready)
            self._metrics.written(ready[-1].raw)
            if started:
                self._trace(ready, started)

    def _trace(self, messages: Sequence[Message], started: int) -> None:
        for found in messages:
            if isinstance(found.raw, HeadedMessage) and tracing.sampled(found.raw.trace):
                facts: tracing.Attributes = {
                    "playmolt.target": self._id,
                    "playmolt.version": found.version,
                    "playmolt.readers": len(self._watchers),
                }
                tracing.record(found.raw.trace, "fan out", started, facts, SpanKind.CONSUMER)

    async def _repair(self, *, everything: bool) -> bool:
        """Fetch missing messages: up to those received early, or with `everything` up to the engine's head.

        Returns whether the feed is complete.
        """
        ask = self._backfill.engine if everything else self._backfill.page
        limit = None if everything else max(self._early)
        try:
            page = await ask(self._id, self.head, self._invite)
        except (BusUnavailable, UnknownGame) as error:
            _log.warning("backfill_failed", game=self._id, error=repr(error))
            return False
        # Beyond the gap use live messages: only they and the engine show which message closes the game.
        self._stash([found for found in page.messages if limit is None or found.version <= limit])
        self._publish_ready()
        if page.closed:
            self._final = page.head
        if everything:
            self._lost = self.head < page.head
        return not self._lost and not self._early

    def _followed(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()):
            _log.error("feed_failed", game=self._id, error=repr(error))
            for watcher in tuple(self._watchers):
                watcher.finish(FAILED)


class Hub:
    def __init__(self, source: Source, backfill: Backfill, metrics: Metrics, timeouts: Timeouts) -> None:
        self._source = source
        self._backfill = backfill
        self._metrics = metrics
        self._timeouts = timeouts
        self._feeds: dict[Key, Feed] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._month = ""
        self._decision = 0
        """The newest decision of the month that is known."""

    @property
    def watched(self) -> int:
        return len(self._feeds)

    async def hold(self, game_id: str, after: int, invite: str = "") -> Feed:
        """A game's feed, held until `release`. Raises UnknownGame and BusUnavailable."""
        key = (game_id, invite)
        feed = self._feeds.get(key)
        if feed is None or feed.failed:
            feed = self._feeds[key] = Feed(key, after, self._source, self._backfill, self._metrics, self._timeouts)
        feed.holders += 1
        try:
            await asyncio.shield(feed.opened)
        except BaseException:
            self.release(feed)
            raise
        return feed

    def release(self, feed: Feed) -> None:
        """Release a feed; the last holder unsubscribes."""
        feed.holders -= 1
        if not feed.holders:
            if self._feeds.get(feed.key) is feed:
                del self._feeds[feed.key]
            self._spawn(feed.close())

    def attach(self, feed: Feed, watcher: Watcher, after: int) -> None:
        """Serve a watcher from version `after`; it takes over one hold on the feed."""

        def left() -> None:
            feed.leave(watcher)
            self.release(feed)

        feed.join(watcher)
        watcher.left = left
        watcher.feed(feed.serve(watcher, after))

    async def follow_moderation(self, lobby: Channel) -> None:
        """Send the operator's decisions to the watchers that they concern, and all of them to the lobby, which pages
        follow after the end of their game. After a gap the decisions of the month are read again."""
        watch = await self._source.watch_moderation()
        while True:
            raw = await watch.next(self._timeouts.heartbeat)
            for found in [raw] if raw else await self._missed() if raw is not None else ():
                try:
                    notice = _read_notice(found)
                except msgspec.MsgspecError:
                    _log.error("unreadable_notice", size=len(found))
                    continue
                self._decision = notice.version
                self._moderate(notice, lobby)

    async def _missed(self) -> Sequence[bytes]:
        stream = moderation_of(datetime.now(UTC))
        if stream != self._month:
            self._month, self._decision = stream, 0
        return await self._source.history(MODERATION, stream, self._decision, _DECISIONS)

    def _moderate(self, notice: Moderated, lobby: Channel) -> None:
        sent = msgspec.json.encode(
            Moderated(game_id=notice.game_id, versions=notice.versions, agent_id=notice.agent_id)
        )
        for feed in tuple(self._feeds.values()):
            if notice.game_id in (UNSET, feed.key[0]):
                feed.moderate(sent)
        lobby.send(sent)

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(self._timeouts.heartbeat)
            for feed in tuple(self._feeds.values()):
                feed.heartbeat()
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Unsubscribe from everything; call after the watchers are gone."""
        for feed in self._feeds.values():
            self._spawn(feed.close())
        self._feeds.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
