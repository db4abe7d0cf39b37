"""Lag of NATS and the projections behind the log."""

import asyncio
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.pool import Pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.log.postgres import log_places
from playmolt_core.settings import Settings
from playmolt_schemas.export.wire import Lag, ShardLag, lag_of
from playmolt_schemas.shards import Places, streams
from playmolt_schemas.subjects import EVENTS_STREAM, SPECTATE_STREAM

from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.options import read_settings

_SECONDS: Final = 10.0


def nats_settings(data: Path | None) -> Settings | None:
    """Settings to reach NATS: from the environment, or from the `up` on the data folder; None without either."""
    settings = read_settings()
    if settings.nats_url and data is None:
        return settings
    run = Folder(data or settings.data).run()
    if run is None:
        return None
    return replace(settings, nats_url=run.nats_url, nats_user=run.nats_user, nats_password=run.nats_password)


async def lag(pool: Pool, data: Path | None) -> Lag | None:
    """The lag; None if NATS is unreachable."""
    settings = nats_settings(data)
    if settings is None:
        return None
    held_to = await PgProjections(pool).places()
    try:
        async with asyncio.timeout(_SECONDS):
            ends = await log_places(pool)
            bus = await open_jetstream(settings, "log-stats", len(ends))
            try:
                events = await _ends(bus, EVENTS_STREAM, len(ends))
                spectate = await _ends(bus, SPECTATE_STREAM, len(ends))
            finally:
                await bus.close()
    except (BusUnavailable, TimeoutError):
        return None
    projected = held_to or (0,) * len(ends)
    places = enumerate(zip(ends, events, spectate, projected, strict=True))
    return lag_of([ShardLag(shard, *each) for shard, each in places])


async def _ends(bus: JetStream, name: str, shards: int) -> Places:
    states = [await bus.state(stream) for stream in streams(shards, (name,))]
    return tuple([state.last if state else 0 for state in states])
