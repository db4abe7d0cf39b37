"""CPU time and memory of processes, as the operating system counts them."""

import os
import re
from collections import defaultdict
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")


def _tree(roots: tuple[int, ...]) -> dict[int, float]:
    """CPU seconds by pid, of these processes and all their descendants."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    used: dict[int, float] = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path("/proc", process, "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        children[int(fields[1])].append(int(process))
        used[int(process)] = sum(map(int, fields[11:15])) * _TICK
    found: dict[int, float] = {}
    waiting = list(roots)
    while waiting:
        parent = waiting.pop()
        if parent not in found:
            found[parent] = used.get(parent, 0.0)
            waiting += children[parent]
    return found


def tree_seconds(*roots: int) -> float:
    """CPU seconds of processes and all their descendants, including ended ones whose parent waited for them."""
    return sum(_tree(roots).values())


def tree_megabytes(*roots: int) -> float:
    """Memory in MB of processes and all their descendants. A shared page counts once (PSS)."""
    return sum(map(_megabytes, _tree(roots)))


def _megabytes(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text("utf-8")
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) / 1024 if found else 0.0
