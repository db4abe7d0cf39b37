"""Waiting that a stop ends."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any


async def done_before(stopping: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work; whether it was done before the word to stop came, which cancels it. What it raises is raised."""
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return task.done()
    finally:
        task.cancel()
        stopped.cancel()


def stopping_process(task: "asyncio.Task[None]") -> "asyncio.Task[None]":
    """Have this process told to stop when a task of it fails, as from outside: what is under way is finished first."""

    def ended(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception():
            signal.raise_signal(signal.SIGTERM)

    task.add_done_callback(ended)
    return task
