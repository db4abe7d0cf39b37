"""Moves to another server when the current one is cut off: a server that lost its routes keeps its clients."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from playmolt_core.bus.nats_client import NatsClient
from playmolt_core.ops.metrics import Sample, label
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log

_log = log("moves")

Reason = Literal["no_engine", "no_leader", "alone"]
LastSeen = Callable[[], float | None]
"""When (`time.monotonic`) a required peer was last seen; None while none is missing."""

CALLER_SECONDS: Final = 6.0
SERVICE_SECONDS: Final = 7.0
"""A called service waits a second longer, so that a gateway and its engine do not both move past each other."""
LONGEST_PAUSE: Final = 60.0
_POLL_SECONDS: Final = 0.5


class ServerSwitcher:
    """Moves a connection to another server while a required peer stays silent; the pause between moves doubles.

    A silence is over when all peers were seen for twice the time of a silence. Two services that move past each other
    see each other for a moment; if that were enough, they could swap servers in step for ever.
    """

    def __init__(
        self,
        connection: NatsClient,
        seen: Mapping[Reason, LastSeen],
        silent: float,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._last_seen = seen
        self._silent = self._pause = silent
        self._clock = clock
        self._moved_at = self._silent_at = 0.0
        self._counts: Counter[Reason] = Counter(dict.fromkeys(seen, 0))
        self._task = asyncio.create_task(self._poll_forever())

    def samples(self) -> Iterator[Sample]:
        for reason, count in self._counts.items():
            yield Sample("playmolt_nats_moves_total", count, label("reason", reason))

    def close(self) -> None:
        self._task.cancel()

    async def _poll_forever(self) -> None:
        while True:
            await next_tick(_POLL_SECONDS)
            reason = self._cut_off()
            if reason:
                await self._move(reason)

    def _cut_off(self) -> Reason | None:
        now = self._clock()
        since = {reason: seen for reason, of in self._last_seen.items() if (seen := of()) is not None}
        silent = [reason for reason, seen in since.items() if now - seen >= self._silent]
        if not silent:
            if now - self._silent_at >= 2 * self._silent:
                self._pause = self._silent
            return None
        self._silent_at = now
        return silent[0] if now - self._moved_at >= self._pause else None

    async def _move(self, reason: Reason) -> None:
        if not self._connection.is_connected or len(self._connection.server_pool) < 2:
            return  # already reconnecting, or there is only one server
        self._moved_at = self._clock()
        self._pause = min(2 * self._pause * random.uniform(1, 1.2), LONGEST_PAUSE)  # noqa: S311 -- no secret
        self._counts[reason] += 1
        left = self._connection.connected_url
        _log.warning("nats_left", reason=reason, server=left.netloc.rpartition("@")[2] if left else "")
        await self._connection.force_reconnect()
