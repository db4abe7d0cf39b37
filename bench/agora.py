"""The white-room plan of 18,000 turns with scripted models: locked, run into the log, measured."""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import msgspec
import uvloop
from playmolt_agora import plan as plans
from playmolt_cli.folder import Run
from playmolt_cli.stack import Stack
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from bench.servers import ROOT, folder

RUN_SECONDS = 300
MEMORY_MB = 1024
ANALYSIS_SECONDS = 60
_EXPERIMENTS = "/api/agora/experiments"
_EARLY, _LATE = range(8, 13), range(94, 99)


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
                yield int(entry.name), int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue


def _proportional_mb(pid: int) -> float:
    try:
        found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


def _run_plan(run: Run, text: str) -> tuple[str, float]:
    """Lock a plan and wait for its end; gives the experiment and the seconds it took."""
    headers = {"Authorization": f"Bearer {run.operator_key}", "Content-Type": "application/json"}
    with httpx.Client(base_url=run.gateway, headers=headers, timeout=60) as client:
        began = time.monotonic()
        opened = client.post(_EXPERIMENTS, content=msgspec.json.encode(text)).raise_for_status()
        experiment = str(opened.json()["experiment"])
        while client.get(f"{_EXPERIMENTS}/{experiment}").raise_for_status().json()["status"] != "finished":
            time.sleep(0.5)
        return experiment, time.monotonic() - began


async def _turn_seconds(url: str, experiment: str) -> tuple[float, float]:
    """Give the median seconds of a turn around turn 10 and around turn 96 of the Phase 2 runs, from the log's times."""
    pool = await open_pool(url)
    log = PostgresLog(pool)
    early, late = [], []
    stored = await log.load(experiment)
    assert stored is not None
    opened = [msgspec.json.decode(record.data) for record in stored.records if record.type == "run_opened"]
    for run in (data["run"] for data in opened if data["cell"].startswith("phase2")):
        records = await log.load(run)
        assert records is not None
        begun = [datetime.fromisoformat(record.at) for record in records.records if record.type == "epoch_started"]
        lengths = [(after - before).total_seconds() for before, after in pairwise(begun)]
        early += [lengths[turn - 1] for turn in _EARLY if turn <= len(lengths)]
        late += [lengths[turn - 1] for turn in _LATE if turn <= len(lengths)]
    await pool.close()
    return median(early), median(late)


def _analysis_seconds(data: Path, experiment: str) -> float:
    command = [sys.executable, "-m", "playmolt_cli", "agora", "analyze", experiment]
    command += ["--out", str(data / "study"), "--data", str(data)]
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=900)
    return time.monotonic() - began


def measure(text: str) -> dict[str, Any]:
    with folder() as data, Stack(data) as stack:
        run = stack.run
        memory = Memory(run)
        with memory.watched():
            experiment, seconds = _run_plan(run, text)
        early, late = uvloop.run(_turn_seconds(run.database_url, experiment))
        analysis = _analysis_seconds(data, experiment)
    return {"seconds": seconds, "mb": memory.most_mb, "early": early, "late": late, "analysis": analysis}


def rows() -> list[tuple[str, str, str, str]]:
    found = measure(plans.preset("white-room"))
    turns = 18_000
    return [
        (
            f"white-room plan, {turns:,} turns into the log",
            f"{found['seconds']:.0f} s ({turns / found['seconds']:,.0f} turns/s)",
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
            "a turn of six agents at turn 96 beside turn 10",
            f"{found['late'] * 1000:.0f} ms",
            f"{found['early'] * 1000:.0f} ms",
            f"{found['late'] / found['early']:.2f} (wanted 1)",
        ),
        (
            "analysis and report of it",
            f"{found['analysis']:.0f} s",
            f"{ANALYSIS_SECONDS} s",
            f"{found['analysis'] / ANALYSIS_SECONDS:.2f} (wanted < 1)",
        ),
    ]


if __name__ == "__main__":
    for row in rows():
        print(*row, sep=" | ")
