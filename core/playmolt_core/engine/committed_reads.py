"""Reads that include the latest commit of any replica."""

import asyncio
from asyncio import Future
from typing import Generic

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.game.decider import S
from playmolt_core.game.fold import Snapshot
from playmolt_core.game.lobby import Lobby
from playmolt_core.log.port import ARCHIVED, ERASED, Archived, StoredFacts, StreamReader
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.vault.vault import Erased

_ATTEMPTS = 4


class CommittedReads(Generic[S]):
    """Committed snapshots. Concurrent requests read the versions of all their streams in one query."""

    def __init__(
        self, event_log: StreamReader, streams: StreamCache[S], withholding: WithheldReader | None = None
    ) -> None:
        self._log = event_log
        self.withholding = withholding or WithheldReader()
        """What the operator hid or renamed, at least as of the latest snapshot."""
        self._streams = streams
        self._requested: dict[str, Future[int]] = {}
        self._wanted = asyncio.Event()

    async def run(self) -> None:
        """Answer requests until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            requested, self._requested = self._requested, {}
            try:
                found = await self._log.present(requested)
                await self.withholding.reach(found.revision)
            except LogUnavailable as error:
                for future in requested.values():
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # marks it as retrieved, in case the requester was cancelled
                continue
            for stream, future in requested.items():
                if not future.done():
                    future.set_result(found.versions.get(stream, 0))

    def _version(self, stream: str) -> "Future[int]":
        future = self._requested.get(stream)
        if future is None:
            future = self._requested[stream] = asyncio.get_running_loop().create_future()
            self._wanted.set()
        return future

    def present(self, stream: str) -> Snapshot[S] | None:
        """A stream as last committed by this engine, if it is in memory."""
        entry = self._streams.get(stream)
        return entry.committed if entry is not None and entry.committed.version else None

    def read_last(self, stream: str) -> StoredFacts | None:
        """The facts that were read for the snapshot of this stream, if it was the last stream read."""
        return self._streams.read_last(stream)

    async def lobby(self, stream: str) -> Snapshot[Lobby] | None:
        """As `snapshot`, for a lobby."""
        found: Snapshot | None = await self.snapshot(stream)
        return found

    async def snapshot(self, stream: str) -> Snapshot[S] | None:
        """A stream as committed now; None if it does not exist. Raises Archived, Erased and LogUnavailable."""
        version = await asyncio.shield(self._version(stream))
        if version == ERASED:
            self._streams.drop(stream)
            raise Erased(stream, None)
        if version == ARCHIVED:
            raise Archived(stream)
        for _ in range(_ATTEMPTS):
            entry = self._streams.get(stream)
            if entry is not None and entry.committed.version >= version:
                return entry.committed if entry.committed.version else None
            if entry is None or not entry.uncommitted:
                break
            await self._streams.settled(stream)
        if not version:
            return None
        read = await self._streams.read(stream)
        if read is None:
            return None
        present = self._streams.get(stream)
        if present is None or (not present.uncommitted and present.committed.version < read.committed.version):
            self._streams.put(read)
        return read.committed
