"""The bus as services see it. `bus.client` implements it over NATS, the only place that imports nats.

The gateway calls engines and watches games; the spectator asks for public messages and watches; both see one type.
"""

from asyncio import Future
from typing import Protocol

from playmolt_schemas.envelopes import Answer, Op
from playmolt_schemas.stored.values import NO_IDENTITY, Identity


class BusUnavailable(ConnectionError):
    """No engine answered before the deadline, or NATS is unavailable. Whether a command was applied is unknown; a
    repeat with the same command id is safe."""


class HeadedMessage(bytes):
    """A message with its headers: the W3C context of a traced request, the hash of a private game's invite."""

    trace = ""
    invite = ""


class Watch(Protocol):
    """A subscription to one game's public messages. It starts when `Bus.watch` returns: subscribe, then read."""

    async def next(self, timeout: float) -> bytes | None:
        """The next public message in order of arrival, or None after `timeout` seconds.

        A watch may miss or repeat messages (NATS may be unavailable, a relay may be replaced): compare the version in
        each, and fetch missing ones from the engine. `b""` means that messages may have been missed.
        """
        ...

    async def close(self) -> None: ...


class EngineCalls(Protocol):
    """Calls to game engines, packed per loop turn, retried until the deadline."""

    def submit(
        self,
        game: str,
        op: Op,
        target: str,
        body: bytes = b"{}",
        *,
        agent: str = "",
        name: str = "",
        identity: Identity = NO_IDENTITY,
        operator: bool = False,
        command_id: str = "",
        fingerprint: str = "",
        trace: str = "",
        invite: str = "",
        present: bool = False,
        deadline: float | None = None,
    ) -> "Future[Answer]":
        """Send a call. The future yields its answer, or BusUnavailable after `deadline` seconds (default: the setting).

        A call that changes something needs a `command_id` (32 hex digits), which makes every retry safe.
        """
        ...


class Engines(EngineCalls, Protocol):
    """Calls to game engines, and which of them are present."""

    def present(self) -> frozenset[str]:
        """The game types that an engine currently serves."""
        ...


class Bus(Engines, Protocol):
    async def watch(self, game: str, identifier: str) -> Watch: ...

    async def watch_lobby(self) -> Watch: ...

    def connected(self) -> bool: ...

    async def fault(self) -> str:
        """Why NATS does not answer now, "" if it does; bounded."""
        ...
