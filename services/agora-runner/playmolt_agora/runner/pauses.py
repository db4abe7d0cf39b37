"""The worker of runs that pause: it waits until they can go on, and lets them."""

import asyncio
from typing import Final

from playmolt_core.host.errand import Errand

from playmolt_agora import commands
from playmolt_agora.runner.standing import Standings
from playmolt_agora.state import State

LOOK_SECONDS: Final = 1.0
AWAY_SECONDS: Final = 10.0
"""How long a model that is away is left alone."""
_PATIENCE_SECONDS: Final = 600.0
"""Then the lease goes back, and whoever takes it waits on."""


class Pauses:
    """Fulfils `resume_run`: as soon as the experiment goes on, or after a while when a model was away."""

    def __init__(self, standings: Standings) -> None:
        self._standings = standings

    async def __call__(self, errand: Errand) -> None:
        """Wait, and resume the run."""
        state: State = errand.snapshot.state
        clock = asyncio.get_running_loop().time
        begun = clock()
        while not errand.stopping and clock() - begun < _PATIENCE_SECONDS:
            await asyncio.sleep(LOOK_SECONDS)
            standing = await self._standings.of(state.run.experiment)
            waited = clock() - begun
            if standing.halted is None and (state.paused != "model_away" or waited >= AWAY_SECONDS):
                await errand.tell(commands.ResumeRun())
                return
