"""Follows the operator's decisions: what is withheld, as the tables say (`playmolt_core.db.moderation`)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.moderation import HiddenText, ReplacedName
from playmolt_core.game.withholding import ShownName, Withheld
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log

POLL_SECONDS: Final = 1.0
_PAGE: Final = 1_000
_log = log("withholding")


class ModerationReader(Protocol):
    """Every method may raise LogUnavailable."""

    async def since(self, revision: int, limit: int) -> Sequence[HiddenText | ReplacedName]: ...


class WithheldReader:
    """What is withheld, as this process knows it. Readers that have seen a newer revision call `reach`."""

    def __init__(self, reader: ModerationReader | None = None, poll_seconds: float = POLL_SECONDS) -> None:
        """Without a reader nothing is ever withheld, as in a log without accounts."""
        self.withheld = Withheld()
        self._reader = reader
        self._poll_seconds = poll_seconds
        self._reading = asyncio.Lock()
        self.on_change: list[Callable[[], None]] = []

    async def reach(self, revision: int) -> None:
        """Return once everything up to a revision is known. Raises LogUnavailable."""
        if revision > self.withheld.revision:
            async with self._reading:
                if revision > self.withheld.revision:
                    await self._read()

    async def refresh(self) -> None:
        """Read what was decided meanwhile. Raises LogUnavailable."""
        async with self._reading:
            await self._read()

    async def run(self) -> None:
        """Refresh until cancelled: processes also show names in what they publish, without a read before it."""
        while True:
            try:
                await self.refresh()
            except LogUnavailable as error:
                _log.warning("withholding_waits", detail=str(error)[:300])
            await next_tick(self._poll_seconds)

    async def _read(self) -> None:
        if self._reader is None:
            return
        known = self.withheld
        while rows := await self._reader.since(known.revision, _PAGE):
            # Of the last revision in a full page some rows may be missing.
            until = rows[-1].revision - (len(rows) == _PAGE)
            for row in rows:
                if row.revision <= until:
                    self._apply(row)
            known.revision = until
            for note in self.on_change:
                note()
            if len(rows) < _PAGE:
                return

    def _apply(self, row: HiddenText | ReplacedName) -> None:
        if isinstance(row, HiddenText):
            self.withheld.hide(row.stream, row.version, row.agent_id, hidden=row.hidden)
        else:
            shown = ShownName(row.name, row.handle) if row.name and row.handle else None
            self.withheld.rename(row.subject, shown)
