"""The spectator service: `python -m playmolt_spectator`. It sends feeds; it has no database, secrets or game rules.

`--fd N` serves a listening socket inherited from the parent process, so that several spectators share one port.
"""

import asyncio

from playmolt_core.bus.client import connect
from playmolt_core.ops.connections import allow_many_files, bounds
from playmolt_core.ops.process import listening, settle_garbage, stopping_process
from playmolt_core.ops.service import Start, run_service
from playmolt_core.ops.telemetry import log
from playmolt_core.settings import Settings

from playmolt_spectator.backfill import Backfill
from playmolt_spectator.http import Server
from playmolt_spectator.hub import Hub
from playmolt_spectator.lobby import Lobby
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts

_log = log("spectator")


async def build(start: Start) -> None:
    """Serve until the service has to stop, then disconnect the watchers. Raises BusUnavailable."""
    settings, stop = start.settings, start.stopping
    bus = await connect(settings, start.name)
    timeouts, metrics = Timeouts(), Metrics()
    hub = Hub(bus, Backfill(bus, metrics, timeouts.connect), metrics, timeouts)
    lobby = Lobby(bus, metrics, timeouts)
    server = Server(bus, hub, lobby, metrics, timeouts, bounds(settings, allow_many_files()))
    background = [
        asyncio.create_task(work) for work in (lobby.run(), hub.beat(), hub.follow_moderation(lobby), stop.wait())
    ]
    shards = stopping_process(asyncio.create_task(bus.same_shards()))
    port = await server.listen(listening(settings.host, settings.spectator_port, start.fd))
    settle_garbage()
    _log.info("ready", host=settings.host, port=port)
    done, _ = await asyncio.wait(background, return_when=asyncio.FIRST_COMPLETED)
    _log.info("stopping", watchers=len(server.watchers))
    await server.drain()
    for task in (*background, shards):
        task.cancel()
    await hub.close()
    await bus.close()
    if shards.done():
        shards.result()
    for task in done:
        task.result()  # background tasks end only by an error: let it end the process, so that it is restarted


if __name__ == "__main__":
    run_service("spectator", build, Settings, listens=True)
