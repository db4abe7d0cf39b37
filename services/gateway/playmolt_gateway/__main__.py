"""Run a gateway: read the settings, connect, serve until SIGTERM, drain.

`--fd N` serves a listening socket inherited from the parent process, so that several gateways share one port.
"""

import argparse
import asyncio
import signal
import socket
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager
from typing import Final

import uvicorn
import uvloop
from playmolt_core.bus.client import connect
from playmolt_core.db.accounts import PgAccounts
from playmolt_core.db.limits import PgLimits
from playmolt_core.db.pool import open_pool
from playmolt_core.db.projections import PgProjections
from playmolt_core.settings import InvalidSettings, Settings, from_environment
from playmolt_core.telemetry import configure, log
from playmolt_schemas.limits import READER_STALL_SECONDS

from playmolt_gateway.app import Gateway, build

_log = log("gateway")
BACKLOG: Final = 4096
KEEP_ALIVE_SECONDS: Final = 75
POOL_SIZE: Final = 8
DRAIN_SECONDS: Final = 3
"""Beyond the deadline of calls to engines: what a stop grants to requests under way."""


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling, which would end the process before the connections are closed."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave signals to the main program."""
        yield


def listening(settings: Settings, fd: int | None) -> socket.socket:
    """Give the listening socket: the inherited one, or a new one on the configured address."""
    if fd is None:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        sock = socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    else:
        sock = socket.socket(fileno=fd)
    sock.setblocking(False)
    # Connections inherit it: a client that stops reading cannot hold a broken stream's buffers for hours.
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 3 * READER_STALL_SECONDS * 1000)
    return sock


async def serve(gateway: Gateway, settings: Settings, sock: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT; then let waiting requests answer, streams end, and the rest finish."""
    config = uvicorn.Config(
        gateway, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False, server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=int(settings.deadline_seconds) + DRAIN_SECONDS,
    )  # fmt: skip
    server = _Server(config)

    def stop() -> None:
        gateway.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    _log.info("serving", address=str(sock.getsockname()))
    try:
        await server.serve(sockets=[sock])
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
    _log.info("stopped")


async def run(settings: Settings, fd: int | None) -> None:
    """Wire the gateway and serve."""
    sock = listening(settings, fd)
    async with AsyncExitStack() as stack:
        pool = await open_pool(settings.database_url, role=settings.database_role, size=POOL_SIZE)
        stack.push_async_callback(pool.close)
        bus = await connect(settings, service="gateway")
        stack.push_async_callback(bus.close)
        gateway = build(settings, bus, pool, PgAccounts(pool), PgProjections(pool), PgLimits(pool))
        await gateway.listen()
        await serve(gateway, settings, sock)


def main() -> None:
    """Run from the command line; exit code 2 for bad settings, 1 when NATS or Postgres cannot be reached."""
    parser = argparse.ArgumentParser(prog="playmolt-gateway", description=__doc__)
    parser.add_argument("--fd", type=int, default=None, help="inherited listening socket")
    arguments = parser.parse_args()
    try:
        settings = from_environment()
    except InvalidSettings as error:
        sys.exit(f"settings: {error}")
    configure("gateway", settings.log_level)
    try:
        uvloop.run(run(settings, arguments.fd))
    except (ConnectionError, TimeoutError) as error:
        _log.error("cannot_start", error=str(error)[:500])
        sys.exit(1)


if __name__ == "__main__":
    main()
