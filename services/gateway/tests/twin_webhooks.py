"""An in-memory twin of webhooks and their notices. Limits and leases are tested only in Postgres."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec.structs import replace
from playmolt_core.db.webhooks import CallResult, ClaimedNotice, Delivery, NewWebhook, StoredWebhook, WebhookFigures

AT = datetime(2026, 1, 2, 12, tzinfo=UTC)


class Store(Protocol):
    def check(self) -> None: ...


class TwinWebhooks:
    """`due` has the notices to claim; `results` has the recorded results, in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.stored: dict[str, tuple[NewWebhook, StoredWebhook]] = {}
        self.rows: defaultdict[str, list[Delivery]] = defaultdict(list)
        self.due: list[ClaimedNotice] = []
        self.results: list[tuple[str, CallResult | None]] = []
        self.recorded = asyncio.Event()

    async def put(self, owner_id: str, new: NewWebhook) -> bool:
        self._store.check()
        self.stored[owner_id] = new, StoredWebhook(new.url, new.events, AT)
        return True

    async def webhook(self, owner_id: str) -> StoredWebhook | None:
        self._store.check()
        return self.stored[owner_id][1] if owner_id in self.stored else None

    async def end(self, owner_id: str) -> None:
        self._store.check()
        self.stored.pop(owner_id, None)

    async def deliveries(self, owner_id: str) -> Sequence[Delivery]:
        self._store.check()
        return self.rows[owner_id]

    def switch_off(self, owner_id: str) -> None:
        new, found = self.stored[owner_id]
        self.stored[owner_id] = new, replace(found, off="gone", off_at=AT)

    def notify(self, url: str, number: int = 0) -> ClaimedNotice:
        """Add a due notice for an address."""
        data = '{"agent_id":"agent-1","game_id":"ox-1","gameType":"ox","phase":"switch","turn_id":"t"}'
        notice = ClaimedNotice(f"msg_{number}", 1, "turn", AT, data, uuid.UUID(int=1), url, "https://arena.example")
        self.due.append(notice)
        return notice

    async def any_on(self) -> bool:
        self._store.check()
        return bool(self.due)

    async def claim(self, most: int) -> Sequence[ClaimedNotice]:
        self._store.check()
        claimed, self.due = self.due[:most], self.due[most:]
        return claimed

    async def record(self, notice: ClaimedNotice, result: CallResult | None) -> None:
        self._store.check()
        self.results.append((notice.id, result))
        self.recorded.set()

    async def figures(self) -> WebhookFigures:
        return WebhookFigures(len(self.due), 0.0)
