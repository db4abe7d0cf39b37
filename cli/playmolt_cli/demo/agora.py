"""The Agora part of the demo: a small experiment with scripted models."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from playmolt.errors import Refused
from playmolt_schemas.agora.plan import ExperimentState
from rich.console import Console

from playmolt_cli.agora import study as agora_study
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.follow import follow
from playmolt_cli.agora.table import line, table
from playmolt_cli.local.folder import Run
from playmolt_cli.terminal.failures import Failure

PLAN: Final[dict[str, object]] = {
    "name": "demo: three scripted models in two worlds",
    "seed": "demo",
    "models": ["scripted-steady", "scripted-trader", "scripted-social"],
    "languages": ["ko", "en"],
    "phases": {"phase1": {"runs": 1, "turns": 3}, "phase2": {"runs": 3, "turns": 6, "sets": ["A", "D"]}},
}
"""12 runs, 432 turns."""


class DemoExperiment(msgspec.Struct, frozen=True):
    """The finished experiment and its report."""

    state: ExperimentState
    report: Path

    def faults(self) -> Iterator[str]:
        """Unexpected results, one line each."""
        state = self.state
        if state.status != "finished":
            yield f"{state.experiment} is {state.status}"
        if state.spent.turns != state.progress.turns_planned:
            yield f"{state.experiment} took {state.spent.turns} of {state.progress.turns_planned} turns"
        if not self.report.exists():
            yield f"{state.experiment} has no report"


async def study(console: Console, run: Run, data: Path, out: Path) -> DemoExperiment:
    """Run the plan on a platform and analyze it from the log. Raises Failure."""
    return await asyncio.to_thread(_study, console, run, data, out)


def _study(console: Console, run: Run, data: Path, out: Path) -> DemoExperiment:
    with ExperimentsClient(run.gateway, run.operator_key) as client:
        try:
            open_experiment = client.open(PLAN, "demo")
            console.print(f"agora  plan locked: {open_experiment.plan_hash[:16]}, {open_experiment.progress.runs} runs")
            quiet = Console(quiet=True)
            state = follow(client, open_experiment.experiment, quiet)
            console.print(f"agora  {line(state)}")
            console.print(table(state, client.runs(state.experiment).runs))
        except Refused as refusal:
            raise Failure(refusal.detail) from refusal
    report = agora_study.analyse(state.experiment, out, data, lambda text: console.print(f"agora  {text}")).report
    return DemoExperiment(state, report)


def report_lines(studied: DemoExperiment) -> Iterator[str]:
    yield f"  {studied.state.experiment}  {studied.state.name}"
    yield f"    {studied.report}  {studied.report.stat().st_size} bytes"
