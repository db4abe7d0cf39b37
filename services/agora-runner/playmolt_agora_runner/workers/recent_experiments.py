"""What workers read of experiments and runs: an experiment's status before each turn, the events of a run."""

import time
from collections.abc import Mapping
from typing import Final

from playmolt_core.engine.engine import Engine
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run.rules import Agora

FRESH_SECONDS: Final = 0.5
_FORGET: Final = 50


class RecentExperiments:
    """Reads an experiment at most twice a second: after a stop, turns may begin for `FRESH_SECONDS`."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines
        self._known: dict[str, tuple[float, State]] = {}

    async def of(self, experiment: str) -> State:
        """An experiment as it was; a run without an experiment continues. Raises LogUnavailable."""
        known = self._known.get(experiment)
        now = time.monotonic()
        if known is not None and now - known[0] < FRESH_SECONDS:
            return known[1]
        snapshot = await self._engines["experiment"].committed.snapshot(experiment)
        state: State = snapshot.state if snapshot else State(game_id=experiment)
        if len(self._known) > _FORGET:
            self._known.clear()
        self._known[experiment] = (now, state)
        return state


async def events_of(log: StreamReader, run: str) -> list[Event]:
    """Read a run's events. Raises LogUnavailable."""
    stored = await log.facts(run)
    return [event for event, _ in facts_of(Agora(), stored)] if stored else []
