"""Bounded waiting for a condition, so that no test guesses how long something takes."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

TURNS = 50
"""Turns of the event loop after which work in memory, which waits for no timer and no socket, is finished."""


async def wait_until(condition: Callable[[], Any | Awaitable[Any]], seconds: float = 60) -> Any:
    """The first true value of the condition, which may be a coroutine function. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            value = condition()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.005)


async def loop_turns(turns: int = TURNS) -> None:
    """Let the tasks that are ready run, to see what happens next or that nothing does."""
    for _ in range(turns):
        await asyncio.sleep(0)
