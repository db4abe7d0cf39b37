"""A TCP server of the tests on loopback that leaves nothing open, whatever its clients do as it ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_ACCEPT_TURNS = 3
"""Turns of the loop after which a connection that it has just accepted has a transport and is served."""


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """The port on which each connection is served, then closed; a client that hangs up is no fault.

    At its end the server cancels what it still serves. asyncio's own server would leave connections open: one that was
    accepted but is not served yet, and one whose task is cancelled before its first step.
    """
    serving: set[asyncio.Task[None]] = set()
    writers: set[asyncio.StreamWriter] = set()

    async def to_its_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        writers.discard(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A coroutine function would do, but asyncio reports its cancellation as a fault.
        writers.add(writer)
        task = asyncio.create_task(to_its_end(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        for socket in server.sockets:
            asyncio.get_running_loop().remove_reader(socket.fileno())
        for _ in range(_ACCEPT_TURNS):
            await asyncio.sleep(0)
        server.close()
        left = [*serving]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # they close in the next turn


async def carry(far: asyncio.StreamWriter, *ways: Coroutine[None, None, None]) -> None:
    """Run both ways of a connection that is passed on; its far end is closed when they end or are cancelled."""
    passing = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.gather(*passing)
    finally:
        for task in passing:
            task.cancel()
        far.transport.abort()
