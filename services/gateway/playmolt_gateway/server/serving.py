"""Listen, serve and drain."""

import asyncio
import socket
from typing import Final

from playmolt_core.ops import process
from playmolt_core.ops.connections import Bounds, ConnectionLimiter
from playmolt_core.ops.http_protocol import serve_until
from playmolt_core.ops.telemetry import log
from playmolt_schemas.limits import READER_STALL_SECONDS

from playmolt_gateway.server.app import Gateway
from playmolt_gateway.server.fast_http import protocol_for
from playmolt_gateway.settings import GatewaySettings

_log = log("gateway")
DRAIN_SECONDS: Final = 3
"""Grace for requests in flight at shutdown, in addition to the deadline of engine calls."""


def listening(settings: GatewaySettings, fd: int | None) -> socket.socket:
    """The listening socket: the inherited one, or a new one on the configured address."""
    sock = process.listening(settings.host, settings.port, fd)
    # Accepted sockets inherit it: otherwise a client that stops reading could hold buffers for hours.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3 * READER_STALL_SECONDS * 1000)
    return sock


async def serve(
    gateway: Gateway, settings: GatewaySettings, sock: socket.socket, within: Bounds, stopping: asyncio.Event
) -> None:
    """Serve until the service has to stop; then answer long polls, end streams and finish the other requests."""
    protocol = protocol_for(gateway.action_route, ConnectionLimiter(within))
    grace = int(settings.deadline_seconds) + DRAIN_SECONDS
    _log.info("serving", address=str(sock.getsockname()))
    await serve_until(stopping, gateway, protocol, sock, grace_seconds=grace, closing=gateway.close)
    _log.info("stopped")
