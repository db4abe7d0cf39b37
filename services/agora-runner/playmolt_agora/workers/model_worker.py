"""The worker of runs: turn after turn under one lease, until the run is over or pauses."""

import time
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.effects.ports import Submit
from playmolt_core.game.decider import Effect
from playmolt_core.game.snapshot import Snapshot
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora.plan import Spent
from playmolt_schemas.canonical import digest

from playmolt_agora.experiment import commands as experiments
from playmolt_agora.experiment import preregistration
from playmolt_agora.run import commands
from playmolt_agora.run.rules import Agora
from playmolt_agora.run.state import State
from playmolt_agora.turn import scenes
from playmolt_agora.turn.reply import TurnReply
from playmolt_agora.workers.asking import Asking, Halt
from playmolt_agora.workers.experiment_status import ExperimentStatuses
from playmolt_agora.workers.run_usage import (
    acts_of,
    events_of,
    lost_call,
    lost_calls_recorded,
    lost_since_recorded,
    spent_of,
    with_call,
)

PROGRESS_SECONDS: Final = 3.0
"""How often an experiment hears of the progress of a run."""


class ModelWorker:
    """Fulfils the effects of a run: `agent_turn`, and `report_run` at its end."""

    def __init__(
        self,
        rules: Agora,
        log: EventLog,
        asking: Asking,
        statuses: ExperimentStatuses,
        submit_to_experiment: Submit,
        catalogue: Catalogue,
    ) -> None:
        self._catalogue = catalogue
        self._rules = rules
        self._log = log
        self._asking = asking
        self._statuses = statuses
        self._experiments = submit_to_experiment

    async def __call__(self, leased: LeasedEffect) -> None:
        """Take turns while there are any; what a lost worker had under way counts as a lost call of its turn."""
        snapshot = leased.snapshot
        before = await events_of(self._log, leased.stream)
        spent, lost = spent_of(before, snapshot.state.replayed), lost_since_recorded(before, leased.attempt)
        earlier = lost_calls_recorded(before, snapshot.state.turn, snapshot.state.next_agent)
        acts = acts_of(before)
        await self._compare(leased, snapshot.state)
        told = time.monotonic()
        while not leased.stopping and (effect := self._effect(snapshot)) is not None:
            if effect.kind == commands.REPORT_EFFECT:
                await self._report(leased, effect, snapshot, spent, acts)
                return
            if lost:
                spent = with_call(spent, await self._record_loss(leased, effect, snapshot.state, lost))
            reply = await self._reply(snapshot.state, earlier + lost)
            if isinstance(reply, Halt):
                for call in reply.attempts:
                    spent = with_call(spent, call)
                await self._progress(leased, effect, snapshot.state, spent, acts, f"halt/{snapshot.version}")
                await self._pause(leased, effect, snapshot, reply)
                return
            await leased.submit(commands.TakeTurn(effect_id=effect.id, reply=reply), effect=effect)
            for call in reply.attempts:
                spent = with_call(spent, call)
            spent, lost, earlier = replace(spent, turns=spent.turns + 1), 0, 0
            snapshot = await leased.present()
            acts.update(_last_act(snapshot.state))
            if time.monotonic() - told > PROGRESS_SECONDS:
                await self._progress(leased, effect, snapshot.state, spent, acts, "progress")
                told = time.monotonic()

    def _effect(self, snapshot: Snapshot) -> Effect | None:
        effects = self._rules.effects(snapshot.state)
        return effects[0] if effects and effects[0].kind != commands.RESUME_EFFECT else None

    async def _record_loss(self, leased: LeasedEffect, effect: Effect, state: State, lost: int) -> dict[str, Any]:
        """Record the calls of a turn that went down with their workers; what they cost nobody knows."""
        call = lost_call(lost, leased.attempt)
        made = commands.RecordCall(turn=state.turn, agent=_present(state), call=call)
        await leased.submit(made, f"lost/{leased.attempt}", effect=effect)
        return call

    async def _reply(self, state: State, lost: int) -> TurnReply | Halt:
        """Ask for a turn, `lost` calls of which came to nothing."""
        status = await self._statuses.of(state.run.experiment)
        if status.halted is not None:
            return Halt(code=status.halted, detail=status.detail)
        return await self._asking.turn(state.run, scenes.scene(state, _present(state)), status.budget, lost)

    async def _pause(self, leased: LeasedEffect, effect: Effect, snapshot: Snapshot, halt: Halt) -> None:
        """Pause the run, visibly; a spent budget and a setting that a server rejects stop the experiment."""
        spec, step = snapshot.state.run, f"halt/{snapshot.version}"
        await self._record(leased, effect, snapshot.state, step, halt.attempts)
        whole = (self._experiments, spec.experiment)
        if halt.reached is not None:
            stop = experiments.StopForBudget(run=spec.run, reached=halt.reached)
            await leased.submit(stop, f"{step}/experiment", effect=effect, to=whole)
        elif halt.rejected:
            reason = f"{spec.run}: {halt.detail}"[:1000]
            await leased.submit(
                experiments.Stop(by="runner", reason=reason), f"{step}/experiment", effect=effect, to=whole
            )
        await leased.submit(commands.PauseRun(code=halt.code, detail=halt.detail), step, effect=effect)

    async def _record(
        self, leased: LeasedEffect, effect: Effect, state: State, step: str, calls: tuple[dict[str, Any], ...]
    ) -> None:
        agent = state.next_agent
        for number, call in enumerate(calls if agent else ()):
            made = commands.RecordCall(turn=state.turn, agent=str(agent), call=call)
            await leased.submit(made, f"{step}/call/{number}", effect=effect)

    async def _compare(self, leased: LeasedEffect, state: State) -> None:
        """Have the experiment record where this runner's texts and models are not those of the lock."""
        plan = await self._statuses.plan(state.run.experiment)
        if plan is None:
            return
        compared = experiments.Compare(
            by="runner", pins=preregistration.pins(plan), models=preregistration.pinned_models(plan, self._catalogue)
        )
        step = f"compare/{digest([compared.pins, compared.models])}"
        await leased.submit(compared, step, to=(self._experiments, state.run.experiment))

    async def _progress(
        self, leased: LeasedEffect, effect: Effect, state: State, spent: Spent, acts: Mapping[str, int], step: str
    ) -> None:
        told = experiments.RunProgressed(run=state.run.run, spent=spent, acts=dict(acts))
        await leased.submit(told, f"{step}/{effect.id}", effect=effect, to=(self._experiments, state.run.experiment))

    async def _report(
        self, leased: LeasedEffect, effect: Effect, snapshot: Snapshot, spent: Spent, acts: Mapping[str, int]
    ) -> None:
        """Tell the experiment first: once the run has ended, nobody looks at it any more."""
        state: State = snapshot.state
        finished = experiments.RunFinished(
            run=state.run.run,
            outcome="completed" if state.living else "died_out",
            version=snapshot.version,
            hash=snapshot.hash,
            spent=spent,
            acts=acts,
        )
        await leased.submit(finished, "experiment", effect=effect, to=(self._experiments, state.run.experiment))
        await leased.submit(commands.EndRun(effect_id=effect.id), effect=effect)


def _present(state: State) -> str:
    """Name the agent whose turn it is, in a run that wants one."""
    if state.next_agent is None:
        raise RuntimeError(f"{state.game_id} wants a turn of nobody")
    return state.next_agent


def _last_act(state: State) -> tuple[str, ...]:
    """Give the action of the turn just taken; nothing when it failed."""
    action = state.acts[-1].action
    return () if action is None else (action,)
