"""What processes have used of the processors, as the system counts it."""

import os
from collections import defaultdict
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def tree_seconds(root: int) -> float:
    """Processor seconds of a process and of all that descends from it, those that ended included where it waited for
    them."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    used: dict[int, float] = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", process, "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        children[int(fields[1])].append(int(process))
        used[int(process)] = sum(map(int, fields[11:15])) * _TICK
    total, waiting = 0.0, [root]
    while waiting:
        parent = waiting.pop()
        total += used.get(parent, 0.0)
        waiting += children[parent]
    return total
