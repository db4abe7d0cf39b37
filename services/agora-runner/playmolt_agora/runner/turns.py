"""The worker of runs: turn after turn under one lease, until the run is over or pauses."""

import time
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace
from playmolt_core.decider import Wish
from playmolt_core.host.entry import Snapshot
from playmolt_core.host.errand import Errand
from playmolt_core.host.writes import Writes
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.log.port import EventLog
from playmolt_schemas.agora_plan import Spent
from playmolt_schemas.canonical import digest

from playmolt_agora import commands, lock, scenes
from playmolt_agora import experiment_commands as experiments
from playmolt_agora.reply import TurnReply
from playmolt_agora.rules import Agora
from playmolt_agora.runner.asking import Asking, Halt
from playmolt_agora.runner.standing import Standings
from playmolt_agora.runner.tally import acts_of, events_of, lost_call, newly_lost, spent_of, told_lost, with_call
from playmolt_agora.state import State

TELL_SECONDS: Final = 3.0
"""How often an experiment hears of the progress of a run."""


class Turns:
    """Fulfils the wishes of a run: `agent_turn`, and `report_run` at its end."""

    def __init__(
        self,
        rules: Agora,
        log: EventLog,
        asking: Asking,
        standings: Standings,
        experiments_writes: Writes,
        catalogue: Catalogue,
    ) -> None:
        self._catalogue = catalogue
        self._rules = rules
        self._log = log
        self._asking = asking
        self._standings = standings
        self._experiments = experiments_writes

    async def __call__(self, errand: Errand) -> None:
        """Take turns while there are any; what a lost worker had under way counts as a lost call of its turn."""
        snapshot = errand.snapshot
        before = await events_of(self._log, errand.stream)
        spent, lost = spent_of(before, snapshot.state.replayed), newly_lost(before, errand.attempt)
        earlier = told_lost(before, snapshot.state.turn, snapshot.state.next_agent)
        acts = acts_of(before)
        await self._compare(errand, snapshot.state)
        told = time.monotonic()
        while not errand.stopping and (wish := self._wish(snapshot)) is not None:
            if wish.kind == commands.WISH_REPORT:
                await self._report(errand, wish, snapshot, spent, acts)
                return
            if lost:
                spent = with_call(spent, await self._tell_loss(errand, wish, snapshot.state, lost))
            reply = await self._reply(snapshot.state, earlier + lost)
            if isinstance(reply, Halt):
                for call in reply.attempts:
                    spent = with_call(spent, call)
                await self._progress(errand, wish, snapshot.state, spent, acts, f"halt/{snapshot.version}")
                await self._pause(errand, wish, snapshot, reply)
                return
            await errand.tell(commands.TakeTurn(wish_id=wish.id, reply=reply), wish=wish)
            for call in reply.attempts:
                spent = with_call(spent, call)
            spent, lost, earlier = replace(spent, turns=spent.turns + 1), 0, 0
            snapshot = await errand.present()
            acts.update(_last_act(snapshot.state))
            if time.monotonic() - told > TELL_SECONDS:
                await self._progress(errand, wish, snapshot.state, spent, acts, "progress")
                told = time.monotonic()

    def _wish(self, snapshot: Snapshot) -> Wish | None:
        wishes = self._rules.wants(snapshot.state)
        return wishes[0] if wishes and wishes[0].kind != commands.WISH_RESUME else None

    async def _tell_loss(self, errand: Errand, wish: Wish, state: State, lost: int) -> dict[str, Any]:
        """Record the calls of a turn that went down with their workers; what they cost nobody knows."""
        call = lost_call(lost, errand.attempt)
        made = commands.RecordCall(turn=state.turn, agent=_present(state), call=call)
        await errand.tell(made, f"lost/{errand.attempt}", wish=wish)
        return call

    async def _reply(self, state: State, lost: int) -> TurnReply | Halt:
        """Ask for a turn, `lost` calls of which came to nothing."""
        standing = await self._standings.of(state.run.experiment)
        if standing.halted is not None:
            return Halt(code=standing.halted, detail=standing.detail)
        return await self._asking.turn(state.run, scenes.scene(state, _present(state)), standing.budget, lost)

    async def _pause(self, errand: Errand, wish: Wish, snapshot: Snapshot, halt: Halt) -> None:
        """Pause the run, visibly; a spent budget and a setting that a server rejects stop the experiment."""
        spec, step = snapshot.state.run, f"halt/{snapshot.version}"
        await self._record(errand, wish, snapshot.state, step, halt.attempts)
        whole = (self._experiments, spec.experiment)
        if halt.reached is not None:
            stop = experiments.StopForBudget(run=spec.run, reached=halt.reached)
            await errand.tell(stop, f"{step}/experiment", wish=wish, to=whole)
        elif halt.rejected:
            reason = f"{spec.run}: {halt.detail}"[:1000]
            await errand.tell(experiments.Stop(by="runner", reason=reason), f"{step}/experiment", wish=wish, to=whole)
        await errand.tell(commands.PauseRun(code=halt.code, detail=halt.detail), step, wish=wish)

    async def _record(
        self, errand: Errand, wish: Wish, state: State, step: str, calls: tuple[dict[str, Any], ...]
    ) -> None:
        agent = state.next_agent
        for number, call in enumerate(calls if agent else ()):
            made = commands.RecordCall(turn=state.turn, agent=str(agent), call=call)
            await errand.tell(made, f"{step}/call/{number}", wish=wish)

    async def _compare(self, errand: Errand, state: State) -> None:
        """Have the experiment record where this runner's texts and models are not those of the lock."""
        plan = await self._standings.plan(state.run.experiment)
        if plan is None:
            return
        compared = experiments.Compare(
            by="runner", pins=lock.pins(plan), models=lock.pinned_models(plan, self._catalogue)
        )
        step = f"compare/{digest([compared.pins, compared.models])}"
        await errand.tell(compared, step, to=(self._experiments, state.run.experiment))

    async def _progress(
        self, errand: Errand, wish: Wish, state: State, spent: Spent, acts: Mapping[str, int], step: str
    ) -> None:
        told = experiments.RunProgressed(run=state.run.run, spent=spent, acts=dict(acts))
        await errand.tell(told, f"{step}/{wish.id}", wish=wish, to=(self._experiments, state.run.experiment))

    async def _report(
        self, errand: Errand, wish: Wish, snapshot: Snapshot, spent: Spent, acts: Mapping[str, int]
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
        await errand.tell(finished, "experiment", wish=wish, to=(self._experiments, state.run.experiment))
        await errand.tell(commands.EndRun(wish_id=wish.id), wish=wish)


def _present(state: State) -> str:
    """Name the agent whose turn it is, in a run that wants one."""
    if state.next_agent is None:
        raise RuntimeError(f"{state.game_id} wants a turn of nobody")
    return state.next_agent


def _last_act(state: State) -> tuple[str, ...]:
    """Give the action of the turn just taken; nothing when it failed."""
    action = state.acts[-1].action
    return () if action is None else (action,)
