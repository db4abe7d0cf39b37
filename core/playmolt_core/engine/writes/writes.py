"""The writing half of an engine: calls arrive, are decided, committed, and answered after the commit."""

import asyncio
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.engine.pending_call import PendingCall, Submission, UnderWay
from playmolt_core.engine.stream_cache import StreamCache
from playmolt_core.engine.writes.committing import Committing, OnCommit
from playmolt_core.engine.writes.deciding import Deciding
from playmolt_core.engine.writes.loading import ToldOfErased
from playmolt_core.engine.writes.planning import Planner
from playmolt_core.game.api import GameApi
from playmolt_core.game.decider import Accepted, Command, Decider, Refused
from playmolt_core.log.port import EventLog
from playmolt_core.settings import Settings


def _nobody(_: Answer) -> None:
    """A submission answers its future."""


async def _nothing_erased(_: Call) -> None:
    """Of games that cannot be erased."""


class Writes:
    """Takes calls that change something. Every one is answered, at the latest with `unavailable`."""

    def __init__(
        self,
        decider: Decider[Any],
        event_log: EventLog,
        streams: StreamCache,
        settings: Settings,
        on_commit: OnCommit,
        api: GameApi[Any] | None = None,
        erased: ToldOfErased = _nothing_erased,
    ) -> None:
        self._most = settings.queue_commands
        self._under_way = UnderWay()
        config = {"phase_deadline_seconds": settings.phase_deadline_seconds}
        planner = Planner(decider, streams.get, streams.fresh, partial(datetime.now, UTC), config, api=api)
        self.committing = Committing(event_log, streams, settings.batch_commands, on_commit, self._decide_again)
        self._deciding = Deciding(decider, event_log, planner, streams, self.committing, erased)

    @property
    def under_way(self) -> int:
        """Calls taken and not answered yet."""
        return self._under_way.count

    def take(self, pending: PendingCall) -> None:
        if self._under_way.count >= self._most:
            pending.refuse_busy()
            return
        pending.count(self._under_way)
        self._deciding.decide(pending)

    async def submit(self, stream: str, command: Command, command_id: str) -> Accepted | Refused:
        """See `effects.ports.Submit`."""
        outcome: asyncio.Future[Accepted | Refused] = asyncio.get_running_loop().create_future()
        call = Call(0, "act", stream, command_id=command_id)
        self.take(Submission(call, _nobody, command, outcome=outcome))
        return await outcome

    async def drain(self, seconds: float) -> None:
        """Wait until everything taken is answered, at most `seconds`."""
        end = time.monotonic() + seconds
        while self.under_way and time.monotonic() < end:  # noqa: ASYNC110 -- once in a life; an event is set per answer
            await asyncio.sleep(0.01)

    def _decide_again(self, calls: Iterable[PendingCall]) -> None:
        self._deciding.again(calls)
