"""uvicorn's server, told from outside when to stop."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

import uvicorn
from typing_extensions import override

_TICK_SECONDS: Final = 1.0
"""How often the date of answers is renewed."""


class HttpServer(uvicorn.Server):
    """Leaves signals to who runs it: uvicorn's own handling ends the process before it has put its things in order."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no more connections, let requests under way finish, and have `serve` return."""
        self.should_exit = True
        self._stopping.set()

    @contextmanager
    @override
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    @override
    async def main_loop(self) -> None:
        """uvicorn looks ten times a second whether it is to stop: the better part of what an idle server did."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._stopping.wait()
