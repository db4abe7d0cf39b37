"""The workers of an experiment's runs: they open runs, resume paused ones, take looks and watch for ended ones."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from playmolt_core.effects.leased_effect import CommandRefused, LeasedEffect
from playmolt_core.engine.committed_reads import CommittedReads
from playmolt_core.engine.engine import Engine
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import EndGame, Refused
from playmolt_core.log.port import Archived, GameIndex, StreamReader
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import Code
from playmolt_schemas.instrument.laboratory import IntervalsRequest
from playmolt_schemas.routes.agora import ForkRequest
from playmolt_schemas.stored.agora.turn import Parent

from playmolt_agora_runner.experiment import commands as experiments
from playmolt_agora_runner.experiment import effects, looks
from playmolt_agora_runner.experiment.forking import registered_spec
from playmolt_agora_runner.experiment.state import State, invalid
from playmolt_agora_runner.run import commands, forks
from playmolt_agora_runner.run.effects import NO_VALID_TURN
from playmolt_agora_runner.workers.laboratory import Laboratory, LaboratoryFailed
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments, events_of
from playmolt_agora_runner.world.state import Pause, RunState

_log = log("openings")


class RunOpener:
    """Fulfils `open_run`: the run's stream first, then the report to its experiment."""

    def __init__(self, log: StreamReader, engines: Mapping[str, Engine]) -> None:
        self._log = log
        self._engines = engines

    async def __call__(self, leased: LeasedEffect[str, State]) -> None:
        spec = registered_spec(leased.snapshot.state, leased.payload)
        parent = spec.parent
        replayed = (await events_of(self._log, parent.run))[: parent.version] if parent else ()
        opening = commands.OpenRun(spec=spec, events=tuple(replayed))
        try:
            await leased.submit(opening, "run", to=(self._engines["agora"].submit, spec.run))
        except CommandRefused as refused:
            # A retry would be refused again, and the experiment would wait forever.
            _log.warning("run_refused", run=spec.run, detail=str(refused))
            await leased.submit(experiments.ReportRunWithoutResult(run=spec.run, outcome="refused"))
            return
        await leased.submit(experiments.ReportRunOpened(run=spec.run))


PAUSE_SECONDS: Final = 1.0
_PAUSE_CHECKS: Final = 5
"""Then the lease is released for the next process: runs that can continue need the capacity as well."""
_ENDED: Final = "its experiment was ended"


