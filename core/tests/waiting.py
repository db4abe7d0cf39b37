"""Waits for a condition with a time limit, so that no test guesses how long something takes."""

import asyncio
import inspect
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

TURNS = 50
"""Iterations of the event loop after which work in memory, without timers and sockets, is finished."""


async def wait_until(condition: Callable[[], Any | Awaitable[Any]], seconds: float = 60) -> Any:
    """Return the first true value of the condition, which may be a coroutine function. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            value = condition()
            if inspect.isawaitable(value):
                value = await value
            if value:
                return value
            await asyncio.sleep(0.005)


async def loop_turns(turns: int = TURNS) -> None:
    """Let ready tasks run, to check what happens next or that nothing happens."""
    for _ in range(turns):
        await asyncio.sleep(0)


def suspend(pid: int, seconds: float = 60) -> None:
    """Stop a process until SIGCONT, and wait until all its threads have stopped, because a running one could answer."""
    os.kill(pid, signal.SIGSTOP)
    until = time.monotonic() + seconds
    while not set(_thread_states(pid)) <= {"T", "Z", "X"}:
        if time.monotonic() > until:
            raise TimeoutError(f"process {pid} did not stop")
        time.sleep(0.001)


def _thread_states(pid: int) -> Iterator[str]:
    """The states of a process' threads, as letters of proc(5)."""
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # the thread has ended
            yield stat.read_text("utf-8").rpartition(") ")[2][0]
