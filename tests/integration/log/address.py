"""An address whose target can change, like a service's name or a virtual address."""

import asyncio
import threading
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

from core.tests.listening import carry, listening


class Address:
    """Accepts connections on a port and forwards them to another port. Open connections keep their target."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listening = AsyncExitStack()

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._listening.aclose(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def cut(self) -> None:
        """Close all connections and accept no further ones."""
        asyncio.run_coroutine_threadsafe(self._listening.aclose(), self._loop).result(60)

    async def _listen(self) -> int:
        return await self._listening.enter_async_context(listening(self._lead))

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        await carry(far_writer, _pass(reader, far_writer), _pass(far_reader, writer))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
