"""Loads streams that are not in memory, while their calls wait."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from playmolt_schemas.envelopes import Call
from playmolt_schemas.identifiers import SESSION_TYPES

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.cached_stream import CachedStream
from playmolt_core.engine.pending_call import ARCHIVED_GAME, BadBody, PendingCall
from playmolt_core.engine.stream_cache import RETRY_SECONDS, StreamCache
from playmolt_core.engine.writes.api_commands import ApiCommands
from playmolt_core.game.decider import Decider, Refused
from playmolt_core.log.port import Archived
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("loading")
ErasedRefusal = Callable[[Call], Awaitable[Refused | None]]
"""The refusal of a call about an erased session; None if the session must look missing."""


class StreamLoader:
    """Reads each stream once for all calls that wait for it, then lets them be decided."""

    def __init__(
        self,
        decider: Decider[Any],
        api_commands: ApiCommands,
        streams: StreamCache,
        decide: Callable[[PendingCall], None],
        again: Callable[[Iterable[PendingCall]], None],
        erased: ErasedRefusal,
    ) -> None:
        self._decider = decider
        self._api_commands = api_commands
        self._streams = streams
        self._decide = decide
        self._again = again
        self._erased = erased
        self._waiting: defaultdict[str, list[PendingCall]] = defaultdict(list)
        self._tasks: set[asyncio.Task[None]] = set()

    def wait(self, pending: PendingCall, stream: str) -> None:
        self._waiting[stream].append(pending)
        if len(self._waiting[stream]) == 1:
            task = asyncio.create_task(self._read(stream))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _read(self, stream: str) -> None:
        try:
            entry = await self._streams.read(stream)
        except LogUnavailable:
            await asyncio.sleep(RETRY_SECONDS)
            self._again(self._waited(stream))
        except Erased:
            for pending in self._waited(stream):
                await self._refuse_erased(pending, stream)
        except Archived:
            for pending in self._waited(stream):
                self._decide_without(pending, stream)
        except Exception as error:  # a stored event that does not fold: only calls about this game are refused
            _log.error("stream_unreadable", stream=stream, error=type(error).__name__, traceback=where(error))
            for pending in self._waited(stream):
                pending.refuse_busy()
        else:
            self._loaded(stream, entry)

    def _waited(self, stream: str) -> Iterable[PendingCall]:
        return self._waiting.pop(stream, ())

    def _loaded(self, stream: str, entry: CachedStream | None) -> None:
        if entry is not None and self._streams.get(stream) is None:
            self._streams.put(entry)
        for pending in self._waited(stream):
            if entry is not None or self._opened(pending, stream):
                self._decide(pending)
            else:
                self._refuse_unknown(pending)

    def _decide_without(self, pending: PendingCall, stream: str) -> None:
        """Refuse a call about an archived stream; a call that only looks it up, like `join`, is decided without it."""
        if pending.call.target != stream:
            pending.archived |= {stream}
            self._decide(pending)
        elif self._decider.game in SESSION_TYPES:
            self._refuse_unknown(pending)
        else:
            pending.refuse(ARCHIVED_GAME)

    async def _refuse_erased(self, pending: PendingCall, stream: str) -> None:
        try:
            refused = await self._erased(pending.call) if pending.call.target == stream else None
        except LogUnavailable:
            pending.refuse_busy()
            return
        if refused:
            pending.refuse(refused)
        else:
            self._refuse_unknown(pending)

    def _refuse_unknown(self, pending: PendingCall) -> None:
        try:
            refused = self._api_commands.unknown(pending)
        except BadBody as error:
            refused = error.refused
        pending.refuse(refused)

    def _opened(self, pending: PendingCall, stream: str) -> bool:
        """Create the stream if the call may open it."""
        try:
            opens = self._api_commands.opens(pending)
        except BadBody:
            return False
        if opens and self._streams.get(stream) is None:
            self._streams.put(self._streams.fresh(stream))
        return opens
