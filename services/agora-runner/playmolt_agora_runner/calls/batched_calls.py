"""Calls that wait for a batch: the caller's side; and the store of prompts.

A run does so through `TurnModel`. Other callers, such as a judge, put a question under the key of its reply
together with its reservation, and read the reply with `OpenAIModel.read`. A question without a reply is asked again
outside batches.
"""

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from playmolt_core.llm.batch_calls import ASKED_PLAINLY, BatchCalls, BatchedCall
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ModelRequest
from playmolt_schemas.instrument.usage import Charge

from playmolt_agora_runner.calls.experiment_status import ExperimentStatuses, Status

if TYPE_CHECKING:
    from playmolt_core.llm.openai.model import OpenAIModel
from datetime import UTC, datetime


async def counted(models: Models, request: ModelRequest) -> datetime:
    """Count a question's worst case on the current day; returns when. Raises DaySpent."""
    day = models.batch_day(request.alias)
    return datetime.now(UTC) if day is None else await day.reserve(request)


async def corrected(models: Models, request: ModelRequest, call: BatchedCall, attempt: Attempt | None) -> None:
    """Replace a question's worst case by its usage in the batch; None: it has no reply."""
    if (day := models.batch_day(request.alias)) is not None:
        await day.settle(request, call.at, attempt)


LOOK_SECONDS: Final = 0.5


class BatchedCalls:
    """Queues questions for a batch of their experiment. Methods raise LogUnavailable."""

    def __init__(
        self,
        models: Models,
        calls: BatchCalls,
        statuses: ExperimentStatuses,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._models = models
        self._calls = calls
        self._statuses = statuses
        self._sleep = sleep

    async def model(self, experiment: str, alias: str) -> "OpenAIModel | None":
        """The model to call in batches; None if it is called directly."""
        batched = (await self._statuses.of(experiment)).batched
        return self._models.in_batches(alias) if batched else None

    async def known(self, key: str) -> bool:
        """Whether a question and its reservation are queued already."""
        return await self._calls.found(key) is not None

    async def put(self, key: str, experiment: str, model: "OpenAIModel", request: ModelRequest, held: Charge) -> None:
        """Queue a new question. Raises DaySpent."""
        at = await counted(self._models, request)
        line, money = model.line(request), Decimal(held.cost or 0)
        await self._calls.put(key, experiment, request.alias, line, held.tokens, money, at)

    async def answer(self, key: str, experiment: str) -> BatchedCall | Status:
        """Wait for a question's reply, however long it takes; or the experiment's status once it no longer runs."""
        while True:
            call = await self._calls.found(key)
            if call is None or call.answered:
                return call or ASKED_PLAINLY
            status = await self._statuses.of(experiment)
            if status.halted is not None:
                return status
            await self._sleep(LOOK_SECONDS)

    async def asked_plainly(self, key: str, call: BatchedCall, request: ModelRequest) -> None:
        """A question has no reply from a batch: release its reservation."""
        await self._calls.settled(key)
        if call.tokens:  # not yet settled: never refund twice
            await corrected(self._models, request, call, None)

    async def took(self, call: BatchedCall, request: ModelRequest, attempt: Attempt) -> None:
        await corrected(self._models, request, call, attempt)

    async def drop(self, key: str) -> None:
        await self._calls.drop(key)
