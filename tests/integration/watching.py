"""A watcher that reconnects."""

import asyncio
from contextlib import suppress

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.platforms import Stack


async def watch(stack: Stack, game_id: str) -> list[bytes]:
    """The messages of a feed for a watcher that reconnects after every break, until the feed closes."""
    seen: list[bytes] = []
    while True:
        with suppress(OSError, InvalidHandshake, ConnectionClosed):
            url = f"{stack.run.spectator.replace('http', 'ws')}/ws/games/{game_id}?after={len(seen)}"
            async with connect(url) as socket:
                async for message in socket:
                    if not str(message).startswith('{"type":"heartbeat"'):
                        seen.append(str(message).encode())  # noqa: PERF401 -- what came before a break counts
            if socket.close_code == 1000:
                return seen
        await asyncio.sleep(0.1)
