"""Watches of subjects: one subscription a subject, a bounded queue a watcher."""

import asyncio
from contextlib import suppress

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from playmolt_schemas.subjects import CLOSES_HEADER, INVITE_HEADER, TRACE_HEADER

from playmolt_core.bus.connection import delivered
from playmolt_core.bus.port import BusUnavailable, HeadedMessage

_WAITING = 1024
MISSED = b""


def _with_headers(message: Msg) -> bytes:
    headers = message.headers or {}
    trace, invite = headers.get(TRACE_HEADER, ""), headers.get(INVITE_HEADER, "")
    if not trace and not invite:
        return message.data
    headed = HeadedMessage(message.data)
    headed.trace, headed.invite = trace, invite
    return headed


class SubjectWatch:
    """One watcher. When its queue is full, it drops the queued messages and reports a gap."""

    def __init__(self, watched: "_Watched") -> None:
        self._watched = watched
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(_WAITING)
        self.closed = False
        """Whether the last message of the stream has been put into the queue."""

    def put(self, message: bytes) -> None:
        if self._queue.full():
            self.missed()
        else:
            self._queue.put_nowait(message)

    def missed(self) -> None:
        """Drop the queued messages: the reader has to fetch what it missed."""
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait(MISSED)

    async def next(self, timeout: float) -> bytes | None:
        """The next message, `b""` after a possible gap, None after `timeout` seconds."""
        if not self._queue.empty():
            return self._queue.get_nowait()
        try:
            async with asyncio.timeout(timeout):
                return await self._queue.get()
        except TimeoutError:
            # A message may have arrived at that moment: never report None for a queue that holds the last message.
            return None if self._queue.empty() else self._queue.get_nowait()

    async def close(self) -> None:
        await self._watched.leave(self)


class _Watched:
    def __init__(self, subjects: tuple[str, ...], watches: "Watches") -> None:
        self.subjects = subjects
        self.watchers: set[SubjectWatch] = set()
        self.subscriptions: list[Subscription] = []
        self.opening = asyncio.Lock()
        self._watches = watches

    async def receive(self, message: Msg) -> None:
        closes = message.headers is not None and CLOSES_HEADER in message.headers
        data = _with_headers(message)
        for watcher in self.watchers:
            watcher.closed = watcher.closed or closes
            watcher.put(data)

    async def leave(self, watcher: SubjectWatch) -> None:
        self.watchers.discard(watcher)
        if not self.watchers:
            await self._watches.drop(self)


class Watches:
    """All watched subjects of a connection."""

    def __init__(self, connection: Client) -> None:
        self._connection = connection
        self._subjects: dict[tuple[str, ...], _Watched] = {}
        self._openings: set[asyncio.Task[None]] = set()

    async def watch(self, *subjects: str) -> SubjectWatch:
        """Subscribe to these subjects: messages published after this returns are received unless the connection breaks.

        Raises BusUnavailable on a closed connection.
        """
        watched = self._subjects.get(subjects)
        if watched is None:
            watched = self._subjects[subjects] = _Watched(subjects, self)
        watcher = SubjectWatch(watched)
        watched.watchers.add(watcher)
        opening = asyncio.create_task(self._open(watched))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        try:
            # Shielded: a cancelled flush leaves a future behind, on which the next PONG breaks the connection.
            await asyncio.shield(opening)
        except BaseException as error:
            # A caller that was cancelled or could not subscribe gets no watch to close.
            await watched.leave(watcher)
            if isinstance(error, nats.errors.Error):
                raise BusUnavailable(f"could not subscribe to {subjects[0]}: {error!r}") from error
            raise
        return watcher

    async def _open(self, watched: _Watched) -> None:
        async with watched.opening:
            if not watched.subscriptions:
                for subject in watched.subjects:
                    watched.subscriptions.append(await self._connection.subscribe(subject, cb=watched.receive))
                # The server must know the subscription before the caller reads: otherwise a message may be missed.
                with suppress(nats.errors.Error, TimeoutError, OSError):
                    await delivered(self._connection, 2)
        if not watched.watchers:
            await self.drop(watched)

    async def drop(self, watched: _Watched) -> None:
        if self._subjects.get(watched.subjects) is watched:
            del self._subjects[watched.subjects]
        subscriptions, watched.subscriptions = watched.subscriptions, []
        for subscription in subscriptions:
            with suppress(nats.errors.Error):
                await subscription.unsubscribe()

    def missed(self) -> None:
        for watched in self._subjects.values():
            for watcher in watched.watchers:
                watcher.missed()
