"""Reads that are never older than the last commit, whichever replica made it."""

import asyncio
from asyncio import Future

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.committing import Committing
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.log.port import ARCHIVED, ERASED, Archived, EventLog, StoredFacts
from playmolt_core.vault.vault import Erased

_LOOKS = 4


class CommittedReads:
    """Committed snapshots. The versions of all streams asked for meanwhile are read in one query."""

    def __init__(self, event_log: EventLog, streams: StreamCache, committing: Committing) -> None:
        self._log = event_log
        self._streams = streams
        self._committing = committing
        self._asked: dict[str, Future[int]] = {}
        self._wanted = asyncio.Event()

    async def run(self) -> None:
        """Answer for ever."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            asked, self._asked = self._asked, {}
            try:
                versions = await self._log.versions(asked)
            except LogUnavailable as error:
                for future in asked.values():
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # whoever asked may have gone: then nobody looks at it
                continue
            for stream, future in asked.items():
                if not future.done():
                    future.set_result(versions.get(stream, 0))

    def _version(self, stream: str) -> "Future[int]":
        future = self._asked.get(stream)
        if future is None:
            future = self._asked[stream] = asyncio.get_running_loop().create_future()
            self._wanted.set()
        return future

    def present(self, stream: str) -> Snapshot | None:
        """A stream as this engine last committed it, if it is in memory."""
        entry = self._streams.get(stream)
        return entry.committed if entry is not None and entry.committed.version else None

    def read_last(self, stream: str) -> StoredFacts | None:
        """What was read of a stream for its snapshot, if no other has been read since."""
        return self._streams.read_last(stream)

    async def snapshot(self, stream: str) -> Snapshot | None:
        """A stream as committed now; None when it is unknown. Raises Archived, Erased and LogUnavailable."""
        version = await asyncio.shield(self._version(stream))
        if version == ERASED:
            self._streams.drop(stream)
            raise Erased(stream, None)
        if version == ARCHIVED:
            raise Archived(stream)
        for _ in range(_LOOKS):
            entry = self._streams.get(stream)
            if entry is not None and entry.committed.version >= version:
                return entry.committed if entry.committed.version else None
            if entry is None or not entry.uncommitted:
                break
            settled = asyncio.Event()
            self._committing.when_settled(stream, settled.set)
            await settled.wait()
        if not version:
            return None
        read = await self._streams.read(stream)
        if read is None:
            return None
        present = self._streams.get(stream)
        if present is None or (not present.uncommitted and present.committed.version < read.committed.version):
            self._streams.put(read)
        return read.committed
