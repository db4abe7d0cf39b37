"""Reading the whole log forward, a bounded chunk at a time."""

from collections.abc import AsyncIterator, Sequence

from playmolt_core.log.port import EventLog, PublicRecord

CHUNK = 2_000


async def chunks(log: EventLog, after: int = 0, size: int = CHUNK) -> AsyncIterator[Sequence[PublicRecord]]:
    """Everything after a position that was committed when the reading began, in order; never an empty chunk."""
    last = await log.position()
    while after < last:
        chunk = await log.forward(after, min(size, last - after))
        if not chunk:
            return
        yield chunk
        after = chunk[-1].record.position
