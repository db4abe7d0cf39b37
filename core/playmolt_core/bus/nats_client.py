"""The client of nats-py, with what it lacks beside servers that hang, lie about replies or lost their routes."""

import asyncio
import random
import time
from collections.abc import Mapping
from typing import Any, Final

from nats.aio.client import Client, Server
from nats.errors import SecureConnRequiredError, StaleConnectionError

PING_SECONDS: Final = 2
PINGS_MISSED: Final = 2
RECONNECT_SECONDS: Final = 0.25
_INBOXES = (b"_INBOX.", b"_R_.")  # the second leads to another account: the server has made it of the asker's
_DISCOVERY = b"$SRV."


class NatsClient(Client):
    """Knows no reply but to an inbox: one that led to where events live would let anybody publish there through us.

    Leaves a server that answers no pings, whatever waits to be written to it, and takes another one then.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked_at = time.monotonic()
        """When another service last asked who is there."""
        self._left = ""

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if subject.startswith(_DISCOVERY):
            self.asked_at = time.monotonic()
        if reply and not reply.startswith(_INBOXES):
            if subject.startswith(_DISCOVERY):
                return  # which is nothing without an answer
            reply = b""
        await super()._process_msg(sid, subject, reply, data, headers)

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        """Say nothing to a server without TLS where TLS is wanted: the library would go on in clear, password first."""
        wanted = "tls" in self.options or (self._current_server and self._current_server.uri.scheme == "tls")
        if wanted and initial_connection and not info.get("tls_required"):
            raise SecureConnRequiredError
        await super()._process_info(info, initial_connection)

    async def _ping_interval(self) -> None:
        """Ping past what waits: the library's waits for room that a server which hangs never makes."""
        while True:
            await asyncio.sleep(PING_SECONDS)
            if not self.is_connected or self._transport is None:
                continue
            self._pings_outstanding += 1
            if self._pings_outstanding > PINGS_MISSED:
                await self._process_op_err(StaleConnectionError())
                return
            self._pongs.append(asyncio.get_running_loop().create_future())
            self._transport.write(b"PING\r\n")

    async def _attempt_reconnect(self) -> None:
        if self._current_server is not None:
            self._left = self._current_server.uri.netloc
        self._abort()
        await super()._attempt_reconnect()

    async def _connect_to_server(self, s: Any) -> None:
        self._abort()  # of a server that took the connection and said nothing
        await super()._connect_to_server(s)

    def _abort(self) -> None:
        # Closed in good order it would wait until the server has read what lies in the socket.
        writer = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()

    def choose(self, servers: list[Server], _: Mapping[str, Any]) -> tuple[Server, float]:
        """Which server to try next, and after what pause: the one least tried; the one just left after the others."""

        def tries(one: Server) -> tuple[int, float]:
            return one.reconnects + (one.uri.netloc == self._left), random.random()  # noqa: S311 -- no secret

        chosen = min(servers, key=tries)
        return chosen, RECONNECT_SECONDS if chosen.reconnects else 0.0
