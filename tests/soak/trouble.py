"""Faults by a seed: processes of `up` are killed or suspended for a while, and sometimes all of them together."""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from playmolt_cli.local.stack import Stack
from playmolt_cli.local.supervisor import NotReadyError

_PAUSE_SECONDS: Final = (1.0, 6.0)
_STILL_SECONDS: Final = (0.5, 2.0, 4.0, 8.0, 14.0)
_AT_ONCE: Final = (1, 1, 1, 2, 3)
_KILLED: Final = 0.65
"""Share of the faults that kill a process; the others suspend one."""
_WHOLE: Final = 0.03
_STARTS: Final = 3


class Trouble:
    """Causes faults in a platform; `made` counts them by kind and target.

    `hands` is one thread that lives as long as the platform, because the kernel ends a child with the thread that
    started it.
    """

    def __init__(self, stack: Stack, hands: Executor, seed: int, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._hands = hands
        self._random = random.Random(seed)
        self._say = say
        self.made: Counter[str] = Counter()

    async def make(self, seconds: float) -> None:
        """Cause faults for this time. Raises NotReadyError if the platform does not restart after a crash of all."""
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while clock() < end:
            await asyncio.sleep(self._random.uniform(*_PAUSE_SECONDS))
            if self._random.random() < _WHOLE:
                await self._crash()
            else:
                self._disturb()

    async def _crash(self) -> None:
        self._note("crash", "everything")
        hand = asyncio.get_running_loop().run_in_executor
        await hand(self._hands, self._stack.kill_tree)
        for tries in range(_STARTS):
            try:
                await hand(self._hands, self._stack.start)
            except NotReadyError:
                if tries + 1 == _STARTS:
                    raise
            else:
                return

    def _disturb(self) -> None:
        processes = self._stack.run.processes
        for name in self._random.sample(sorted(processes), min(self._random.choice(_AT_ONCE), len(processes))):
            if self._random.random() < _KILLED:
                self._note("kill", name)
                _send(processes[name], signal.SIGKILL)
                continue
            still = self._random.choice(_STILL_SECONDS)
            self._note(f"stop for {still} s", name)
            _send(processes[name], signal.SIGSTOP)
            asyncio.get_running_loop().call_later(still, _send, processes[name], signal.SIGCONT)

    def _note(self, what: str, name: str) -> None:
        self.made[f"{what.split(maxsplit=1)[0]} {name.rstrip('-0123456789')}"] += 1
        self._say(f"{what}: {name}")


def _send(process: int, what: signal.Signals) -> None:
    try:
        os.kill(process, what)
    except ProcessLookupError:
        return  # it ended by itself or was already killed
