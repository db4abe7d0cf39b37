"""Run a gateway: connect, serve until the service has to stop, drain.

`--fd N` serves a listening socket inherited from the parent process, so that several gateways share one port.
"""

import asyncio
from contextlib import AsyncExitStack
from typing import Final

from playmolt_core.bus.client import connect
from playmolt_core.db.accounts import PgAccounts
from playmolt_core.db.content.packs import PgPacks
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.migrate import newest_needed
from playmolt_core.db.owners import PgOwners
from playmolt_core.db.pool import open_pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.db.reports import PgReports
from playmolt_core.db.shares import PgShares
from playmolt_core.db.sign_ins import PgSignIns
from playmolt_core.db.webhooks import PgWebhooks
from playmolt_core.effects.callbacks.client import CallbackClient, CheckedClient
from playmolt_core.effects.callbacks.seats import PgCallbacks
from playmolt_core.log.moderation import PgDecisions
from playmolt_core.log.ownership import PgOwnership
from playmolt_core.ops.connections import allow_many_files, bounds
from playmolt_core.ops.process import settle_garbage, stopping_process
from playmolt_core.ops.service import Start, run_service

from playmolt_gateway.callbacks.seat_scheduler import NamingClient, SeatScheduler
from playmolt_gateway.pages.assets import version_of_all
from playmolt_gateway.server.app import api_routes
from playmolt_gateway.server.app import build as build_app
from playmolt_gateway.server.serving import listening, serve
from playmolt_gateway.settings import GatewaySettings
from playmolt_gateway.webhooks.deliverer import NoticeDeliverer

POOL_SIZE: Final = 8


def preload() -> None:
    """Build the table of routes, and the files of the pages."""
    api_routes()
    version_of_all()


async def build(start: Start[GatewaySettings]) -> None:
    settings = start.settings
    preload()  # before the first request, which would wait for it on the loop
    sock = listening(settings, start.fd)
    async with AsyncExitStack() as stack:
        url, role = settings.database_url, settings.database_role
        pool = await open_pool(url, role=role, size=POOL_SIZE, writes=True, needs=newest_needed())
        stack.push_async_callback(pool.close)
        bus = await connect(settings, service=start.name)
        stack.push_async_callback(bus.close)
        accounts, callbacks, webhooks = PgAccounts(pool), PgCallbacks(pool), PgWebhooks(pool)
        gateway = build_app(
            settings,
            bus,
            pool,
            accounts,
            PgProjections(pool),
            PgLimits(pool),
            PgShares(pool),
            callbacks,
            PgPacks(pool),
            PgOwners(pool),
            PgOwnership(pool),
            PgSignIns(pool),
            PgReports(pool),
            PgDecisions(pool),
            webhooks,
        )
        await gateway.listen()
        caller = CallbackClient(private=bool(settings.callback_private))
        stack.push_async_callback(caller.close)
        naming = NamingClient(caller, gateway.services.owner_names)
        await stack.enter_async_context(SeatScheduler(bus, accounts, callbacks, naming).under_way())
        client = CheckedClient(private=bool(settings.callback_private))
        stack.push_async_callback(client.close)
        services = gateway.services
        deliverer = NoticeDeliverer(webhooks, client, services.webhook_secrets, services.webhook_put)
        await stack.enter_async_context(deliverer.under_way())
        settle_garbage()
        shards = stopping_process(asyncio.create_task(bus.same_shards()))
        await serve(gateway, settings, sock, bounds(settings, allow_many_files()), start.stopping)
        if shards.done():
            shards.result()
        shards.cancel()


if __name__ == "__main__":
    run_service("gateway", build, GatewaySettings, listens=True, all_tracers=False)
