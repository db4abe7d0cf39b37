"""Counts faults of refused actions outside the log, until the event that closes the game stores them.

A refusal stores no event, so that a bot with repeated refusals does not fill the log. Any replica may refuse, and any
may close the game.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from playmolt_schemas.game_messages import Fault

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.stream_cache import RETRY_SECONDS
from playmolt_core.engine.writes.plans import Plan
from playmolt_core.log.port import EventLog


class FaultRecorder:
    def __init__(
        self,
        event_log: EventLog,
        decide: Callable[[PendingCall], None],
        again: Callable[[Iterable[PendingCall]], None],
    ) -> None:
        self._log = event_log
        self._decide = decide
        self._again = again
        self._tasks: set[asyncio.Task[None]] = set()

    def answer(self, pending: PendingCall, plan: Plan, fault: Fault) -> None:
        """Count a fault, then answer; if the game has ended meanwhile, decide the call again."""
        self._begin(self._count(pending, plan, fault))

    def gather(self, pending: PendingCall, stream: str) -> None:
        """Load the counted faults of a game for the call that closes it, and decide the call with them."""
        self._begin(self._gather(pending, stream))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _count(self, pending: PendingCall, plan: Plan, fault: Fault) -> None:
        try:
            counted = await self._log.note_fault(pending.call.target, fault)
        except LogUnavailable:
            await asyncio.sleep(RETRY_SECONDS)
            counted = False
        if counted:
            plan.answer(pending)
        else:
            self._again([pending])

    async def _gather(self, pending: PendingCall, stream: str) -> None:
        try:
            pending.gathered = tuple(await self._log.counted_faults(stream))
        except LogUnavailable:
            await asyncio.sleep(RETRY_SECONDS)
            self._again([pending])
            return
        pending.gathered_at = pending.tries
        self._decide(pending)
