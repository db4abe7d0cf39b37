"""The write side of an engine: calls are decided, committed, and answered after the commit."""

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.engine.pending_call import CallCounter, PendingCall, Submission
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.command_handler import CommandHandler
from playmolt_core.engine.writes.group_committer import GroupCommitter, OnCommit
from playmolt_core.engine.writes.planner import Planner
from playmolt_core.engine.writes.stream_loader import ErasedRefusal
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Refused
from playmolt_core.log.port import EventLog
from playmolt_core.settings import Settings


def _no_response(_: Answer) -> None:
    """Submissions resolve their future instead."""


utc_now = partial(datetime.now, UTC)


async def _nothing_erased(_: Call) -> None:
    """The default for games that cannot be erased."""


class Writes:
    """Accepts calls that change something. Every call is answered, at the latest with `unavailable`."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        streams: StreamCache,
        settings: Settings,
        on_commit: OnCommit,
        api: GameApi[Any] | None = None,
        erased: ErasedRefusal = _nothing_erased,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._most = settings.queue_commands
        self._under_way = CallCounter()
        config = {"phase_deadline_seconds": settings.phase_deadline_seconds}
        planner = Planner(decider, streams.get, streams.fresh, now, config, api=api)
        self.committer = GroupCommitter(event_log, streams, settings.batch_commands, on_commit, self._decide_again)
        self._handler = CommandHandler(decider, event_log, planner, streams, self.committer, erased)

    @property
    def under_way(self) -> int:
        """The number of accepted calls that are not answered yet."""
        return self._under_way.count

    def take(self, pending: PendingCall) -> None:
        if self._under_way.count >= self._most:
            pending.refuse_busy()
            return
        pending.count(self._under_way)
        self._handler.decide(pending)

    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        """See `effects.leased_effect.Submit`."""
        outcome: asyncio.Future[Accepted | Refused] = asyncio.get_running_loop().create_future()
        call = Call(0, "act", stream, command_id=command_id)
        self.take(Submission(call, _no_response, command, outcome=outcome))
        return await outcome

    async def drain(self, seconds: float) -> None:
        """Wait until all accepted calls are answered, at most `seconds`."""
        end = time.monotonic() + seconds
        while self.under_way and time.monotonic() < end:  # noqa: ASYNC110 -- once per process; an event would be set on every answer
            await asyncio.sleep(0.01)

    def _decide_again(self, calls: Iterable[PendingCall]) -> None:
        self._handler.again(calls)
