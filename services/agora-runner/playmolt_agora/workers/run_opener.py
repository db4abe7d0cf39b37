"""The worker that opens the runs of an experiment, forks among them."""

from playmolt_core.effects.leased_effect import CommandRefused, LeasedEffect, Submit
from playmolt_core.log.port import EventLog
from playmolt_core.ops.telemetry import log
from playmolt_schemas.agora.turn import RunSpec

from playmolt_agora.calls.experiment_status import events_of
from playmolt_agora.experiment import commands as experiments
from playmolt_agora.experiment.effects import RunToOpen
from playmolt_agora.experiment.specs import registered_spec
from playmolt_agora.run import branch, commands

_log = log("openings")


class RunOpener:
    """Fulfils `open_run`: the run's stream first, then its experiment hears that it is there."""

    def __init__(self, log: EventLog, runs: Submit) -> None:
        self._log = log
        self._runs = runs

    async def __call__(self, leased: LeasedEffect) -> None:
        payload: RunToOpen = leased.payload
        spec = registered_spec(leased.snapshot.state, payload.run)
        opening = await self._opening(spec)
        try:
            await leased.submit(opening, "run", to=(self._runs, spec.run))
        except CommandRefused as refused:
            # Asked again it would be refused again, and the experiment would wait for it for ever.
            _log.warning("run_refused", run=spec.run, detail=str(refused))
            await leased.submit(experiments.ReportRunRefused(run=spec.run))
            return
        await leased.submit(experiments.ReportRunOpened(run=spec.run))

    async def _opening(self, spec: RunSpec) -> commands.OpenRun | commands.ReplayRun:
        if spec.parent is None:
            return commands.OpenRun(spec=spec)
        events = await events_of(self._log, spec.parent.run)
        content = branch.content_of(spec.parent.change)
        return commands.ReplayRun(spec=spec, events=tuple(events[: spec.parent.version]), content=content)
