"""The worker that watches opened runs: it reports runs that an operator ended."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.engine.engine import Engine
from playmolt_core.log.port import Archived, EventLog
from playmolt_schemas.limits import PAGE_MAX

from playmolt_agora.experiment import commands as experiments
from playmolt_agora.experiment import effects
from playmolt_agora.experiment.effects import OpenRuns

LOOK_SECONDS: Final = 1.0
_LOOKS: Final = 5
"""Then the lease goes back: runs that are to be opened need the room as well."""


class RunWatcher:
    """Fulfils `watch_runs`: reports each ended run to the experiment, whether or not a worker was playing it."""

    def __init__(self, log: EventLog, engines: Mapping[str, Engine]) -> None:
        self._log = log
        self._engines = engines

    async def __call__(self, leased: LeasedEffect) -> None:
        for _ in range(_LOOKS):
            watch = effects.watch((await leased.present()).state)
            if leased.stopping or watch is None:
                return
            opened: OpenRuns = watch.payload
            running = await self._running()
            for run in opened.runs:
                if run not in running:
                    await self._look_at(leased, run)
            await asyncio.sleep(LOOK_SECONDS)

    async def _running(self) -> set[str]:
        """Name every run that goes on; to read their streams would fold again and again what other replicas play."""
        found: set[str] = set()
        before: tuple[datetime, str] | None = None
        while True:
            page = await self._log.games("agora", phase=None, before=before, limit=PAGE_MAX, running=True)
            found |= {game.stream for game in page}
            if len(page) < PAGE_MAX:
                return found
            before = (page[-1].created_at, page[-1].stream)

    async def _look_at(self, leased: LeasedEffect, run: str) -> None:
        try:
            snapshot = await self._engines["agora"].committed.snapshot(run)
        except Archived:
            return
        if snapshot is not None and snapshot.state.phase == "aborted":
            aborted = experiments.ReportRunAborted(run=run, version=snapshot.version, hash=snapshot.hash)
            await leased.submit(aborted, f"aborted/{run}")
