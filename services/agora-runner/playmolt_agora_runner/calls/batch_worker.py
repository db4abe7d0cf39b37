"""The worker of batches: it sends the next calls of all open runs together and returns the replies to the runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final

import msgspec
from playmolt_core.db.ledger import Amount
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.llm.attempts import recorded
from playmolt_core.llm.batch_calls import BatchCalls, BatchRefused, BatchUnavailable, WaitingCall
from playmolt_core.llm.durable_call import reported
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import ModelRequest
from playmolt_core.ops.telemetry import log
from playmolt_schemas.canonical import digest
from playmolt_schemas.instrument.usage import held_by, with_call
from playmolt_schemas.stored.agora.experiment import BatchSubmitted
from playmolt_schemas.stored.agora.plan import Spent

from playmolt_agora_runner.experiment import commands
from playmolt_agora_runner.experiment.effects import askers, batches_are_due
from playmolt_agora_runner.experiment.state import State

LOOK_SECONDS: Final = 0.5
POLL_SECONDS: Final = 5.0
POLL_MOST_SECONDS: Final = 60.0
_LONGER: Final = 1.5
QUIET_SECONDS: Final = 10.0
"""A batch does not wait for runs without a call for this long: they are paused or slow."""
ENDED_MOST: Final = timedelta(hours=25)
"""How long an ended experiment waits for its batches, which servers complete within a day."""
_log = log("batches")


class _PollInterval(msgspec.Struct):
    """The time of the next attempt, with growing intervals."""

    due: float
    wait: float = POLL_SECONDS

    def later(self, now: float) -> None:
        self.wait = min(self.wait * _LONGER, POLL_MOST_SECONDS)
        self.due = now + self.wait


class BatchWorker:
    """Fulfils `batches`. A model has one batch at a time, so that each holds the next call of every open run.

    Of an experiment that was ended, waiting calls are dropped and batches cancelled; what these cost is counted.
    """

    def __init__(
        self,
        calls: BatchCalls,
        models: Models,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._calls = calls
        self._models = models
        self._sleep = sleep
        self._clock = clock
        self._now = now
        self._rhythms: dict[str, _PollInterval] = {}

    async def __call__(self, leased: LeasedEffect[None, State]) -> None:
        while not leased.stopping:
            state = (await leased.present()).state
            if not batches_are_due(state):
                return
            for batch in state.batches:
                await self._poll(leased, state, batch)
            if state.ends:
                await self._calls.closed(leased.stream, None, {})
            await self._submit(leased, state)
            if state.ends and await self._is_settled(leased, state):
                await leased.submit(commands.CloseBatches())
                return
            await self._sleep(LOOK_SECONDS)

    async def _poll(self, leased: LeasedEffect[None, State], state: State, batch: BatchSubmitted) -> None:
        rhythm = self._rhythms.setdefault(batch.batch, _PollInterval(self._clock() + POLL_SECONDS))
        if self._clock() < rhythm.due:
            return
        answers = await self._answers(batch, cancel=state.ends)
        if answers is None and not self._is_late(state):
            rhythm.later(self._clock())
            return
        del self._rhythms[batch.batch]
        ended = commands.EndBatch(batch=batch.batch, done=len(answers or ()))
        if state.ends:
            spent = await self._spent(leased.stream, batch, answers)
            await leased.submit(msgspec.structs.replace(ended, spent=spent), f"counted/{batch.batch}")
            return
        await self._calls.answered(leased.stream, batch.batch, answers or {})
        await leased.submit(ended, f"ended/{batch.batch}")

    async def _is_settled(self, leased: LeasedEffect[None, State], state: State) -> bool:
        if (await leased.present()).state.batches:
            return False
        return self._is_late(state) or not await self._calls.waiting(leased.stream)

    def _is_late(self, state: State) -> bool:
        return bool(state.ends and state.since and self._now() - state.since > ENDED_MOST)

    async def _answers(self, batch: BatchSubmitted, *, cancel: bool) -> dict[str, str] | None:
        """None while replies are unavailable; a model that left the catalogue has none."""
        model = self._models.in_batches(batch.model)
        if model is None:
            return {}
        try:
            status = await model.batches.poll(batch.batch)
            if status.over:
                return await model.batches.answers(status)
            if cancel:
                await model.batches.cancel(batch.batch)
        except BatchUnavailable as error:
            _log.warning("batch_away", batch=batch.batch, detail=str(error))
        return None

    async def _spent(self, stream: str, batch: BatchSubmitted, answers: dict[str, str] | None) -> Spent:
        """What answers cost that no run takes. Without answers that is unknown, and accounts keep the worst case."""
        model = self._models.in_batches(batch.model)
        if answers is None or model is None:
            return Spent(calls=batch.calls, unknown_calls=batch.calls, cost=None)
        spent = Spent()
        used: dict[str, Amount | None] = {}
        for key, answer in answers.items():
            attempt, _ = model.read(ModelRequest(alias=batch.model, messages=()), answer)
            call = recorded(attempt).fields
            spent = with_call(spent, call)
            used[key] = None if held_by(call) else reported(attempt, Amount())
        await self._calls.closed(stream, batch.batch, used)
        return spent

    async def _submit(self, leased: LeasedEffect[None, State], state: State) -> None:
        """Put the calls of those who may ask now into batches with a name, and send these."""
        stream, asking, under_way = leased.stream, askers(state), {each.model: each for each in state.batches}
        waiting = await self._calls.waiting(stream)
        new = [call for call in waiting if not call.name and call.alias not in under_way and call.asker in asking]
        if new and _is_complete(new, state):
            for _, of_model in _by(new, lambda call: call.alias):
                keys = [call.key for call in of_model if call.asker == of_model[0].asker]
                await self._calls.named(stream, keys, digest([stream, *sorted(keys)])[:32])
            waiting = await self._calls.waiting(stream)
        for name, calls in _by((call for call in waiting if call.name), lambda call: call.name or ""):
            if (batch := under_way.get(calls[0].alias)) is not None:  # the process ended before its calls were assigned
                await self._calls.submitted(stream, name, batch.batch)
            else:
                await self._send(leased, name, calls, asks=calls[0].asker in asking, ends=state.ends)

    async def _send(
        self, leased: LeasedEffect[None, State], name: str, calls: list[WaitingCall], *, asks: bool, ends: bool
    ) -> None:
        """Submit a batch, or find the one submitted before a kill; only find it unless its calls may be asked now."""
        rhythm = self._rhythms.setdefault(name, _PollInterval(self._clock()))
        if self._clock() < rhythm.due:
            return
        model, batch = self._models.in_batches(calls[0].alias), None
        try:
            batch = await model.batches.found(name) if model else None
            if model is not None and batch is None and asks:
                batch = await model.batches.submit(name, calls)
        except BatchUnavailable as error:
            _log.warning("batch_away", name=name, detail=str(error))
            rhythm.later(self._clock())
            return
        except BatchRefused as refused:
            _log.warning("batch_refused", name=name, detail=str(refused))
        if batch is not None:
            submitted = BatchSubmitted(batch=batch, model=calls[0].alias, calls=len(calls))
            await leased.submit(commands.SubmitBatch(submitted=submitted), f"submitted/{batch}")
            await self._calls.submitted(leased.stream, name, batch)
        elif asks or ends:  # where no server knows it, an ended experiment keeps its worst case
            await self._calls.refused(leased.stream, name)
        else:
            rhythm.later(self._clock())
            return
        del self._rhythms[name]


def _is_complete(calls: list[WaitingCall], state: State) -> bool:
    going = sum(run.status != "finished" for run in state.runs)
    return 0 < going <= len(calls) or min(call.age for call in calls) >= QUIET_SECONDS


def _by(calls: Iterable[WaitingCall], of: Callable[[WaitingCall], str]) -> list[tuple[str, list[WaitingCall]]]:
    return [(name, [*group]) for name, group in groupby(sorted(calls, key=of), of)]
