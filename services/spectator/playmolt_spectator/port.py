"""What the spectator needs of the bus, so that a twin can stand in for it. `playmolt_core.bus` fits as it is."""

from asyncio import Future
from collections.abc import Iterable
from typing import Protocol

from playmolt_core.bus.port import Watch
from playmolt_core.ops.metrics import Sample
from playmolt_schemas.envelopes import Answer, Op


class GameWatch(Watch, Protocol):
    """A subscription to a game that also tells when nothing more comes."""

    @property
    def closed(self) -> bool:
        """Whether the game's closing message has come in; `next` may still have to give it."""
        ...


class Source(Protocol):
    def submit(
        self, game: str, op: Op, target: str, body: bytes = b"{}", *, invite: str = "", deadline: float | None = None
    ) -> "Future[Answer]":
        """Ask an engine; the future gives its answer or BusUnavailable after `deadline` seconds."""
        ...

    async def watch(self, game: str, identifier: str) -> GameWatch: ...

    async def watch_lobby(self) -> Watch: ...

    async def history(self, game: str, identifier: str, after: int, limit: int) -> list[bytes]:
        """What NATS holds of a game after a version, in order; it may hold nothing or start later."""
        ...

    def present(self) -> frozenset[str]:
        """The game types that some engine answers for now."""
        ...

    def connected(self) -> bool: ...

    def samples(self) -> Iterable[Sample]:
        """What it counts."""
        ...
