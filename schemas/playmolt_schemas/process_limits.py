"""Limits of a process that reads what strangers sent, as far as this system has them.

macOS has no `/proc` and does not hold `RLIMIT_AS`: there a thread watches what the process uses, and ends it. As a
program, this prints the limits that do not hold here, for `playmolt doctor`.
"""

import json
import mmap
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

Bounds = tuple[int, int]
"""The soft and the hard limit."""
MEMORY: Final = "RLIMIT_AS"
NAMES: Final = {
    "RLIMIT_CPU": "processor time",
    MEMORY: "memory",
    "RLIMIT_FSIZE": "size of files",
    "RLIMIT_CORE": "core dumps",
}
_STATM: Final = "/proc/self/statm"
_LOOK_SECONDS: Final = 0.02
_KIB: Final = 1024
_MIB: Final = 1024 * 1024
_PROBE_BYTES: Final = 64 * _MIB
_PROBE_SECONDS: Final = 30.0


def set_limits(limits: Mapping[str, Bounds]) -> tuple[str, ...]:
    """Set limits by their names in `resource`, never above a present hard one; gives the names that cannot be set."""
    return tuple(name for name, bounds in limits.items() if not _set(name, bounds))


def _set(name: str, bounds: Bounds) -> bool:
    limit = getattr(resource, name, None)
    if limit is None:
        return False
    try:
        _, most = resource.getrlimit(limit)
        soft, hard = (bound if most == resource.RLIM_INFINITY else min(bound, most) for bound in bounds)
        resource.setrlimit(limit, (soft, hard))
    except (ValueError, OSError):
        return False
    return True


class MemoryLimit:
    """Gives this process `most` bytes beyond what it has now.

    `held` says whether the system itself holds it to that. Where it does not, a thread looks every 20 ms and calls
    `exceeded`, which must end the process; `check` looks once more, at the end of the work.
    """

    def __init__(self, most: int, exceeded: Callable[[], object]) -> None:
        taken = _address_space()
        self.held = taken is not None and _set(MEMORY, (most + taken, most + taken)) and _held(most)
        self._most, self._exceeded = most + _resident(), exceeded
        if not self.held:
            threading.Thread(target=self._watch, name="memory", daemon=True).start()

    def check(self) -> None:
        if not self.held and _resident() > self._most:
            self._exceeded()

    def _watch(self) -> None:
        while _resident() <= self._most:
            time.sleep(_LOOK_SECONDS)
        self._exceeded()


def _address_space() -> int | None:
    return _pages(0)


def _resident() -> int:
    """What is in memory now; where the system does not say, the most that ever was."""
    now = _pages(1)
    if now is not None:
        return now
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * _KIB


def _pages(place: int) -> int | None:
    """A size of this process in bytes, by its place in `statm`; None without `/proc`."""
    try:
        with open(_STATM, encoding="ascii") as file:
            return int(file.read().split()[place]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def missing() -> tuple[str, ...]:
    """The limits that this system does not hold, by name. Try it in a process of its own: the limits stay set."""
    lacking = set_limits({name: (1, 1) if name == "RLIMIT_CPU" else (0, 0) for name in NAMES if name != MEMORY})
    memory = () if MemoryLimit(_PROBE_BYTES, bool).held else (MEMORY,)
    return (*memory, *lacking)


def _held(most: int) -> bool:
    """Whether more memory is refused: some systems take a limit and forget it. What is asked for is not used."""
    try:
        mmap.mmap(-1, most + _MIB).close()
    except (OSError, MemoryError):
        return True
    return False


PROBE: Final = (sys.executable, "-I", "-m", "playmolt_schemas.process_limits")


def missing_here(program: Sequence[str] = PROBE) -> tuple[str, ...]:
    """As `missing`, tried in a process of its own; all of them if it does not answer."""
    try:
        done = subprocess.run(program, capture_output=True, timeout=_PROBE_SECONDS, check=True)
        return tuple(json.loads(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError):
        return tuple(NAMES)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(missing()))
