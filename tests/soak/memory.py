"""The memory of processes during a soak."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from playmolt_cli.local.supervisor import NotReadyError

_LOOK_SECONDS = 1.0


class Memory:
    """`most` is the peak memory of the processes of each kind in MB, including killed ones."""

    def __init__(self, processes: Callable[[], Mapping[str, int]]) -> None:
        self._processes = processes
        self.most: Counter[str] = Counter()

    async def watch(self) -> None:
        """Measure every second until cancelled. The kernel keeps the peak between two measurements."""
        while True:
            self._look()
            await asyncio.sleep(_LOOK_SECONDS)

    def _look(self) -> None:
        try:
            processes = self._processes()
        except NotReadyError:
            return  # all processes were killed and are restarting
        for name, pid in processes.items():
            kind = name.rstrip("-0123456789")
            with suppress(OSError):
                held = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
                self.most[kind] = max(self.most[kind], int(held[1]) // 1024 if held else 0)
