"""The worker of runs that pause: it waits until they can go on, and lets them, or ends them with their experiment."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import EndGame

from playmolt_agora.calls.experiment_status import ExperimentStatuses
from playmolt_agora.run import commands
from playmolt_agora.run.effects import EndOfPause

LOOK_SECONDS: Final = 1.0
_LOOKS: Final = 5
"""Then the lease is released for the next process: runs that can continue need the capacity as well."""
_ENDED: Final = "its experiment was ended"


class PauseWorker:
    """Fulfils `resume_run`: as soon as the experiment goes on and the time of the pause has passed.

    The run of an experiment that was ended is ended as well.
    """

    def __init__(self, statuses: ExperimentStatuses, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._statuses = statuses
        self._clock = clock

    async def __call__(self, leased: LeasedEffect) -> None:
        pause: EndOfPause = leased.payload
        for _ in range(_LOOKS):
            await asyncio.sleep(LOOK_SECONDS)
            if leased.stopping:
                return
            status = await self._statuses.of(pause.experiment)
            if status.ended:
                await leased.submit(EndGame(reason=_ENDED))
                return
            if status.halted is None and (pause.until is None or self._clock() >= pause.until):
                await leased.submit(commands.ResumeRun())
                return
