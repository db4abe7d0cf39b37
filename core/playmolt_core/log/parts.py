"""Streams verified by several processes, each of which reads its own part of them, so that this takes every core."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Final

from playmolt_core.log.port import Part
from playmolt_core.log.verify import Verification, together

VerifyPart = Callable[[Part, Callable[[int], None]], Verification]
"""Verifies a part of the streams, and tells how many positions it has come through."""

_TELL_SECONDS: Final = 0.2
_seen: "SynchronizedArray[int]"
"""In each process the same: how far each part is."""


def _begin(seen: "SynchronizedArray[int]") -> None:
    global _seen  # noqa: PLW0603 -- a process is given work by name, and keeps what it knows here
    _seen = seen


def _verified(verify: VerifyPart, part: Part) -> Verification:
    return verify(part, lambda position: _seen.__setitem__(part.number, position))


async def verified_by(processes: int, verify: VerifyPart, progress: Callable[[int], None]) -> Verification:
    """What all parts come to; `verify` is called once in each of so many new processes."""
    # Not forked: a loop and its threads are running here.
    context, loop = get_context("spawn"), asyncio.get_running_loop()
    seen = context.Array("q", processes)
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(seen,)) as pool:
        parts = [Part(number, processes) for number in range(processes)]
        waiting = [loop.run_in_executor(pool, _verified, verify, part) for part in parts]
        while (await asyncio.wait(waiting, timeout=_TELL_SECONDS))[1]:
            progress(min(seen[:]))
        return together([one.result() for one in waiting])
