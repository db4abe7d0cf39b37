"""A connection without a socket, which feeds bytes to the gateway's protocol and keeps what it writes."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import uvicorn
from playmolt_core.ops.connections import Bounds, ConnectionLimiter
from playmolt_gateway.server.app import Gateway
from playmolt_gateway.server.fast_http import GatewayProtocol, protocol_for
from typing_extensions import override
from uvicorn.server import ServerState


class KeptTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closing = False

    @override
    def write(self, data: Any) -> None:
        if not self.closing:
            self.written += data

    @override
    def close(self) -> None:
        self.closing = True

    @override
    def is_closing(self) -> bool:
        return self.closing

    @override
    def abort(self) -> None:
        self.closing = True

    @override
    def pause_reading(self) -> None: ...

    @override
    def resume_reading(self) -> None: ...


class AsgiOnly(GatewayProtocol):
    """The same protocol without the fast path for actions."""

    @override
    def _begin_action(self) -> bool:
        return False


class Connection:
    """One connection. With `asgi`, actions also go to the ASGI app."""

    def __init__(self, gateway: Gateway, *, asgi: bool = False) -> None:
        kind: Any = protocol_for(gateway.action_route, ConnectionLimiter(Bounds()))
        if asgi:
            kind = type("AsgiProtocol", (AsgiOnly,), dict(vars(kind)))
        config = uvicorn.Config(
            gateway, http=kind, ws="none", lifespan="off", proxy_headers=False, log_config=None, access_log=False
        )
        config.load()
        state = ServerState()
        state.default_headers = [(b"date", b"now")]
        self.transport = KeptTransport()
        self.protocol: GatewayProtocol = kind(config, state, {}, asyncio.get_running_loop())
        self.protocol.connection_made(self.transport)

    async def feed(self, *pieces: bytes) -> bytes:
        """Feed the pieces while the connection is open; return all that the protocol writes."""
        for piece in pieces:
            if not self.transport.closing:
                self.protocol.data_received(piece)
                await settle()
        return self.transport.written

    async def lose(self) -> None:
        self.transport.closing = True
        self.protocol.connection_lost(None)
        await settle()


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def pieces_of(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    ends = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(ends)]
