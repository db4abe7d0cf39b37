"""The worker that looks after opened runs: one that an operator ended has nobody else to tell of it."""

import asyncio
from collections.abc import Mapping
from typing import Final

from playmolt_core.host.engine import Engine
from playmolt_core.host.errand import Errand
from playmolt_core.log.port import Archived

from playmolt_agora import experiment_commands as experiments
from playmolt_agora.experiment_state import State

LOOK_SECONDS: Final = 1.0
_LOOKS: Final = 5
"""Then the lease goes back: runs that are to be opened need the room as well."""


class Watch:
    """Fulfils `watch_runs`: tells the experiment of each run that was ended, whether or not a worker was at it."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines

    async def __call__(self, errand: Errand) -> None:
        """Look at the opened runs for a while."""
        for _ in range(_LOOKS):
            if errand.stopping:
                return
            state: State = (await errand.present()).state
            for run in state.open if state.status == "running" else ():
                await self._look_at(errand, run.run)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look_at(self, errand: Errand, run: str) -> None:
        try:
            snapshot = await self._engines["agora"].fresh.snapshot(run)
        except Archived:
            return
        if snapshot is not None and snapshot.state.phase == "aborted":
            told = experiments.RunAborted(run=run, version=snapshot.version, hash=snapshot.hash)
            await errand.tell(told, f"aborted/{run}")
