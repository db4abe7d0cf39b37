"""The worker of runs: turn after turn, and questions between them, under one lease until the run ends or pauses.

Replicas share out the runs.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace
from playmolt_core.effects.leased_effect import LeasedEffect, Submit
from playmolt_core.game.decider import Effect
from playmolt_core.game.fold import Snapshot
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.durable_call import StoredCall
from playmolt_core.log.port import StreamReader
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.experiment import RunFinished, RunProgressed
from playmolt_schemas.stored.agora.run import AgentDied
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.experiment import commands as experiments
from playmolt_agora_runner.experiment import preregistration
from playmolt_agora_runner.run import commands, effects
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn, RunReport
from playmolt_agora_runner.run.fold import evolve
from playmolt_agora_runner.turn import scenes
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.workers.files import PlanFiles
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments, events_of
from playmolt_agora_runner.workers.run_usage import RunUsage, requests_recorded
from playmolt_agora_runner.workers.turn_model import Halt, TurnModel
from playmolt_agora_runner.world import epoch
from playmolt_agora_runner.world.state import RunState

STEP_SECONDS: Final = 0.25
MOST_SECONDS: Final = 3.0
"""A single replica takes every run after this long."""
_FORGET: Final = 5000
_NO_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""No scene depends on the time."""


class LoadBalancer:
    """The runs of this replica, and when it first saw runs that it left to others."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._in_hand: set[str] = set()
        self._seen: dict[str, float] = {}

    def leaves_to_others(self, run: str) -> bool:
        now = self._clock()
        if len(self._seen) > _FORGET:
            self._seen.clear()
        waited = now - self._seen.setdefault(run, now)
        return waited < min(MOST_SECONDS, STEP_SECONDS * len(self._in_hand))

    @contextmanager
    def hold(self, run: str) -> Iterator[None]:
        self._seen.pop(run, None)
        self._in_hand.add(run)
        try:
            yield
        finally:
            self._in_hand.discard(run)


PROGRESS_SECONDS: Final = 3.0
"""How often a run's progress is reported to its experiment."""


