"""The read side of an engine: queries that change nothing (docs/engine-operations.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic

import msgspec
from playmolt_schemas.envelopes import Call

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import Submit
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.pending_call import ARCHIVED_GAME, BadBody, PendingCall, api_request
from playmolt_core.engine.reads.api_queries import ApiQueries, Fetch
from playmolt_core.engine.reads.feeds import FeedReads
from playmolt_core.engine.reads.sources import NO_SESSION, Reply, Sources
from playmolt_core.engine.reads.states import StateReads
from playmolt_core.engine.session_erasure import SessionErasure
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Decider, Refused, S
from playmolt_core.log.port import Archived, GameReader
from playmolt_core.ops.telemetry import log, where
from playmolt_core.vault.vault import Erased

_log = log("reads")
_UNDER_WAY = 5_000
_SECONDS = 10.0
"""The timeout of a call that does not say how long it waits."""


class Reads(Generic[S]):
    """Answers calls concurrently, bounded in number and by the caller's timeout."""

    def __init__(
        self,
        decider: Decider[S],
        event_log: GameReader,
        streams: CommittedReads[S],
        api: GameApi[S] | None = None,
        fetches: Mapping[str, Fetch] | None = None,
        erasure: SessionErasure[S] | None = None,
        submit: Submit | None = None,
    ) -> None:
        sources = Sources(decider, event_log, streams, submit)
        states, feeds = StateReads(sources, erasure), FeedReads(sources)
        self._erasure, self._api = erasure, api
        self._sources = sources
        self._queries = ApiQueries(sources, api, fetches, erasure)
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
            **({"erase": erasure.erase} if erasure else {}),
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
        except Exception as error:  # a bug or a stored event that does not fold: only this call fails
            kind, frames = type(error).__name__, where(error)
            _log.error("read_failed", op=call.op, target=call.target, error=kind, traceback=frames)
            pending.refuse_busy()
        else:
            pending.answer(*self._named(call, reply))

    def _named(self, call: Call, reply: Reply) -> Reply:
        """An answer with the names that are shown. Records have none of these, and parts of a body are made from it."""
        status, body, *rest = reply
        if rest or call.op in ("log", "operator"):
            return reply
        return status, self._sources.withheld.named(body)

    async def _refuse_erased(self, pending: PendingCall) -> None:
        try:
            refused = await self._erasure.refusal_for(pending.call) if self._erasure else None
        except LogUnavailable:
            pending.refuse_busy()
            return
        pending.refuse(refused or self._unknown(pending))

    def _unknown(self, pending: PendingCall) -> Refused:
        """The refusal for a session that never existed."""
        if pending.call.op == "query" and self._api is not None:
            answer = self._queries.unknown(self._api, api_request(pending))
            if isinstance(answer, Refused):
                return answer
        return self._sources.unknown
