"""The TCP servers of the tests close what a client opens at the very end, or leaves open."""

import asyncio
import socket

import pytest

from core.tests.listening import Serve, listening


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def filling(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


@pytest.mark.parametrize("serve", [hanging, filling])
@pytest.mark.parametrize("turns", range(6))
async def test_a_connection_is_closed_by_the_end_however_late_it_came(serve: Serve, turns: int) -> None:
    async with listening(serve) as port:
        client = connected(port)
        for _ in range(turns):
            await asyncio.sleep(0)
    client.settimeout(60)
    with client:
        try:
            while client.recv(65536):
                pass
        except ConnectionResetError:
            pass
