"""Verifies the log and its projections; a long log uses several processes."""

import gc
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import uvloop
from msgspec.structs import replace
from playmolt_core.db.pool import Pool
from playmolt_core.log.erasing import erased_heads
from playmolt_core.log.moderation import moderation_breaks
from playmolt_core.log.ownership import ownership_breaks
from playmolt_core.log.port import Part
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.reading import places
from playmolt_core.log.verify import Verification, verified_by, verify, verify_streams
from playmolt_core.relay.checking import projection_breaks

from playmolt_cli.games import deciders
from playmolt_cli.log.reading import on_database, seal_keys
from playmolt_cli.log.scores import score_breaks

_WORTH_PROCESSES: Final = 20_000
"""Number of records from which several processes are faster."""
MOST_PROCESSES: Final = 3
"""Limited so that their connections fit into those reserved for superusers, when services use all others."""
PART_POOL: Final = 1
_COLLECT_EVERY: Final = 50_000

Progress = Callable[[int], None]


async def verified(
    log: PostgresLog,
    pool: Pool,
    data: Path | None = None,
    progress: Progress = lambda _: None,
    *,
    worth_processes: int = _WORTH_PROCESSES,
) -> Verification:
    """Verify log and projections; `data` may hold the keys of sealed streams. Raises LogUnavailable."""
    ends = await places(log)
    erased = await erased_heads(pool, ends)
    helped = sum(ends) >= worth_processes
    rules = deciders()
    for name in await log.stream_types():
        rules.get(name)  # imported once, before there are several processes
    part = partial(_verified_part, pool.url, data, erased.ends)
    found = await verify(
        log, rules, register=log.register, erased=erased, progress=progress,
        streams=verified_by(min(os.cpu_count() or 1, MOST_PROCESSES), part, progress) if helped else None,
    )  # fmt: skip
    tables = [
        *await projection_breaks(pool, log), *await score_breaks(pool),
        *await moderation_breaks(pool), *await ownership_breaks(pool),
    ]  # fmt: skip
    return replace(found, breaks=found.breaks + tables)


def _verified_part(
    url: str, data: Path | None, erased: Mapping[str, tuple[int, str]], part: Part, progress: Progress
) -> Verification:
    async def work(log: PostgresLog, _: Pool) -> Verification:
        return await verify_streams(log, deciders(), register=log.register, erased=erased, part=part, progress=progress)

    # What the command has imported outlives the part: no collection need look at it, or copy it from the parent.
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)
    return uvloop.run(on_database(url, seal_keys(data), work, PART_POOL))
