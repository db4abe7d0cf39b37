"""The white-room plan with 18,000 turns of scripted models: locked, run into the log and analysed."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import numpy

from bench import Row
from bench.beside import Figure, Play, Side
from bench.processes import tree_megabytes, tree_seconds
from bench.servers import HERE, Checkout, platform, positions, processes, running

RUN_SECONDS = 300
MEMORY_MB = 1024
ANALYSIS_SECONDS = 60
TURN_MS = 1.33
_EXPERIMENTS = "/api/agora/experiments"
_PLANS = "/api/agora/plans"


_SHORT_PLAN = """\
name: short
seed: "1"
models: [scripted-steady]
languages: [en]
phases:
  phase1: {runs: 1, turns: 3}
"""


class Size(NamedTuple):
    """A plan (if empty, the white-room plan) and the number of agents' turns in it."""

    plan: str = ""
    turns: int = 18_000


WHOLE = Size()
SHORT = Size(_SHORT_PLAN, 36)


class Memory:
    """Measures the peak memory of all processes of an `up`. A shared page counts once (PSS)."""

    def __init__(self, data: Path) -> None:
        self._roots = processes(data)
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
            self.most_mb = max(self.most_mb, tree_megabytes(*self._roots))


def _run_plan(data: Path, text: str) -> tuple[str, float, list[tuple[int, float]]]:
    """Lock a plan and wait for its end; return the experiment, its seconds, and samples of (events, CPU seconds).

    The samples count events of the log, because an experiment learns of most turns only at the end of a run.
    """
    run, roots = running(data), processes(data)
    headers = {"Authorization": f"Bearer {run['operator_key']}", "Content-Type": "application/json"}
    with httpx.Client(base_url=run["gateway"], headers=headers, timeout=60) as client:
        began, samples = time.monotonic(), [(0, tree_seconds(*roots))]
        opened = client.post(_EXPERIMENTS, content=msgspec.json.encode(text)).raise_for_status()
        while opened.status_code == HTTPStatus.ACCEPTED:
            time.sleep(0.5)
            opened = client.get(f"{_PLANS}/{opened.json()['plan']}").raise_for_status()
        experiment = str(opened.json()["experiment"])
        while True:
            state = client.get(f"{_EXPERIMENTS}/{experiment}").raise_for_status().json()
            samples.append((positions(data)["log"], tree_seconds(*roots)))
            if state["status"] == "finished":
                return experiment, time.monotonic() - began, samples
            time.sleep(0.5)


def _turn_cpu(samples: list[tuple[int, float]], first: float, last: float) -> float:
    """The CPU seconds per event between two shares (0 to 1) of all events."""
    events, spent = zip(*samples, strict=True)
    began, ended = numpy.interp((first * events[-1], last * events[-1]), events, spent)
    return float((ended - began) / ((last - first) * events[-1]))


def measure(size: Size, checkout: Checkout = HERE) -> dict[str, Any]:
    plan = size.plan or checkout.playmolt("agora", "plan", "--preset", "white-room", "--example")
    with platform(checkout, {"PLAYMOLT_FILL_SECONDS": "0"}) as (data, _):
        memory = Memory(data)
        with memory.watched():
            experiment, seconds, samples = _run_plan(data, plan)
        early, late = _turn_cpu(samples, 0.05, 0.3), _turn_cpu(samples, 0.7, 0.95)
        began = time.monotonic()
        checkout.playmolt("agora", "analyze", experiment, "--out", data / "study", "--data", data)
        analysis = time.monotonic() - began
    whole = (samples[-1][1] - samples[0][1]) / size.turns
    return {"seconds": seconds, "mb": memory.most_mb, "early": early, "late": late, "cpu": whole, "analysis": analysis}


def sides(size: Size) -> list[Side]:
    return [partial(_side, size)]


@contextmanager
def _side(size: Size, checkout: Checkout) -> Iterator[Play]:
    def play() -> Iterator[Figure]:
        found = measure(size, checkout)
        yield Figure(f"white-room plan, turns of {size.turns:,} into the log", size.turns / found["seconds"])
        yield Figure("processor time of a turn, all processes", found["cpu"] * 1000, "{:.2f} ms")
        yield Figure("all processes of `up` meanwhile, at most", found["mb"], "{:.0f} MB")
        yield Figure("analysis and report of it", found["analysis"], "{:.1f} s")

    yield play


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
