"""The worker of judges: asks about thoughts under one lease and reports each reply to the experiment."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TypeAlias

from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.instrument.laboratory import Thought, ThoughtsRequest, key_of
from playmolt_schemas.instrument.usage import is_call, lost_of
from playmolt_schemas.stored.agora.experiment import JudgeCoded
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.coding.judge_model import JudgeModel
from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.rules import Experiment
from playmolt_agora_runner.experiment.state import Judge, State

ThoughtsOf: TypeAlias = Callable[[ThoughtsRequest], Awaitable[Sequence[Thought]]]
"""The laboratory's answer about thoughts."""


class JudgeWorker:
    """Fulfils `judge`. Questions settled in the log are not repeated; a complete stored reply is reused."""

    def __init__(self, log: StreamReader, model: JudgeModel, thoughts: ThoughtsOf) -> None:
        self._log = log
        self._thoughts_of = thoughts
        self._model = model

    async def __call__(self, leased: LeasedEffect[str, State]) -> None:
        alias, state = leased.payload, leased.snapshot.state
        judge = state.judges[alias]
        if state.plan is None:
            raise LookupError(f"{state.game_id} has no plan")
        events = await self._events(leased.stream)
        coded = [each for each in events if isinstance(each, JudgeCoded) and each.judge == alias]
        settled = {_key(each) for each in coded if each.code is not None}
        wanted = iter([each for each in await self._thoughts(state, judge) if each.key not in settled])
        work = _Work(leased, state.plan, judge, self._model, coded)
        await _all(work.through(wanted) for _ in range(work.concurrent))
        await work.conclude()

    async def _thoughts(self, state: State, judge: Judge) -> Sequence[Thought]:
        """The thoughts to code, without forks, which repeat their parents' thoughts."""
        runs = tuple(run.run for run in state.runs if run.parent is None and run.status != "planned")
        return await self._thoughts_of(ThoughtsRequest(runs=runs, seed=state.seed, sample=judge.turns == "sample"))

    async def _events(self, experiment: str) -> list[Event]:
        stored = await self._log.facts(experiment)
        # Beside the loop: a fully coded experiment has as many events as turns.
        read = await asyncio.to_thread(lambda: list(facts_of(Experiment(), stored))) if stored else []
        return [event for event, _ in read]


async def _all(parts: Iterable[Coroutine[None, None, None]]) -> None:
    """Await all; the first failure cancels the others and is raised unchanged."""
    try:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(part)
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def _key(coded: JudgeCoded) -> str:
    return key_of(coded.run, coded.agent, coded.turn, coded.interview or "")


class _Work:
    def __init__(
        self,
        leased: LeasedEffect[str, State],
        plan: Plan,
        judge: Judge,
        model: JudgeModel,
        before: Iterable[JudgeCoded],
    ) -> None:
        self._leased = leased
        self._plan = plan
        self._judge = judge
        self._model = model
        self._logged: Counter[str] = Counter()
        """The requests in the log by the key of a thought."""
        for each in before:
            self._logged[_key(each)] += int(each.call.get("lost", is_call(each.call)))
        self._seed = leased.snapshot.state.seed
        self._halt: commands.EndJudge | None = None
        self._batch = leased.snapshot.state.asks_in_batches(judge)
        self.concurrent = model.concurrent(judge.judge.alias, batch=self._batch)

    async def through(self, wanted: Iterator[Thought]) -> None:
        """Code pending thoughts until none are left or the judge is stopped."""
        for thought in wanted:
            if not await self._goes_on():
                return
            await self._code(thought)

    async def conclude(self) -> None:
        """Report that coding is done, or why not; a process that is stopping leaves this to the next."""
        if self._halt is not None:
            await self._leased.submit(self._halt)
        elif await self._goes_on():
            await self._leased.submit(commands.EndJudge(number=self._judge.number, outcome="done"))

    async def _goes_on(self) -> bool:
        if self._halt is not None or self._leased.stopping:
            return False
        now = (await self._leased.present()).state.judges.get(self._judge.judge.alias)
        return now is not None and (now.number, now.status) == (self._judge.number, "running")

    async def _code(self, thought: Thought) -> None:
        experiment, judge, logged = self._leased.stream, self._judge, self._logged[thought.key]
        lost = await self._model.lost(experiment, judge, thought, logged)
        await self._record(lost, f"lost/{thought.key}/{logged}")
        logged += lost_of(each.call for each in lost)
        waits = self._goes_on if self._batch else None
        heard = await self._model.ask(experiment, judge, self._plan, self._seed, thought, logged, waits)
        await self._record(heard.coded, f"said/{thought.key}/{logged}")
        self._halt = self._halt or heard.halt

    async def _record(self, coded: tuple[JudgeCoded, ...], step: str) -> None:
        if coded:
            await self._leased.submit(commands.RecordJudgement(judge=self._judge.judge.alias, calls=coded), step)
