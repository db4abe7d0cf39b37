"""A watchdog of event loops: services under test record each step that takes too much CPU time.

A step is the code that a loop runs without a pause, while everything else in the process waits. The watchdog measures
the CPU time of the loop's thread. The same work takes more CPU time on a busy machine, whose processes share caches and
cores. So after a long step it measures a known piece of work, and scales the step's time to that of a quiet machine.
Watched services run on asyncio's own loop, because uvloop's steps cannot be measured. The name of a step contains the
lines of our code in which it was most often.
"""

import asyncio
import asyncio.events
import gc
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType
from typing import Any, Final

MOST_SECONDS: Final = 0.020
"""Maximum CPU time of a step."""
ONCE_SECONDS: Final = 0.100
"""Maximum CPU time of a step that occurs once. Its CPU time can include the first use of memory after a fork, and time
that the host of a virtual machine takes."""
_SAMPLE_SECONDS: Final = 0.002
_PIECE: Final = {str(number): number for number in range(5_000)}
_PIECES: Final = 5
FOLDER: Final = "LOOP_STEPS"
"""Environment variable with the folder to which services write their steps. Without it nothing is watched."""
_FRAMES: Final = 4
_OURS: Final = "/playmolt_"
_START_SECONDS: Final = 3.0
"""Steps in this time after the start are ignored, because a starting service has no callers."""


def _piece_seconds() -> float:
    """CPU time of the known piece of work: the best of a few tries, because a try may be interrupted."""
    found: list[float] = []
    for _ in range(_PIECES):
        before = time.thread_time()
        sum(_PIECE[key] for key in _PIECE)
        found.append(time.thread_time() - before)
    return min(found)


class _Watch:
    """Watches the event loop of one process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._samples: Counter[str] = Counter()
        self._from = time.monotonic() + _START_SECONDS
        self._collecting = self._collected = 0.0
        self._quiet_seconds = min(_piece_seconds() for _ in range(_PIECES))

    def install(self) -> None:
        run = asyncio.events.Handle._run

        def watched(handle: Any) -> None:
            self._samples.clear()
            self._collected = 0.0
            before = time.thread_time()
            callback = handle._callback  # a cancellation clears it
            run(handle)
            taken = time.thread_time() - before - self._collected
            if taken > MOST_SECONDS and time.monotonic() > self._from:
                taken = self._at_a_quiet_time(taken)
                if taken > MOST_SECONDS:
                    self._report(callback, taken)

        gc.callbacks.append(self._collect)
        asyncio.events.Handle._run = watched  # type: ignore[method-assign]
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _SAMPLE_SECONDS, _SAMPLE_SECONDS)

    def _at_a_quiet_time(self, taken: float) -> float:
        now = _piece_seconds()
        self._quiet_seconds = min(self._quiet_seconds, now)
        return taken * self._quiet_seconds / now

    def _collect(self, phase: str, _: dict[str, int]) -> None:
        """Measure garbage collections, whose time does not count as the step's."""
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collected += time.thread_time() - self._collecting

    def _sample(self, _: int, frame: FrameType | None) -> None:
        found: list[str] = []
        while frame is not None and len(found) < _FRAMES:
            code = frame.f_code
            if _OURS in code.co_filename:
                found.append(f"{Path(code.co_filename).name}:{frame.f_lineno} {code.co_qualname}")
            frame = frame.f_back
        if found:
            self._samples[" < ".join(found)] += 1

    def _report(self, callback: Any, taken: float) -> None:
        task = getattr(callback, "__self__", None)
        named = task.get_coro() if isinstance(task, asyncio.Task) else callback
        where = self._samples.most_common(1)[0][0] if self._samples else "?"
        if getattr(named, "__qualname__", "") == "_serve":
            return  # the service starts
        service, step = Path(sys.argv[0]).parent.name, getattr(named, "__qualname__", repr(named))
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{taken * 1000:.0f} ms in {service}, {step}: {where}\n")


def install(service: Any) -> None:
    """Make `run_service` of the module `service` watch its loop if the environment names a folder."""
    uvloop = service.uvloop

    class _Loops:
        @staticmethod
        def run(main: Coroutine[Any, Any, Any]) -> Any:
            folder = os.environ.get(FOLDER)
            if not folder:
                return uvloop.run(main)
            _Watch(Path(folder) / f"{os.getpid()}").install()
            return asyncio.run(main)

    service.uvloop = _Loops


def steps(folder: Path) -> list[str]:
    """The steps that services have written so far, without short ones that occurred once."""
    written = [line.split(" ms in ", 1) for file in folder.glob("*") for line in file.read_text("utf-8").splitlines()]
    times = Counter(step.split(": ")[0] for _, step in written)
    kept = (
        (step, taken) for taken, step in written if times[step.split(": ")[0]] > 1 or float(taken) > ONCE_SECONDS * 1000
    )
    return sorted(f"{step}: {taken} ms" for step, taken in kept)


def pytest_sessionstart() -> None:
    """`pytest -p tests.loop_steps` watches every service of a run without workers, and lists the steps at its end."""
    from tests.room import SHARED

    folder = SHARED / "loop-steps"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[FOLDER] = str(folder)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for line in steps(Path(os.environ[FOLDER])):
        terminalreporter.write_line(line)
