"""Long work for a caller who looks for its answer later, one job a stream, kept outside the log until it is done."""

from typing import Final

import msgspec

from playmolt_core.db.pool import Pool, queries

_SQL = queries("jobs")
HELD_SECONDS: Final = 20.0
"""A job whose process was killed is taken by another one after this time."""
OPEN_MOST: Final = 32
AGAIN_SECONDS: Final = 10.0
"""After this time a repeated request of a job that stored nothing is worked on again: the circumstances may differ."""


class Job(msgspec.Struct, frozen=True):
    """A job as stored; `status` is None until it is done. `digest` identifies its request."""

    digest: bytes
    status: int | None
    answer: bytes | None


class PgJobs:
    """Every method raises LogUnavailable. Statuses are those of HTTP; a job with status 201 is kept forever."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, stream: str, digest: bytes, request: bytes) -> Job | None:
        """The job of a stream, a new one if there is none; None if too many jobs wait."""
        await self._pool.fetch(_SQL["sweep"])
        await self._pool.fetch(_SQL["put"], stream, digest, request, OPEN_MOST, AGAIN_SECONDS)
        return await self.found(stream)

    async def found(self, stream: str) -> Job | None:
        row = await self._pool.row(_SQL["found"], stream)
        return None if row is None else Job(*row)

    async def take(self, holder: str) -> tuple[str, bytes] | None:
        """Take the job that waits longest: its stream and request. It must be held again within `HELD_SECONDS`."""
        rows = await self._pool.poll(_SQL["take"], holder, HELD_SECONDS)
        return (rows[0][0], rows[0][1]) if rows else None

    async def hold(self, stream: str, holder: str) -> bool:
        """Hold a job longer; False if another process has taken it."""
        return await self._pool.row(_SQL["hold"], stream, holder, HELD_SECONDS) is not None

    async def give_back(self, stream: str, holder: str) -> None:
        """Let another process take a job at once."""
        await self._pool.fetch(_SQL["give_back"], stream, holder)

    async def finish(self, stream: str, holder: str, status: int, answer: bytes) -> None:
        await self._pool.fetch(_SQL["finish"], stream, holder, status, answer)
