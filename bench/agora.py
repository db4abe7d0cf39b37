"""The white-room plan of 18,000 turns with scripted models: locked, run into the log, measured."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import numpy
import psycopg
from playmolt_agora.plan import reading
from playmolt_cli.local.folder import Run

from bench import Row
from bench.servers import ROOT, Platforms, folder

RUN_SECONDS = 300
MEMORY_MB = 1024
ANALYSIS_SECONDS = 60
TURN_MS = 1.33
_EXPERIMENTS = "/api/agora/experiments"


_SHORT_PLAN = """\
name: short
seed: "1"
models: [scripted-steady]
languages: [en]
phases:
  phase1: {runs: 1, turns: 3}
"""


class Size(NamedTuple):
    """A plan, and how many turns of agents it has."""

    plan: str = reading.preset("white-room")
    turns: int = 18_000


WHOLE = Size()
SHORT = Size(_SHORT_PLAN, 36)


class Memory:
    """What the processes of an `up` weigh together, at most; shared pages count once (PSS)."""

    def __init__(self, run: Run) -> None:
        self._roots = {run.pid, *run.processes.values()}
        self._over = threading.Event()
        self.most_mb = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._over.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(2):
            self.most_mb = max(self.most_mb, sum(map(_proportional_mb, _with_children(self._roots))))


def _with_children(roots: set[int]) -> set[int]:
    found, grown = set(roots), True
    while grown:
        children = {pid for pid, parent in _parents() if parent in found}
        grown = not children <= found
        found |= children
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), int((entry / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue


def _proportional_mb(pid: int) -> float:
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8"), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


def _run_plan(run: Run, text: str) -> tuple[str, float, list[tuple[int, float]]]:
    """Lock a plan and wait for its end; gives the experiment, its seconds, and (events, CPU seconds) on the way.

    Events of the log, since an experiment hears of its runs' turns every now and then only, and of most at their end.
    """
    headers = {"Authorization": f"Bearer {run.operator_key}", "Content-Type": "application/json"}
    database = psycopg.connect(run.database_url, autocommit=True)
    with database, httpx.Client(base_url=run.gateway, headers=headers, timeout=60) as client:
        began, samples = time.monotonic(), [(0, _cpu_seconds(run))]
        opened = client.post(_EXPERIMENTS, content=msgspec.json.encode(text)).raise_for_status()
        experiment = str(opened.json()["experiment"])
        while True:
            state = client.get(f"{_EXPERIMENTS}/{experiment}").raise_for_status().json()
            (events,) = database.execute("SELECT count(*) FROM log.event").fetchone() or (0,)
            samples.append((int(events), _cpu_seconds(run)))
            if state["status"] == "finished":
                return experiment, time.monotonic() - began, samples
            time.sleep(0.5)


def _cpu_seconds(run: Run) -> float:
    """What the processes of an `up` have used so far."""
    ticks = 0
    for pid in _with_children({run.pid, *run.processes.values()}):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _turn_cpu(samples: list[tuple[int, float]], first: float, last: float) -> float:
    """The CPU seconds of an event while the matrix went from one share of its events to another."""
    events, spent = zip(*samples, strict=True)
    began, ended = numpy.interp((first * events[-1], last * events[-1]), events, spent)
    return float((ended - began) / ((last - first) * events[-1]))


def _analysis_seconds(data: Path, experiment: str) -> float:
    command = [sys.executable, "-m", "playmolt_cli", "agora", "analyze", experiment]
    command += ["--out", str(data / "study"), "--data", str(data)]
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=900)
    return time.monotonic() - began


def measure(size: Size) -> dict[str, Any]:
    with folder() as data, Platforms.stack(data) as stack:
        run = stack.run
        memory = Memory(run)
        with memory.watched():
            experiment, seconds, samples = _run_plan(run, size.plan)
        early, late = _turn_cpu(samples, 0.05, 0.3), _turn_cpu(samples, 0.7, 0.95)
        analysis = _analysis_seconds(data, experiment)
    whole = (samples[-1][1] - samples[0][1]) / size.turns
    return {"seconds": seconds, "mb": memory.most_mb, "early": early, "late": late, "cpu": whole, "analysis": analysis}


def rows(size: Size) -> list[Row]:
    found = measure(size)
    return [
        (
            f"white-room plan, {size.turns:,} turns into the log",
            f"{found['seconds']:.0f} s ({size.turns / found['seconds']:,.0f} turns/s)",
            f"{RUN_SECONDS} s",
            f"{found['seconds'] / RUN_SECONDS:.2f} (wanted < 1)",
        ),
        (
            "all processes of `up` meanwhile",
            f"{found['mb']:.0f} MB",
            f"{MEMORY_MB} MB",
            f"{found['mb'] / MEMORY_MB:.2f} (wanted < 1)",
        ),
        (
            "CPU of a turn over all processes, everything counted",
            f"{found['cpu'] * 1000:.2f} ms",
            f"{TURN_MS} ms",
            f"{found['cpu'] * 1000 / TURN_MS:.2f} (wanted < 1)",
        ),
        (
            "CPU of an agent's turn (an event) late in the runs, beside early",
            f"{found['late'] * 1000:.1f} ms",
            f"{found['early'] * 1000:.1f} ms",
            f"{found['late'] / found['early']:.2f} (wanted 1)",
        ),
        (
            "analysis and report of it",
            f"{found['analysis']:.0f} s",
            f"{ANALYSIS_SECONDS} s",
            f"{found['analysis'] / ANALYSIS_SECONDS:.2f} (wanted < 1)",
        ),
    ]