class PauseWorker:
    """Fulfils `resume_run`: once the experiment continues and the pause is over.

    An ended experiment ends its runs too.
    """

    def __init__(
        self,
        recent: RecentExperiments,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._recent = recent
        self._clock = clock
        self._seconds = seconds

    async def __call__(self, leased: LeasedEffect[None, RunState]) -> None:
        state = leased.snapshot.state
        for _ in range(_PAUSE_CHECKS):
            await asyncio.sleep(self._seconds)
            if leased.stopping:
                return
            experiment = await self._recent.of(state.run.experiment)
            if experiment.status == "aborted":
                await leased.submit(EndGame(reason=_ENDED))
                return
            if experiment.halted is None and _is_over(state.pause, experiment, self._clock()):
                await leased.submit(commands.ResumeRun())
                return


def _is_over(pause: Pause | None, experiment: State, now: datetime) -> bool:
    """Whether a run may go on; without a valid turn the operator has to resume the experiment first."""
    if pause and pause.since and pause.code == NO_VALID_TURN:
        return experiment.resumed_at is not None and experiment.resumed_at > pause.since
    return pause is None or pause.until is None or now >= pause.until


class LookWorker:
    """Fulfils `look`: an interval for each cell that may grow; the experiment decides what follows."""

    def __init__(self, laboratory: Laboratory) -> None:
        self._laboratory = laboratory

    async def __call__(self, leased: LeasedEffect[None, State]) -> None:
        state = leased.snapshot.state
        plan = state.plan
        if plan is None or plan.adaptive is None:
            raise LookupError(f"{leased.stream} grows no cell")
        request = IntervalsRequest(
            runs=tuple(run.run for run in effects.ended_of_matrix(state)), measure=plan.adaptive.measure,
            seed=state.seed, stage1_import=tuple(plan.stage1_rows),
        )  # fmt: skip
        cells = {f"{cell.model}/{cell.language}": cell.name for cell in looks.growing_cells(plan)}
        intervals = {
            cells[at]: (each.low, each.high)
            for each in await self._laboratory.intervals(request)
            if (at := f"{each.model}/{each.language}") in cells and each.low is not None and each.high is not None
        }
        await leased.submit(experiments.Look(intervals=intervals, effect_id=leased.effect.id))


class PcsLook:
    """Has PCS so far computed for `POST …/look`."""

    def __init__(self, laboratory: Laboratory, engines: Mapping[str, Engine]) -> None:
        self._laboratory = laboratory
        self._engines = engines

    async def __call__(self, request: ApiRequest) -> object:
        committed: CommittedReads[State] = self._engines["experiment"].committed
        found = await committed.snapshot(request.stream) if request.operator else None
        if found is None or found.state.plan is None:
            return request.body
        state = found.state
        cells = looks.arms(found.state.plan, state.runs)
        try:
            figures = await self._laboratory.pcs(cells) if cells else {}
            return experiments.SeePcs(turns=state.spent.turns, figures=figures)
        except LaboratoryFailed as error:
            _log.error("look_failed", experiment=request.stream, said=str(error))
            return Refused(Code.UNAVAILABLE, "PCS could not be computed; the runner's log says why. Look again.")


class ForkCheck:
    """Refuses a fork with new content after an event before which no agent spoke. Only the parent's events show it."""

    def __init__(self, log: StreamReader) -> None:
        self._log = log

    async def __call__(self, request: ApiRequest) -> object:
        try:
            asked = msgspec.convert(request.body, ForkRequest)
        except msgspec.ValidationError:
            return request.body
        if not request.operator or not asked.set.startswith("content="):
            return request.body
        run = request.params["run"]
        replayed = (await events_of(self._log, run))[: asked.at]
        found = forks.faults(Parent(run=run, version=asked.at, change=asked.set), replayed)
        words = [fault.message for fault in found if fault.field == "content"]
        return invalid("set", f"content {words[0]}") if words else request.body


_ALL: Final = 1_000_000
WATCH_SECONDS: Final = 1.0
_WATCHES: Final = 5
"""Then the lease is released: runs that are to be opened need the capacity as well."""


class RunWatcher:
    """Fulfils `watch_runs`: reports each ended run to the experiment, whether or not a worker was playing it."""

    def __init__(self, log: GameIndex, engines: Mapping[str, Engine]) -> None:
        self._log = log
        self._engines = engines

    async def __call__(self, leased: LeasedEffect[None, State]) -> None:
        for _ in range(_WATCHES):
            state = (await leased.present()).state
            if leased.stopping or state.status != "running" or not state.open:
                return
            # Every running run: reading their streams would repeatedly fold what other replicas play.
            listed = await self._log.games("agora", phase=None, before=None, limit=_ALL, running=True)
            running = {game.stream for game in listed}
            for run in state.open:
                if run.run not in running:
                    await self._look_at(leased, run.run)
            await asyncio.sleep(WATCH_SECONDS)

    async def _look_at(self, leased: LeasedEffect[None, State], run: str) -> None:
        try:
            snapshot = await self._engines["agora"].committed.snapshot(run)
        except Archived:
            return
        if snapshot is not None and snapshot.state.phase == "aborted":
            aborted = experiments.ReportRunWithoutResult(
                run=run, outcome="aborted", version=snapshot.version, hash=snapshot.hash
            )
            await leased.submit(aborted, f"aborted/{run}")
