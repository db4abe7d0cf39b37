"""What workers read of experiments and runs: an experiment's status before each turn, the events of a run."""

import time
from collections.abc import Mapping
from typing import Final

from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.engine import Engine
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run.rules import Agora

FRESH_SECONDS: Final = 0.5
_FORGET: Final = 50


class RecentExperiments:
    """Reads an experiment at most twice a second, and what this process commits to it at once.

    After a stop that another replica took, turns may begin for `FRESH_SECONDS`.
    """

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines
        self._known: dict[str, tuple[float, Snapshot[State]]] = {}

    async def of(self, experiment: str) -> State:
        """An experiment as it was; a run without an experiment continues. Raises LogUnavailable."""
        committed: CommittedReads[State] = self._engines["experiment"].committed
        now = time.monotonic()
        at, known = self._known.get(experiment, (0.0, None))
        if known is not None and now - at < FRESH_SECONDS:
            own = committed.present(experiment)
            return own.state if own is not None and own.version > known.version else known.state
        snapshot = await committed.snapshot(experiment)
        if snapshot is None:
            return State(game_id=experiment)
        if len(self._known) > _FORGET:
            self._known.clear()
        self._known[experiment] = (now, snapshot)
        return snapshot.state


async def events_of(log: StreamReader, run: str) -> list[Event]:
    """Read a run's events. Raises LogUnavailable."""
    stored = await log.facts(run)
    return [event for event, _ in facts_of(Agora(), stored)] if stored else []
