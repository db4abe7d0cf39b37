"""The bus as the spectator needs it. `playmolt_core.bus` implements it; tests use a twin."""

from asyncio import Future
from collections.abc import Iterable
from typing import Protocol

from playmolt_core.bus.port import Watch
from playmolt_core.ops.metrics import Sample
from playmolt_schemas.envelopes import Answer, Op


class GameWatch(Watch, Protocol):
    """A subscription to a game that knows when the game is closed."""

    @property
    def closed(self) -> bool:
        """Whether the closing message was received; `next` may not have returned it yet."""
        ...


class Source(Protocol):
    def submit(
        self, game: str, op: Op, target: str, body: bytes = b"{}", *, invite: str = "", deadline: float | None = None
    ) -> "Future[Answer]":
        """Ask an engine; the future raises BusUnavailable after `deadline` seconds."""
        ...

    async def watch(self, game: str, identifier: str) -> GameWatch: ...

    async def watch_lobby(self) -> Watch: ...

    async def watch_moderation(self) -> Watch: ...

    async def history(self, game: str, identifier: str, after: int, limit: int) -> list[bytes]:
        """A game's messages in NATS after a version, in order; they may start later or be missing."""
        ...

    def present(self) -> frozenset[str]:
        """The game types with a running engine."""
        ...

    def connected(self) -> bool: ...

    def samples(self) -> Iterable[Sample]:
        """Its metrics."""
        ...
