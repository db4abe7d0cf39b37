"""One connection to NATS: bounded waits, own inbox, errors counted and told."""

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client

from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.telemetry import log
from playmolt_core.settings import Settings

_log = log("bus")
CONNECT_SECONDS = 30
_INBOXES = (b"_INBOX.", b"_R_.")  # the second leads to another account: the server has made it of the asker's
_DISCOVERY = b"$SRV."
_BUFFER_BYTES = 8 * 1024 * 1024


class _Client(Client):
    """Knows no reply but to an inbox: one that led to where events live would let anybody publish there through us."""

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if reply and not reply.startswith(_INBOXES):
            if subject.startswith(_DISCOVERY):
                return  # which is nothing without an answer
            reply = b""
        await super()._process_msg(sid, subject, reply, data, headers)


def answers_inbox(connection: Client, service: str) -> str:
    """A new subject on which one service alone may answer (`*`: each on its own): its name stands before the last dot.

    The rights on the server see to it.
    """
    prefix, _, unique = connection.new_inbox().rpartition(".")
    return f"{prefix}.{service}.{unique}"


async def open_connection(settings: Settings, name: str, on_change: Callable[[], None]) -> Client:
    """Connect, waiting at most 30 seconds for a server; afterwards it reconnects by itself for ever.

    `on_change` is called when the connection is lost or back: messages may have been missed. Each user has an inbox
    prefix of its own, so that nobody can listen to another's replies.
    """

    client = _Client()

    async def lost() -> None:
        if not client.is_closed:
            _log.warning("nats_lost")
            on_change()

    async def back() -> None:
        _log.info("nats_back")
        on_change()

    async def failed(error: Exception) -> None:
        _log.warning("nats_error", error=type(error).__name__, detail=str(error)[:200])

    user = settings.nats_user
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await client.connect(
                [url.strip() for url in settings.nats_url.split(",")],
                name=name,
                user=user or None,
                password=settings.nats_password or None,
                inbox_prefix=f"_INBOX.{user or name}".encode(),
                connect_timeout=2,
                reconnect_time_wait=0.25,  # type: ignore[arg-type]  # seconds of a sleep: the annotation is too narrow
                max_reconnect_attempts=-1,
                ping_interval=5,
                max_outstanding_pings=2,
                pending_size=_BUFFER_BYTES,
                flush_timeout=2,
                disconnected_cb=lost,
                reconnected_cb=back,
                error_cb=failed,
            )
            return client
    except (TimeoutError, OSError, nats.errors.Error) as error:
        where = ", ".join(urlsplit(url).netloc.rpartition("@")[2] for url in settings.nats_url.split(","))
        raise BusUnavailable(f"no NATS server answered at {where or 'NATS_URL (empty)'}: {error!r}") from error


async def responds(connection: Client) -> bool:
    """Whether the server answers now, within two seconds: a connection to one that hangs stands for a long time."""
    try:
        await connection.flush(2)
    except (nats.errors.Error, TimeoutError, OSError):
        return False
    return bool(connection.is_connected)


async def delivered(connection: Client, seconds: float) -> None:
    """Wait until the server has taken everything sent so far, twice `seconds` at most. Raises what `flush` raises.

    The client writes the PING of a flush at once, in front of what its flusher still holds; only a second round trip
    comes behind that. With one, a message could pass by a subscription that counts as made.
    """
    for _ in range(2):
        await connection.flush(seconds)  # type: ignore[arg-type]  # seconds of a wait: the annotation is too narrow
