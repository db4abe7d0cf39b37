"""The register of archived streams: what was taken out of the log, and where it is."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from playmolt_core.db.pool import Pool
from playmolt_core.db.queries import queries

_SQL = queries("archive")
Gap = tuple[int, int]
"""First and last of the positions that are not there."""


class Gone(msgspec.Struct, frozen=True):
    """An archived stream: where it ended, and the file that holds its records."""

    version: int
    hash: str
    file: str


class Totals(msgspec.Struct, frozen=True):
    """How many streams were archived, with how many records."""

    streams: int
    events: int


class Register:
    """Every method raises LogUnavailable when the database is away."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def of(self, streams: Iterable[str]) -> Mapping[str, Gone]:
        rows = await self._pool.fetch(_SQL["gone"], list(streams))
        return {stream: Gone(version, end.hex(), file) for stream, version, end, file in rows}

    async def unaccounted(self, gaps: Sequence[Gap], shard: int = 0) -> Sequence[Gap]:
        """What is left of a shard's gaps without the positions of archived records."""
        if not gaps:
            return ()
        ranges = ",".join(f"[{first},{last}]" for first, last in gaps)
        rows = await self._pool.fetch(_SQL["unaccounted"], f"{{{ranges}}}", shard)
        return [(first, last) for first, last in rows]

    async def totals(self) -> Totals:
        found = await self._pool.row(_SQL["totals"])
        return Totals(*found) if found else Totals(0, 0)
