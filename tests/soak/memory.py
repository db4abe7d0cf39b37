"""What processes hold in memory while a soak lasts."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from playmolt_cli.local.supervisor import NotReadyError

_LOOK_SECONDS = 1.0


class Memory:
    """`most` is what the processes of each kind held at most, in MB, those that were killed included."""

    def __init__(self, processes: Callable[[], Mapping[str, int]]) -> None:
        self._processes = processes
        self.most: Counter[str] = Counter()

    async def watch(self) -> None:
        """Look every second, until cancelled. The kernel keeps the peak between two looks."""
        while True:
            self._look()
            await asyncio.sleep(_LOOK_SECONDS)

    def _look(self) -> None:
        try:
            processes = self._processes()
        except NotReadyError:
            return  # everything was killed at once, and is being started again
        for name, pid in processes.items():
            kind = name.rstrip("-0123456789")
            with suppress(OSError):
                held = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
                self.most[kind] = max(self.most[kind], int(held[1]) // 1024 if held else 0)
