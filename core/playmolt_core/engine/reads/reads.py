"""The reading half of an engine: answers that change nothing (docs/engine-operations.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.api_requests import api_request
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.erasing import Erasing
from playmolt_core.engine.pending_call import ARCHIVED_GAME, BadBody, PendingCall
from playmolt_core.engine.reads.api_queries import ApiQueries, Fetch
from playmolt_core.engine.reads.feeds import FeedReads
from playmolt_core.engine.reads.sources import NO_SESSION, Reply, Sources
from playmolt_core.engine.reads.states import StateReads
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Decider, Refused
from playmolt_core.log.port import Archived, EventLog
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("reads")
_UNDER_WAY = 5_000
_SECONDS = 10.0
"""For a call without a deadline."""


class Reads:
    """Answers calls beside each other, bounded in number and, by the caller's deadline, in time."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        streams: CommittedReads,
        api: GameApi[Any] | None = None,
        fetches: Mapping[str, Fetch] | None = None,
        erasing: Erasing | None = None,
    ) -> None:
        sources = Sources(decider, event_log, streams)
        states, feeds = StateReads(sources, erasing), FeedReads(sources)
        self._erasing, self._api = erasing, api
        self._sources = sources
        self._queries = ApiQueries(sources, api, fetches, erasing)
        self._archived = NO_SESSION if sources.private else ARCHIVED_GAME
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers: dict[str, Callable[[PendingCall], Awaitable[Reply]]] = {
            "state": states.state,
            "turn": states.turn,
            "operator": states.operator,
            "events": feeds.events,
            "feed": feeds.feed,
            "games": feeds.games,
            "log": feeds.log,
            "query": self._queries.query,
            **({"erase": erasing.erase} if erasing else {}),
        }

    def take(self, pending: PendingCall) -> None:
        if len(self._tasks) >= _UNDER_WAY:
            pending.refuse_busy()
            return
        task = asyncio.create_task(self._answer(pending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, pending: PendingCall) -> None:
        call = pending.call
        try:
            async with asyncio.timeout(max(0.0, pending.seconds_left(_SECONDS))):
                reply = await self._handlers[call.op](pending)
        except (LogUnavailable, TimeoutError):
            pending.refuse_busy()
        except Archived:
            pending.refuse(self._archived)
        except Erased:
            await self._refuse_erased(pending)
        except (msgspec.MsgspecError, BadBody):
            pending.refuse(BadBody.refused)
        except Exception as error:  # a stored event that does not fold or a bug: this call fails, the engine goes on
            kind, frames = type(error).__name__, where(error)
            _log.error("read_failed", op=call.op, target=call.target, error=kind, traceback=frames)
            pending.refuse_busy()
        else:
            pending.answer(*reply)

    async def _refuse_erased(self, pending: PendingCall) -> None:
        try:
            refused = await self._erasing.refused(pending.call) if self._erasing else None
        except LogUnavailable:
            pending.refuse_busy()
            return
        pending.refuse(refused or self._unknown(pending))

    def _unknown(self, pending: PendingCall) -> Refused:
        """Worded as for what never was."""
        if pending.call.op == "query" and self._api is not None:
            told = self._queries.unknown(self._api, api_request(pending))
            if isinstance(told, Refused):
                return told
        return self._sources.unknown
