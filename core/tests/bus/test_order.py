"""What has been sent is with the server when we say so: against a server that reads slowly, one command at a time."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playmolt_core.bus.connection import delivered, open_connection
from playmolt_core.settings import Settings

from core.tests.listening import listening

INFO = b'INFO {"server_id":"x","version":"2.12.0","proto":1,"max_payload":1048576,"headers":true}\r\n'


class SlowServer:
    """Takes a command, answers a PING at once, and then looks away for a moment."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(INFO)
        while line := await reader.readline():
            self.taken.append(line.split()[0].decode())
            if line.startswith(b"PING"):
                writer.write(b"PONG\r\n")
            await asyncio.sleep(0.02)


@pytest.fixture
async def server() -> AsyncIterator[tuple[SlowServer, str]]:
    slow = SlowServer()
    async with listening(slow.serve) as port:
        yield slow, f"nats://127.0.0.1:{port}"


async def test_a_subscription_is_with_the_server_when_it_counts_as_made(server: tuple[SlowServer, str]) -> None:
    slow, url = server
    connection = await open_connection(Settings(nats_url=url), "test", lambda: None)
    try:
        await connection.subscribe("spectate.ox.x")
        await delivered(connection, 30)
        assert "SUB" in slow.taken
    finally:
        await connection.close()
