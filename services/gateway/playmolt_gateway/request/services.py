"""What every handler works with: the dependencies of the gateway, and what it makes of them."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from playmolt_core.settings import Settings

from playmolt_gateway.access.auth import Authenticator, Keys
from playmolt_gateway.access.invites import Invites
from playmolt_gateway.access.rates import Rates
from playmolt_gateway.http.addresses import PublicAddress
from playmolt_gateway.http.bodies import Bodies
from playmolt_gateway.http.metrics import Metrics
from playmolt_gateway.pages.rows import Rows
from playmolt_gateway.ports import Accounts, Callbacks, Database, GatewayBus, Limits, Packs, Projections, Shares
from playmolt_gateway.request.waits import Waits
from playmolt_gateway.uploads.pdf import PdfReaders

T = TypeVar("T")


class Services:
    def __init__(
        self,
        settings: Settings,
        bus: GatewayBus,
        database: Database,
        accounts: Accounts,
        projections: Projections,
        limits: Limits,
        shares: Shares,
        callbacks: Callbacks,
        packs: Packs,
    ) -> None:
        self.settings = settings
        self.callbacks = callbacks
        self.bus = bus
        self.database = database
        self.accounts = accounts
        self.projections = projections
        self.shares = shares
        self.packs = packs
        self.keys = Keys(accounts, bus)
        self.authenticator = Authenticator(self.keys, settings.operator_key, settings.house_key)
        self.rates = Rates(settings, limits)
        self.address = PublicAddress(settings)
        self.bodies = Bodies()
        self.invites = Invites(accounts)
        self.metrics = Metrics()
        self.waits = Waits(settings)
        self.pdfs = PdfReaders()
        self.rows = Rows(bus)

    async def soon(self, work: Awaitable[T]) -> T:
        """Await what the database is asked for, as long as a game's engine would be waited for; raises TimeoutError."""
        async with asyncio.timeout(self.settings.deadline_seconds):
            return await work
