"""The process of a service: its listening socket, its stop, and its garbage collection."""

import asyncio
import gc
import os
import random
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from functools import cache
from typing import Final

BACKLOG: Final = 4096
ANY: Final = "::"
"""All addresses of the machine, of both families if it has both."""


def listening(host: str, port: int, fd: int | None = None) -> socket.socket:
    """The listening socket: the inherited one `fd`, or a new one (port 0: any free port). Raises OSError."""
    sock = _bound(host, port) if fd is None else socket.socket(fileno=fd)
    sock.setblocking(False)
    return sock


def _bound(host: str, port: int) -> socket.socket:
    if host == ANY and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"  # noqa: S104 -- `::` on a machine without IPv6
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=host == ANY)
    # asyncio sets TCP_NODELAY only on connections of a socket that names its protocol, which this one does not.
    return socket.socket(fileno=made.detach())


async def done_before(stopping: asyncio.Event, work: Coroutine[None, None, None]) -> bool:
    """Run work until it is done or the process has to stop, which cancels it; return whether it was done."""
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        return task.done()
    finally:
        task.cancel()
        stopped.cancel()


async def next_tick(seconds: float) -> None:
    """Sleep until the next multiple of `seconds` on the clock of this process, so that its loops wake it together.

    To wake a process costs more than most of what its loops do. The clocks of processes differ, so that they do not
    send their queries at once.
    """
    await asyncio.sleep(until_tick(seconds))


async def set_before_tick(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, at most until the next tick (`next_tick`); return whether it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(until_tick(seconds)):
            await event.wait()
    return event.is_set()


def until_tick(seconds: float) -> float:
    """The time until the next tick (`next_tick`)."""
    left = seconds - (asyncio.get_running_loop().time() + _phase(os.getpid())) % seconds
    return left if left > _EARLY_SECONDS else left + seconds


_EARLY_SECONDS: Final = 0.005
"""Timers are rounded to milliseconds: a loop that was woken too early must not be woken again at once."""


@cache
def _phase(_pid: int) -> float:
    return random.uniform(0, 60)  # noqa: S311 -- no secret


def stopping_process(task: "asyncio.Task[None]") -> "asyncio.Task[None]":
    """If a task fails, stop this process as SIGTERM does: requests in progress are finished first."""

    def ended(task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception():
            signal.raise_signal(signal.SIGTERM)

    task.add_done_callback(ended)
    return task


GARBAGE_THRESHOLDS: Final = (2_000, 20, 100)
"""Of the three generations. Long-lived objects here are states that get replaced; they are part of no cycle.

A full collection stops the process while it visits every object: 50 ms in an engine with 3,000 games, under load every
two seconds. States, records and messages are declared with `gc=False`, which halves that: no cycle contains them.
"""


def settle_garbage() -> None:
    """Collect what the start left behind and exclude the rest from collection. Call it once, when ready."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
