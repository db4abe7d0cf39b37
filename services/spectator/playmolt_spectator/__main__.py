"""The spectator service: `python -m playmolt_spectator`. It sends feeds; it has no database, secrets or game rules.

`--fd N` serves a listening socket inherited from the parent process, so that several spectators share one port.
"""

import argparse
import asyncio
import signal
import sys

import uvloop
from playmolt_core.bus.client import connect
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops import tracing
from playmolt_core.ops.connections import allow_many_files, bounds
from playmolt_core.ops.process import listening, settle_garbage, stopping_process
from playmolt_core.ops.telemetry import configure, log
from playmolt_core.settings import InvalidSettings, Settings, from_environment

from playmolt_spectator.backfill import Backfill
from playmolt_spectator.http import Server
from playmolt_spectator.hub import Hub
from playmolt_spectator.lobby import Lobby
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.timeouts import Timeouts

_log = log("spectator")


async def run(settings: Settings, fd: int | None) -> None:
    """Serve until SIGTERM or SIGINT, then disconnect the watchers. Raises BusUnavailable."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    bus = await connect(settings, "spectator")
    timeouts, metrics = Timeouts(), Metrics()
    hub = Hub(bus, Backfill(bus, metrics, timeouts.connect), metrics, timeouts)
    lobby = Lobby(bus, metrics, timeouts)
    server = Server(bus, hub, lobby, metrics, timeouts, bounds(settings, allow_many_files()))
    background = [asyncio.create_task(lobby.run()), asyncio.create_task(hub.beat()), asyncio.create_task(stop.wait())]
    shards = stopping_process(asyncio.create_task(bus.same_shards()))
    port = await server.listen(listening(settings.host, settings.spectator_port, fd))
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="playmolt-spectator", description=__doc__)
    parser.add_argument("--fd", type=int, default=None, help="inherited listening socket")
    arguments = parser.parse_args()
    try:
        settings = from_environment()
    except InvalidSettings as error:
        sys.stderr.write(f"{error}\n")
        return 2
    configure("spectator", settings.log_level)
    tracing.configure("spectator")
    try:
        uvloop.run(run(settings, arguments.fd))
    except InvalidSettings as error:
        _log.error("other_shards", detail=str(error))
        return 2
    except BusUnavailable as error:
        _log.error("no_nats", detail=str(error))
        return 1
    finally:
        tracing.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
