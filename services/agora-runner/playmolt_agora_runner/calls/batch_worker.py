"""The worker of batches: it sends the next calls of all open runs together and returns the replies to the runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.llm.batch_calls import BatchCalls, WaitingCall
from playmolt_core.llm.models import Models
from playmolt_core.ops.telemetry import log
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.experiment import BatchSubmitted

from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.effects import asks_in_batches, batches_are_due
from playmolt_agora_runner.experiment.state import State

if TYPE_CHECKING:
    from playmolt_core.llm.openai.model import OpenAIModel

LOOK_SECONDS: Final = 0.5
POLL_SECONDS: Final = 5.0
POLL_MOST_SECONDS: Final = 60.0
_LONGER: Final = 1.5
QUIET_SECONDS: Final = 10.0
"""A batch does not wait for runs without a call for this long: they are paused or slow."""
_log = log("batches")


class _PollInterval(msgspec.Struct):
    """The time of the next attempt, with growing intervals."""

    due: float
    wait: float = POLL_SECONDS

    def later(self, now: float) -> None:
        self.wait = min(self.wait * _LONGER, POLL_MOST_SECONDS)
        self.due = now + self.wait


class BatchWorker:
    """Fulfils `batches`. A model has one batch at a time, so that each holds the next call of every open run."""

    def __init__(
        self,
        calls: BatchCalls,
        models: Models,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self._models = models
        self._sleep = sleep
        self._clock = clock
        self._rhythms: dict[str, _PollInterval] = {}

    async def __call__(self, leased: LeasedEffect[None, State]) -> None:
        while not leased.stopping:
            state = (await leased.present()).state
            if not batches_are_due(state):
                return
            for batch in state.batches:
                await self._poll(leased, batch)
            if asks_in_batches(state):
                await self._submit(leased, state)
            await self._sleep(LOOK_SECONDS)

    async def _poll(self, leased: LeasedEffect[None, State], batch: BatchSubmitted) -> None:
        rhythm = self._rhythms.setdefault(batch.batch, _PollInterval(self._clock() + POLL_SECONDS))
        if self._clock() < rhythm.due:
            return
        answers = await self._answers(batch)
        if answers is None:
            rhythm.later(self._clock())
            return
        del self._rhythms[batch.batch]
        await self._calls.answered(leased.stream, batch.batch, answers)
        await leased.submit(commands.EndBatch(batch=batch.batch, done=len(answers)), f"ended/{batch.batch}")

    async def _answers(self, batch: BatchSubmitted) -> dict[str, str] | None:
        """None while replies are unavailable; a model that left the catalogue has none."""
        from playmolt_core.llm.openai.batches import BatchUnavailable  # noqa: PLC0415  # the client takes seconds to import

        model = self._models.in_batches(batch.model)
        if model is None:
            return {}
        try:
            status = await model.batches.poll(batch.batch)
            return await model.batches.answers(status) if status.over else None
        except BatchUnavailable as error:
            _log.warning("batch_away", batch=batch.batch, detail=str(error))
            return None

    async def _submit(self, leased: LeasedEffect[None, State], state: State) -> None:
        waiting = await self._calls.waiting(leased.stream)
        under_way = {each.model: each for each in state.batches}
        for name, calls in _named(waiting):
            if (batch := under_way.get(calls[0].alias)) is not None:  # the process ended before its calls were assigned
                await self._calls.submitted(leased.stream, name, batch.batch)
            else:
                await self._send(leased, name, calls, again=True)
        new = [call for call in waiting if call.name is None and call.alias not in under_way]
        if not new or not _is_complete(new, state):
            return
        for _, calls in _by(new, lambda call: call.alias):
            name = digest([leased.stream, *sorted(call.key for call in calls)])[:32]
            await self._calls.named(leased.stream, [call.key for call in calls], name)
            await self._send(leased, name, calls, again=False)

    async def _send(
        self, leased: LeasedEffect[None, State], name: str, calls: list[WaitingCall], *, again: bool
    ) -> None:
        """Submit a batch, or find the one submitted before a kill."""
        from playmolt_core.llm.openai.batches import BatchRefused, BatchUnavailable  # noqa: PLC0415  # as above

        rhythm = self._rhythms.setdefault(name, _PollInterval(self._clock()))
        model = self._models.in_batches(calls[0].alias)
        if self._clock() < rhythm.due:
            return
        try:
            batch = None if model is None else await _batch(model, name, calls, again=again)
        except BatchUnavailable as error:
            _log.warning("batch_away", name=name, detail=str(error))
            rhythm.later(self._clock())
            return
        except BatchRefused as refused:
            _log.warning("batch_refused", name=name, detail=str(refused))
            batch = None
        del self._rhythms[name]
        if batch is None:
            await self._calls.refused(leased.stream, name)
            return
        submitted = BatchSubmitted(batch=batch, model=calls[0].alias, calls=len(calls))
        await leased.submit(commands.SubmitBatch(submitted=submitted), f"submitted/{batch}")
        await self._calls.submitted(leased.stream, name, batch)


async def _batch(model: "OpenAIModel", name: str, calls: list[WaitingCall], *, again: bool) -> str:
    from playmolt_core.llm.openai.batches import BatchRequest  # noqa: PLC0415  # as above

    found = await model.batches.found(name) if again else None
    return found or await model.batches.submit(name, [BatchRequest(call.key, call.body) for call in calls])


def _is_complete(calls: list[WaitingCall], state: State) -> bool:
    going = sum(run.status != "finished" for run in state.runs)
    return 0 < going <= len(calls) or min(call.age for call in calls) >= QUIET_SECONDS


def _named(calls: Iterable[WaitingCall]) -> list[tuple[str, list[WaitingCall]]]:
    return _by((call for call in calls if call.name is not None), lambda call: call.name or "")


def _by(calls: Iterable[WaitingCall], of: Callable[[WaitingCall], str]) -> list[tuple[str, list[WaitingCall]]]:
    return [(name, [*group]) for name, group in groupby(sorted(calls, key=of), of)]
