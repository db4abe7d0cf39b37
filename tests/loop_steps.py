"""A watchdog of event loops: services of a test write down each step that takes too much processor time.

A step is what a loop runs without a pause; everything else in the process waits for it. Measured is the processor time
of the loop's thread. On a busy machine, whose processes share caches and cores, the same work takes more of it: so a
known piece of work is measured behind a long step, and the step counts as what it takes at a quiet time. The services
run on asyncio's loop meanwhile, whose steps can be measured; the name of a step has the lines of our code that it was
in most often.
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
ONCE_SECONDS: Final = 0.100
"""A step that happened once may take up to this: the first use of memory after a fork, and what the host of a virtual
machine takes away, count as processor time."""
_SAMPLE_SECONDS: Final = 0.002
_PIECE: Final = {str(number): number for number in range(5_000)}
_PIECES: Final = 5
FOLDER: Final = "LOOP_STEPS"
"""A variable of a platform: the folder where its services write. Without it nothing is watched."""
_FRAMES: Final = 4
_OURS: Final = "/playmolt_"
_START_SECONDS: Final = 3.0
"""A service that starts has no caller yet."""


def _piece_seconds() -> float:
    """Processor time of the known piece of work, at the best of a few tries: a single one may be interrupted."""
    found: list[float] = []
    for _ in range(_PIECES):
        before = time.thread_time()
        sum(_PIECE[key] for key in _PIECE)
        found.append(time.thread_time() - before)
    return min(found)


class _Watch:
    """Of one process."""

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
            callback = handle._callback  # gone after a cancellation
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
        """A collection of garbage is not the work of the step in which it happens."""
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
            return  # it starts
        service, step = Path(sys.argv[0]).parent.name, getattr(named, "__qualname__", repr(named))
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{taken * 1000:.0f} ms in {service}, {step}: {where}\n")


def install(service: Any) -> None:
    """Have `run_service` of the module `service` watch its loop where the environment names a folder."""
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
    """What services have written so far, without short steps that happened once."""
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