class ModelWorker:
    """Fulfils the effects of a run under a lease: `agent_turn`, `agent_interview`, and `report_run` at its end."""

    def __init__(
        self,
        leased: LeasedEffect[effects.Payload, RunState],
        log: StreamReader,
        asking: TurnModel,
        recent: RecentExperiments,
        submit_to_experiment: Submit,
        catalogue: Catalogue,
        files: PlanFiles,
    ) -> None:
        self._leased = leased
        self._log = log
        self._asking = asking
        self._recent = recent
        spec = leased.snapshot.state.run
        self._run, self._experiment = spec.run, spec.experiment
        self._whole = (submit_to_experiment, spec.experiment)
        self._catalogue = catalogue
        self._files = files
        self._usage = RunUsage()
        self._texts: Mapping[str, str] = {}
        """Those of the plan's folder that its agents read, by path."""

    async def work(self) -> None:
        """Take turns until none are due; a request in flight of an ended worker counts as a lost call of its turn."""
        leased = self._leased
        snapshot = leased.snapshot
        before = await events_of(self._log, leased.stream)
        usage = self._usage = RunUsage(before, snapshot.state.replayed)
        self._texts = await self._files.texts(snapshot.state.run.files or {})
        taken_up = True
        await self._compare()
        reported = time.monotonic()
        while not leased.stopping and (effect := effects.effect(snapshot.state)) is not None:
            turn = effect.payload
            if isinstance(turn, RunReport):
                await self._report(effect, turn, snapshot)
            if not isinstance(turn, AgentTurn):
                return
            logged, lost = await self._logged(effect, turn, before) if taken_up else (0, 0)
            reply = await self._reply(turn, snapshot.state, lost, logged)
            if isinstance(reply, Halt):
                usage.add_calls(reply.attempts)
                await self._progress(effect, f"halt/{snapshot.version}")
                await self._pause(effect, turn, f"halt/{snapshot.version}", reply)
                return
            await leased.submit(commands.TakeTurn(effect_id=effect.id, reply=reply), effect=effect)
            usage.add_calls(reply.attempts)
            snapshot, taken_up = await leased.present(), False
            if turn.interview is None:
                usage.add_turn(snapshot.state.acts[-1].action)
            if time.monotonic() - reported > PROGRESS_SECONDS:
                await self._progress(effect, "progress")
                reported = time.monotonic()

    async def _logged(self, effect: Effect, turn: AgentTurn, before: Iterable[Event]) -> tuple[int, int]:
        """The requests of a question that its log holds, and how many of them were lost.

        Calls of a process that ended are recorded first; their cost is unknown.
        """
        logged, lost = requests_recorded(before, turn.turn, turn.agent, turn.labels.get("interview"))
        call = await self._asking.lost(turn, (await self._recent.of(self._experiment)).budget, logged)
        if call is None:
            return logged, lost
        # The log's version names the loss, so that a second find counts as the same loss.
        await self._record(effect, turn, call, f"lost/at/{logged}")
        self._usage.add_calls((call,))
        return logged + call["lost"], lost + call["lost"]

    async def _record(self, effect: Effect, turn: AgentTurn, call: StoredCall, step: str) -> None:
        made = commands.RecordCall(turn=turn.turn, agent=turn.agent, call=call)
        await self._leased.submit(made, step, effect=effect)

    async def _reply(self, turn: AgentTurn, state: RunState, lost: int, logged: int) -> TurnReply | Halt:
        """Ask for a turn after `lost` lost calls, or a question aside."""
        experiment = await self._recent.of(self._experiment)
        if experiment.halted is not None:
            return Halt(code=experiment.halted, detail=experiment.reason)
        scene = (scenes.scene if turn.interview is None else scene_aside)(state, turn.agent, self._texts)
        return await self._asking.ask(turn, scene, experiment.budget, lost, logged, state.pauses)

    async def _pause(self, effect: Effect, turn: AgentTurn, step: str, halt: Halt) -> None:
        for number, call in enumerate(halt.attempts):
            await self._record(effect, turn, call, f"{step}/call/{number}")
        if halt.stop is not None:
            await self._leased.submit(halt.stop, f"{step}/experiment", effect=effect, to=self._whole)
        await self._leased.submit(commands.PauseRun(code=halt.code, detail=halt.detail), step, effect=effect)

    async def _compare(self) -> None:
        """Let the experiment record where this runner's texts and models differ from those preregistered."""
        plan = (await self._recent.of(self._experiment)).plan
        if plan is None:
            return
        compared = experiments.Compare(
            pins=preregistration.pins(plan), models=preregistration.pinned_models(plan, self._catalogue)
        )
        await self._leased.submit(compared, f"compare/{digest([compared.pins, compared.models])}", to=self._whole)

    async def _progress(self, effect: Effect, step: str) -> None:
        usage = self._usage
        report = RunProgressed(run=self._run, spent=usage.spent, noticed=usage.noticed, models=usage.models)
        reported = experiments.ReportRun(report=report, acts=dict(usage.acts))
        await self._leased.submit(reported, f"{step}/{effect.id}", effect=effect, to=self._whole)

    async def _report(self, effect: Effect, report: RunReport, snapshot: Snapshot[RunState]) -> None:
        """Report to the experiment first: an ended run is not polled again."""
        usage = self._usage
        finished = RunFinished(
            run=self._run,
            outcome=report.outcome,
            version=snapshot.version,
            hash=snapshot.hash,
            spent=usage.spent,
            noticed=usage.noticed,
            models=usage.models,
        )
        reported = experiments.ReportRun(report=finished, acts=usage.acts)
        await self._leased.submit(reported, "experiment", effect=effect, to=self._whole)
        await self._leased.submit(commands.EndRun(effect_id=effect.id), effect=effect)


def scene_aside(state: RunState, agent: str, texts: Mapping[str, str] = {}) -> Scene:
    """An agent's scene for a question asked aside: the next epoch as it begins, also after the last one.

    An agent that would die before it acts sees what it would see until then. LookupError for an unknown agent.
    """
    at = replace(state, stage="opening")
    event: Event | None = epoch.begun(at)
    while event is not None and not (isinstance(event, AgentDied) and event.agent == agent):
        at = evolve(at, event, _NO_TIME)
        event = epoch.next_event(at) if at.stage in ("crisis", "morning") else None
    return scenes.scene(at, agent, texts)
