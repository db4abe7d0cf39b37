"""What questions of batches take of the operator's day."""

from datetime import UTC, datetime

from playmolt_core.llm.batch_calls import BatchedCall
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ModelRequest


async def counted(models: Models, request: ModelRequest) -> datetime:
    """When a question began to wait, at its worst case of that day. Raises DaySpent."""
    day = models.batch_day(request.alias)
    return datetime.now(UTC) if day is None else await day.reserve(request)


async def corrected(models: Models, request: ModelRequest, call: BatchedCall, attempt: Attempt | None) -> None:
    """Count what a batch took for a question in place of its worst case; None: no batch answered it."""
    if (day := models.batch_day(request.alias)) is not None:
        await day.settle(request, call.at, attempt)
