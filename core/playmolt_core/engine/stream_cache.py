"""The streams in memory: a bounded cache, filled from the log."""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Generic

from playmolt_schemas.identifiers import is_lobby

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, read_stream
from playmolt_core.engine.lobbies import outgrown, read_lobby
from playmolt_core.game.decider import Decider, S
from playmolt_core.game.lobby import Lobby, LobbyRules
from playmolt_core.log.port import Archived, EngineLog, StoredFacts
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("loading")
_READING = 32
Prepare = Callable[[S], Awaitable[None]]
"""Loads what the rules need in memory for a state. Raises LogUnavailable."""
RETRY_SECONDS = 0.2
"""The pause before a retry if the log is unavailable."""


class StreamUnreadable(Exception):
    """A stored event of the stream does not fold. It was logged."""


class NotLoaded(Exception):
    """What a plan or an answer requires has to be loaded first."""


class NotInMemory(NotLoaded):
    """A stream has to be loaded."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.stream = stream


class StreamCache(Generic[S]):
    """A bounded LRU cache of streams; entries with uncommitted changes are never evicted."""

    def __init__(
        self,
        decider: Decider[S],
        log: EngineLog,
        limit: int,
        prepare: Prepare[S] | None = None,
        lobby_rules: LobbyRules | None = None,
    ) -> None:
        self._decider = decider
        self._log = log
        self._limit = limit
        self._prepare = prepare
        self._lobby_rules = lobby_rules or LobbyRules()
        self._entries: OrderedDict[str, CachedStream] = OrderedDict()
        self._reads = asyncio.Semaphore(_READING)
        self._loading: dict[str, asyncio.Task[CachedStream[S] | None]] = {}
        self._waiting: defaultdict[str, list[asyncio.Future[None]]] = defaultdict(list)
        self._read_last: tuple[str, StoredFacts] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, stream: str) -> CachedStream[S] | None:
        entry = self._entries.get(stream)
        if entry is not None:
            self._entries.move_to_end(stream)
        return entry

    def held(self, stream: str) -> CachedStream[S]:
        """As `get`. Raises NotInMemory."""
        if (entry := self.get(stream)) is None:
            raise NotInMemory(stream)
        return entry

    def lobby(self, stream: str) -> CachedStream[Lobby]:
        """As `held`, for a lobby."""
        entry: CachedStream = self.held(stream)
        return entry

    def put(self, entry: CachedStream) -> None:
        """Add an entry and evict the least recently used ones."""
        self._entries[entry.stream] = entry
        self._entries.move_to_end(entry.stream)
        for stream in list(islice(self._entries, max(0, len(self._entries) - self._limit))):
            if not self._entries[stream].uncommitted and not is_lobby(stream):
                del self._entries[stream]

    def fresh(self, stream: str) -> CachedStream[S]:
        """A new stream of this engine's game."""
        return fresh_stream(self._decider, stream, self._log.new_key(stream))

    def settle(self, entry: CachedStream) -> None:
        """Note that changes of a stream are committed. A lobby that has grown is dropped and read from a snapshot."""
        if outgrown(self._lobby_rules, entry):
            self.drop(entry.stream)
        elif self._waiting:
            self._notify(entry.stream)

    def drop(self, stream: str) -> None:
        """Remove a stream because memory and log may differ."""
        self._entries.pop(stream, None)
        if self.read_last(stream):
            self._read_last = None
        self._notify(stream)

    def _notify(self, stream: str) -> None:
        for settled in self._waiting.pop(stream, ()):
            if not settled.done():
                settled.set_result(None)

    async def settled(self, stream: str) -> bool:
        """Wait until the uncommitted changes of a stream are committed or discarded; False if there are none."""
        entry = self._entries.get(stream)
        if entry is None or not entry.uncommitted:
            return False
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[stream].append(settled)
        await settled
        return True

    def read_last(self, stream: str) -> StoredFacts | None:
        """The facts of a stream, if it was the last stream read."""
        return self._read_last[1] if self._read_last and self._read_last[0] == stream else None

    async def load(self, stream: str) -> CachedStream[S] | None:
        """Read a stream once for all who wait for it, and keep it; None if it does not exist.

        Raises Archived, Erased, LogUnavailable and StreamUnreadable.
        """
        reading = self._loading.get(stream)
        if reading is None:
            reading = self._loading[stream] = asyncio.create_task(self._load(stream))
            reading.add_done_callback(lambda _: self._loading.pop(stream, None))
        return await asyncio.shield(reading)

    async def _load(self, stream: str) -> CachedStream[S] | None:
        try:
            entry = await self.read(stream)
        except (Archived, Erased, LogUnavailable):
            raise
        except Exception as error:
            _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            raise StreamUnreadable(stream) from error
        if entry is not None and self.get(stream) is None:
            self.put(entry)
        return entry

    async def read(self, stream: str) -> CachedStream | None:
        """Read a stream from the log; None if it does not exist. A lobby always exists.

        Raises Archived and LogUnavailable.
        """
        async with self._reads:
            if is_lobby(stream):
                return await read_lobby(self._log, self._lobby_rules, stream, self._decider.game)
            stored = await self._log.facts(stream, commands=True)
        if stored is None:
            return None
        self._read_last = stream, stored
        entry = read_stream(self._decider, stream, stored)
        if self._prepare:
            await self._prepare(entry.committed.state)
        return entry
