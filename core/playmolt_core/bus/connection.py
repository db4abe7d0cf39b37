"""One connection to NATS: bounded waits, its own inbox, errors logged."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec
import nats.errors
from nats.aio.client import Client

from playmolt_core.bus.nats_client import PING_SECONDS, PINGS_MISSED, RECONNECT_SECONDS, NatsClient
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.telemetry import log
from playmolt_core.settings import Settings

_log = log("bus")
_CONNECT_SECONDS: Final = 30.0
_OLDEST: Final = (2, 12)
_NEEDS: Final = "PlayMolt needs NATS 2.12 or newer (atomic batches) with JetStream"
_NOT_ENABLED: Final = (10039, 10076)
_BUFFER_BYTES = 8 * 1024 * 1024


class UnsuitableServer(BusUnavailable):
    """The server that answers cannot do what is needed; the message says what it is and what is needed."""


def answers_inbox(connection: Client, service: str) -> str:
    """A new reply subject of one service (`*`: of each its own), which is named before the last dot.

    Permissions on the server let only that service publish there.
    """
    prefix, _, unique = connection.new_inbox().rpartition(".")
    return f"{prefix}.{service}.{unique}"


async def open_connection(
    settings: Settings, name: str, on_change: Callable[[], None], *, connect_seconds: float = _CONNECT_SECONDS
) -> NatsClient:
    """Connect, waiting at most `connect_seconds` for a server. Later it reconnects by itself, without a limit.

    `on_change` is called when the connection is lost or back: messages may have been missed. Each user has its own
    inbox prefix, so that no user can read the replies to another.
    """

    client = NatsClient()
    last: list[Exception] = []

    async def lost() -> None:
        if not client.is_closed:
            _log.warning("nats_lost")
            on_change()

    async def back() -> None:
        _log.info("nats_back")
        on_change()

    async def failed(error: Exception) -> None:
        last[:] = [error]
        _log.warning("nats_error", error=type(error).__name__, detail=str(error)[:200])

    user = settings.nats_user
    try:
        async with asyncio.timeout(connect_seconds):
            await client.connect(
                [url.strip() for url in settings.nats_url.split(",")],
                name=name,
                tls=_authorities(settings),
                user=user or None,
                password=settings.nats_password or None,
                inbox_prefix=f"_INBOX.{user or name}".encode(),
                connect_timeout=2,
                reconnect_time_wait=RECONNECT_SECONDS,  # type: ignore[arg-type]  # seconds of a sleep: the annotation is too narrow
                max_reconnect_attempts=-1,
                ping_interval=PING_SECONDS,
                max_outstanding_pings=PINGS_MISSED,
                reconnect_to_server_handler=client.choose,
                pending_size=_BUFFER_BYTES,
                flush_timeout=2,
                disconnected_cb=lost,
                reconnected_cb=back,
                error_cb=failed,
            )
    except (TimeoutError, OSError, nats.errors.Error) as error:
        await client.give_up()
        where = ", ".join(urlsplit(url).netloc.rpartition("@")[2] for url in settings.nats_url.split(","))
        why = [*last, error][0]  # the last error says more than the timeout
        what = f"{type(why).__name__}: {why}".removesuffix(": ")
        raise BusUnavailable(f"no NATS server answered at {where or 'NATS_URL (empty)'}: {what}") from error
    try:
        _check_version(client)
    except UnsuitableServer:
        await client.close()
        raise
    return client


def _authorities(settings: Settings) -> ssl.SSLContext | None:
    if not settings.nats_ca:
        return None
    try:
        return ssl.create_default_context(cafile=settings.nats_ca)
    except OSError as error:
        raise BusUnavailable(f"PLAYMOLT_NATS_CA: {settings.nats_ca}: {error}") from error


def _server(client: Client) -> str:
    url = client.connected_url
    where = url.netloc.rpartition("@")[2] if url else "NATS_URL"
    version = client.connected_server_version
    return f"the NATS server at {where} runs {version.major}.{version.minor}.{version.patch}"


def _check_version(client: Client) -> None:
    version = client.connected_server_version
    if (version.major, version.minor) < _OLDEST:
        raise UnsuitableServer(f"{_server(client)}; {_NEEDS}")


async def check_jetstream(client: Client) -> None:
    """Raise UnsuitableServer if JetStream is certainly missing. A cluster without a leader may have it."""
    try:
        answer = await client.request("$JS.API.INFO", b"", timeout=2)
    except nats.errors.NoRespondersError:
        raise UnsuitableServer(f"{_server(client)} without JetStream; {_NEEDS}") from None
    except (nats.errors.Error, TimeoutError, OSError):
        return
    if msgspec.json.decode(answer.data, type=_Info).error.err_code in _NOT_ENABLED:
        raise UnsuitableServer(f"{_server(client)} without JetStream for this user; {_NEEDS}")


class _ApiError(msgspec.Struct, frozen=True):
    err_code: int = 0


class _Info(msgspec.Struct, frozen=True):
    error: _ApiError = _ApiError()


async def check_server(settings: Settings) -> None:
    """Raise UnsuitableServer or BusUnavailable if NATS_URL does not lead to a suitable server."""
    client = await open_connection(settings, "check", lambda: None)
    try:
        await check_jetstream(client)
    finally:
        await client.close()


async def fault_of(connection: NatsClient) -> str:
    """Why the server does not answer within two seconds, "" if it does: a connection to a hung server stays open."""
    try:
        await connection.flush(2)
    except (nats.errors.Error, TimeoutError, OSError):
        return connection.ended_by or "no answer"
    return "" if connection.is_connected else connection.ended_by or "not connected"


async def delivered(connection: Client, seconds: float) -> None:
    """Wait until the server has processed everything sent so far, at most twice `seconds`. Raises as `flush` does.

    The client writes the PING of a flush at once, ahead of what its flusher still buffers; only a second round trip
    follows that. After one, a message could still miss a subscription that counts as made.
    """
    for _ in range(2):
        await connection.flush(seconds)  # type: ignore[arg-type]  # seconds of a wait: the annotation is too narrow
