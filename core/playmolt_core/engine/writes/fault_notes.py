"""What refusals count as: kept beside the log until the event that closes the game holds it.

A refusal stores no event, so that a bot that is refused again and again fills no log; any replica may refuse, and any
may close the game.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from playmolt_schemas.game_messages import Fault

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.engine.pending_call import PendingCall
from playmolt_core.engine.stream_cache import AWAY_SECONDS
from playmolt_core.engine.writes.plans import Plan
from playmolt_core.log.port import EventLog


class FaultNotes:
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
        """Count a fault, then answer; the call is decided again where its game is over by then."""
        self._begin(self._count(pending, plan, fault))

    def tell(self, pending: PendingCall, stream: str) -> None:
        """Have a call that closes its game decided with what was counted there."""
        self._begin(self._hear(pending, stream))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _count(self, pending: PendingCall, plan: Plan, fault: Fault) -> None:
        try:
            counted = await self._log.note_fault(pending.call.target, fault)
        except LogUnavailable:
            await asyncio.sleep(AWAY_SECONDS)
            counted = False
        if counted:
            plan.answer(pending)
        else:
            self._again([pending])

    async def _hear(self, pending: PendingCall, stream: str) -> None:
        try:
            pending.gathered = tuple(await self._log.counted_faults(stream))
        except LogUnavailable:
            await asyncio.sleep(AWAY_SECONDS)
            self._again([pending])
            return
        pending.told_at = pending.tries
        self._decide(pending)
