"""The dependencies of request handlers."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

import msgspec
from playmolt_core.db.accounts import Agent
from playmolt_core.db.projections import FinishedPage
from playmolt_schemas.agora.plan import EXAMINE_WAIT_SECONDS
from playmolt_schemas.limits import HEARTBEAT_SECONDS, READER_STALL_SECONDS, WAIT_SECONDS

from playmolt_gateway.access.auth import CACHED_SECONDS, Authenticator, KeyCache
from playmolt_gateway.access.invites import InviteIssuer, WebhookSecrets
from playmolt_gateway.access.owners import AddressGroups, OwnerNames
from playmolt_gateway.access.rates import RateLimiter
from playmolt_gateway.http.addresses import PublicAddress
from playmolt_gateway.http.bodies import BodyReader
from playmolt_gateway.http.compression import JsonCompressor
from playmolt_gateway.http.metrics import Metrics
from playmolt_gateway.name_blocklist import NameBlocklist
from playmolt_gateway.pages.atom import Kept
from playmolt_gateway.pages.game_pictures import GamePictures, PictureDrawer
from playmolt_gateway.pages.rows import RowLoader
from playmolt_gateway.pictures.picture_store import PictureStore
from playmolt_gateway.pictures.png import PngProcess
from playmolt_gateway.ports import (
    Accounts,
    Callbacks,
    Database,
    GatewayBus,
    Limits,
    Moderation,
    Owners,
    Ownership,
    Packs,
    Projections,
    Reports,
    Shares,
    SignIns,
    Webhooks,
)
from playmolt_gateway.request.fair_slots import CAPACITIES, LONG_BODIES, FairSlots
from playmolt_gateway.request.waits import Waits
from playmolt_gateway.settings import GatewaySettings
from playmolt_gateway.signin.sign_in import open_sign_in
from playmolt_gateway.uploads.reader_process import FileReader

T = TypeVar("T")


class HandlerTimeouts(msgspec.Struct, kw_only=True):
    """Intervals and timeouts of handlers, in seconds."""

    heartbeat: float = HEARTBEAT_SECONDS
    stall: float = READER_STALL_SECONDS
    """A client that reads nothing for this long is disconnected."""
    wait: float = WAIT_SECONDS
    """The longest long poll; a request that asks for more gets this."""
    turn: float = 1.0
    """A game that starts while an agent waits for its turn is found within this time."""
    slow: float = 20.0
    """How long a call waits for a model or the chain before it answers 202 (shapes.md, phases)."""
    poll: float = 2.0
    """How often a waiting call reads its session, which also changes without a message."""
    plan: float = EXAMINE_WAIT_SECONDS
    """How long a call waits for the examination of a plan before it answers 202."""
    look: float = 0.2
    """How often it looks for the result."""
    key_cache: float = CACHED_SECONDS
    """After this time no gateway has a replaced key in its cache."""


class Services:
    def __init__(
        self,
        settings: GatewaySettings,
        bus: GatewayBus,
        database: Database,
        accounts: Accounts,
        projections: Projections,
        limits: Limits,
        shares: Shares,
        callbacks: Callbacks,
        packs: Packs,
        owners: Owners,
        ownership: Ownership,
        sign_ins: SignIns,
        reports: Reports,
        moderation: Moderation,
        webhooks: Webhooks,
    ) -> None:
        self.settings = settings
        self.callbacks = callbacks
        self.webhooks = webhooks
        self.bus = bus
        self.database = database
        self.accounts = accounts
        self.projections = projections
        self.shares = shares
        self.packs = packs
        self.owners = owners
        self.ownership = ownership
        self.reports = reports
        self.moderation = moderation
        self.keys = KeyCache(accounts, bus, moderation)
        self.authenticator = Authenticator(self.keys, settings.operator_key, settings.house_key)
        self.rates = RateLimiter(settings, limits)
        self.owner_names = OwnerNames(owners)
        self.address_groups = AddressGroups(accounts, self.rates)
        self.address = PublicAddress(settings)
        self.bodies = BodyReader()
        self.json_compressor = JsonCompressor()
        self.invites = InviteIssuer(accounts)
        self.blocklist = NameBlocklist(settings.name_blocklist)
        self.sign_in = open_sign_in(settings, sign_ins, accounts, self.blocklist.blocks)
        self.webhook_secrets = WebhookSecrets(accounts)
        self.webhook_put = asyncio.Event()
        """Set after a webhook was set: its notices may be due now."""
        self.metrics = Metrics()
        self.waits = Waits(settings)
        self.slots = {load: FairSlots(capacity) for load, capacity in CAPACITIES.items()}
        self.long_bodies = FairSlots(LONG_BODIES)
        self.file_reader = FileReader()
        self.rows = RowLoader(bus)
        self.png_process = PngProcess()
        self.picture_store = PictureStore(settings.pictures, settings.pictures_bytes)
        self.drawer = PictureDrawer(self.picture_store, self.png_process)
        self.game_pictures = GamePictures(bus, self.drawer)
        self.feeds = Kept[bytes]()
        self.finished = Kept[Sequence[FinishedPage]]()
        self.readiness: dict[bool, asyncio.Task[tuple[int, bytes]]] = {}
        """The running checks of readiness: of the whole platform, and of this gateway's own connections."""
        self.timeouts = HandlerTimeouts()

    def admits_to_public_games(self, agent: Agent) -> bool:
        """Whether an agent may join public games: people only where the operator allows it."""
        return self.settings.people or agent.kind != "person"

    async def within_deadline(self, work: Awaitable[T]) -> T:
        """Await database work under the deadline of engine calls; raises TimeoutError."""
        async with asyncio.timeout(self.settings.deadline_seconds):
            return await work
