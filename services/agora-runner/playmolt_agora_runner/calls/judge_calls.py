"""Judges' questions in batches."""

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from playmolt_core.llm.batch_calls import ASKED_PLAINLY, BatchCalls, BatchedCall
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ModelRequest
from playmolt_schemas.instrument.usage import Charge

from playmolt_agora_runner.calls.batched_calls import corrected, counted

if TYPE_CHECKING:
    from playmolt_core.llm.openai.model import OpenAIModel

AT_ONCE: Final = 500
"""Questions of a judge that wait for batches at the same time."""
LOOK_SECONDS: Final = 2.0


class JudgeCalls:
    """Queues questions for a batch of their experiment. Methods raise LogUnavailable."""

    def __init__(
        self, models: Models, calls: BatchCalls, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._models = models
        self._calls = calls
        self._sleep = sleep

    def model(self, alias: str) -> "OpenAIModel | None":
        """The model to call in batches; None if it is called directly."""
        return self._models.in_batches(alias)

    async def answer(
        self,
        key: str,
        experiment: str,
        model: "OpenAIModel",
        request: ModelRequest,
        worst: Charge,
        goes_on: Callable[[], Awaitable[bool]],
    ) -> BatchedCall | None:
        """Wait for the reply to a question; None once the judge stops. The question then stays pending, and
        the process that resumes the judge finds the reply. Raises DaySpent."""
        if await self._calls.found(key) is None:
            at = await counted(self._models, request)
            line, money = model.line(request), Decimal(worst.cost or 0)
            await self._calls.put(key, experiment, request.alias, line, worst.tokens, money, at)
        while True:
            call = await self._calls.found(key)
            if call is None or call.answered:
                return call or ASKED_PLAINLY
            if not await goes_on():
                return None
            await self._sleep(LOOK_SECONDS)

    async def asked_plainly(self, key: str, call: BatchedCall, request: ModelRequest) -> None:
        """A question has no reply from a batch: release its reservation."""
        if call.tokens:  # not yet settled: never refund twice
            await self._calls.settled(key)
            await corrected(self._models, request, call, None)

    async def took(self, call: BatchedCall, request: ModelRequest, attempt: Attempt) -> None:
        await corrected(self._models, request, call, attempt)

    async def drop(self, key: str) -> None:
        """Forget a question once its reply is stored."""
        await self._calls.drop(key)
