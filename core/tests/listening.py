"""A TCP server for tests on loopback. At its end it closes everything, whatever its clients do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_ACCEPT_TURNS = 3
"""Iterations of the event loop after which a newly accepted connection has a transport and is served."""


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """Serve each connection of a port, then close it; give the port. A client may disconnect at any time.

    At its end the server cancels the tasks of its connections. asyncio's own server would leave some connections open:
    accepted ones that are not served yet, and those whose task is cancelled before its first step.
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
        # Not a coroutine function, because asyncio reports its cancellation as an error.
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
        await asyncio.sleep(0)  # they close in the next iteration


async def carry(far: asyncio.StreamWriter, *ways: Coroutine[None, None, None]) -> None:
    """Run both directions of a forwarded connection; close its far end when they end or are cancelled."""
    passing = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.gather(*passing)
    finally:
        for task in passing:
            task.cancel()
        far.transport.abort()
