"""Run a gateway: read the settings, connect, serve until SIGTERM, drain.

`--fd N` serves a listening socket inherited from the parent process, so that several gateways share one port.
"""

import argparse
import asyncio
import sys
from contextlib import AsyncExitStack
from typing import Final

import uvloop
from playmolt_core.bus.client import connect
from playmolt_core.db.accounts import PgAccounts
from playmolt_core.db.content.packs import PgPacks
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.pool import open_pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.db.shares import PgShares
from playmolt_core.effects.callbacks.client import CallbackClient
from playmolt_core.effects.callbacks.seats import PgCallbacks
from playmolt_core.ops import tracing
from playmolt_core.ops.connections import allow_many_files, bounds
from playmolt_core.ops.process import settle_garbage, stopping_process
from playmolt_core.ops.telemetry import configure, log
from playmolt_core.settings import InvalidSettings, Settings, from_environment

from playmolt_gateway.callbacks.seat_scheduler import SeatScheduler
from playmolt_gateway.server.app import api_routes, build
from playmolt_gateway.server.serving import listening, serve

_log = log("gateway")
POOL_SIZE: Final = 8


def preload() -> None:
    """Build the table of routes."""
    api_routes()


async def run(settings: Settings, fd: int | None) -> None:
    sock = listening(settings, fd)
    async with AsyncExitStack() as stack:
        url, role = settings.database_url, settings.database_role
        pool = await open_pool(url, role=role, size=POOL_SIZE, writes=True, needs=newest_needed())
        stack.push_async_callback(pool.close)
        bus = await connect(settings, service="gateway")
        stack.push_async_callback(bus.close)
        accounts, callbacks = PgAccounts(pool), PgCallbacks(pool)
        gateway = build(
            settings, bus, pool, accounts, PgProjections(pool), PgLimits(pool), PgShares(pool), callbacks, PgPacks(pool)
        )
        await gateway.listen()
        caller = CallbackClient(private=bool(settings.callback_private))
        stack.push_async_callback(caller.close)
        await stack.enter_async_context(SeatScheduler(bus, accounts, callbacks, caller).under_way())
        settle_garbage()
        shards = stopping_process(asyncio.create_task(bus.same_shards()))
        await serve(gateway, settings, sock, bounds(settings, allow_many_files()))
        if shards.done():
            shards.result()
        shards.cancel()


def main() -> int:
    """The exit status: 2 for bad settings, 1 when NATS cannot be reached."""
    parser = argparse.ArgumentParser(prog="playmolt-gateway", description=__doc__)
    parser.add_argument("--fd", type=int, default=None, help="inherited listening socket")
    arguments = parser.parse_args()
    try:
        settings = from_environment()
    except InvalidSettings as error:
        sys.stderr.write(f"{error}\n")
        return 2
    configure("gateway", settings.log_level)
    tracing.configure("gateway", all_tracers=False)
    try:
        uvloop.run(run(settings, arguments.fd))
    except InvalidSettings as error:
        _log.error("other_shards", detail=str(error))
        return 2
    except (ConnectionError, TimeoutError) as error:
        _log.error("cannot_start", detail=str(error)[:500])
        return 1
    finally:
        tracing.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
