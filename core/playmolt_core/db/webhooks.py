"""Webhooks of owners and their notices: relays store notices of events, gateways deliver them."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec
from playmolt_schemas.api import DeliveryStatus, WebhookEvent, WebhookOff
from playmolt_schemas.limits import (
    WEBHOOK_CALLS_AT_A_HOST,
    WEBHOOK_CALLS_IN_ALL,
    WEBHOOK_CALLS_OF_AN_OWNER,
    WEBHOOK_DELIVERIES_SHOWN,
    WEBHOOK_RETRIED_SECONDS,
    WEBHOOK_WAITING,
)

from playmolt_core.db.pool import Pool, queries

_SQL = queries("webhooks")
LEASE_SECONDS: Final = 30.0
"""How long a gateway may take to deliver a notice before another one does; longer than a call takes."""
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 4 * 3600.0
CallResult = Literal["delivered", "gone"]


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook to set. `origin` begins the links in its notices; `host` is the name and port that are called."""

    id: uuid.UUID
    url: str
    host: str
    origin: str
    events: Sequence[WebhookEvent]


class StoredWebhook(msgspec.Struct, frozen=True):
    """An owner's webhook. `off`: why it was switched off, at `off_at`."""

    url: str
    events: Sequence[WebhookEvent]
    created_at: datetime
    off: WebhookOff | None = None
    off_at: datetime | None = None


class Delivery(msgspec.Struct, frozen=True):
    """A notice in the list of its owner. `changed_at` is the time of its last call or of its end."""

    id: str
    type: WebhookEvent
    changed_at: datetime
    status: DeliveryStatus
    tries: int


class ClaimedNotice(msgspec.Struct, frozen=True):
    """A notice that this process has to deliver, for the `tries`-th time. `data` is JSON."""

    id: str
    tries: int
    type: str
    at: datetime
    data: str
    webhook: uuid.UUID
    url: str
    origin: str


class WebhookFigures(msgspec.Struct, frozen=True):
    """The notices that wait, and for how long the oldest is due at an address that works."""

    waiting: int
    lag_seconds: float


def pause_after(tries: int) -> float:
    """The seconds between a failed call and the next: 5, 20, 80 … up to four hours."""
    return min(FIRST_PAUSE * 4.0 ** min(tries - 1, 10), LONGEST_PAUSE)


class PgWebhooks:
    """Webhooks in Postgres, and the notices that this process has leased. All methods may raise LogUnavailable.

    `ahead` are seconds that are added to the database's clock, for tests.
    """

    def __init__(self, pool: Pool, ahead: Callable[[], float] = lambda: 0.0) -> None:
        self._pool = pool
        self._ahead = ahead
        self._holder = uuid.uuid4()

    async def put(self, owner_id: str, new: NewWebhook) -> bool:
        """Set the webhook of an owner and switch it on; False if the owner was erased. Waiting notices go to the
        new address at once."""
        values = (new.id, new.url, new.host, new.origin, list(new.events))
        return bool(await self._pool.value(_SQL["put"], owner_id, *values))

    async def webhook(self, owner_id: str) -> StoredWebhook | None:
        row = await self._pool.row(_SQL["webhook"], owner_id)
        return StoredWebhook(*row) if row else None

    async def end(self, owner_id: str) -> None:
        """Remove the webhook of an owner, with its notices."""
        await self._pool.fetch(_SQL["end"], owner_id)

    async def deliveries(self, owner_id: str) -> Sequence[Delivery]:
        """The newest notices of an owner, last changed first."""
        rows = await self._pool.fetch(_SQL["deliveries"], owner_id, WEBHOOK_DELIVERIES_SHOWN)
        return [Delivery(*row) for row in rows]

    async def any_on(self) -> bool:
        """Whether there is a webhook to deliver to."""
        ((exists,),) = await self._pool.poll(_SQL["any_on"])
        return bool(exists)

    async def claim(self, most: int) -> Sequence[ClaimedNotice]:
        """Lease at most this many due notices, within the bounds of calls over all processes."""
        bounds = (WEBHOOK_CALLS_OF_AN_OWNER, WEBHOOK_CALLS_AT_A_HOST, WEBHOOK_CALLS_IN_ALL)
        rows = await self._pool.poll(_SQL["claim"], self._holder, self._ahead(), LEASE_SECONDS, *bounds, most)
        return [ClaimedNotice(*row) for row in rows]

    async def record(self, notice: ClaimedNotice, result: CallResult | None) -> None:
        """Record how a call ended; None: it failed and is repeated until its day is over."""
        await self._pool.fetch(
            _SQL["record"], notice.id, self._holder, self._ahead(), result, pause_after(notice.tries),
            float(WEBHOOK_RETRIED_SECONDS),
        )  # fmt: skip

    async def figures(self) -> WebhookFigures:
        return WebhookFigures(*(await self._pool.poll(_SQL["figures"]))[0])


class NewNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice for an owner, or for that of an agent. `id` follows from its event, so that none is stored twice."""

    id: str
    agent_id: str | None = None
    owner_id: str | None = None
    type: WebhookEvent
    at: str
    data: Mapping[str, object]
    position: int
    place: int
    """Its place in the order of a batch."""


class LoggedEvent(msgspec.Struct, frozen=True):
    """An event that may cause notices. `data` is JSON."""

    position: int
    stream: str
    version: int
    type: str
    data: str
    at: datetime


class SeatEvent(msgspec.Struct, frozen=True):
    """An event about who takes part in a stream. `data` is JSON."""

    stream: str
    version: int
    type: str
    data: str


class PgNotices:
    """Events in, notices out, for a relay. All methods may raise LogUnavailable."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def noted(self) -> Mapping[int, int]:
        """Shard → the position up to which its events became notices; empty while no webhook wants any."""
        return dict(map(tuple, await self._pool.poll(_SQL["noted"])))

    async def events(self, shard: int, after: int, until: int, types: Sequence[str]) -> Sequence[LoggedEvent]:
        """The events of these types in a range of positions, in order."""
        return [LoggedEvent(*row) for row in await self._pool.fetch(_SQL["records"], shard, after, until, types)]

    async def seat_events(self, shard: int, streams: Sequence[str], types: Sequence[str]) -> Sequence[SeatEvent]:
        """The events of these types in streams, in order."""
        return [SeatEvent(*row) for row in await self._pool.fetch(_SQL["seats"], streams, shard, types)]

    async def note(self, shard: int, seen: int, until: int, notices: Sequence[NewNotice]) -> bool:
        """Store the notices of a shard's events from one position to another; False if another relay did."""
        document = msgspec.json.encode(notices).decode()
        return bool(await self._pool.value(_SQL["note"], shard, seen, until, document, WEBHOOK_WAITING))
