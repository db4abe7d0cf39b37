"""Paused runs resume once the pause is over and their experiment continues, and not before."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.experiment.state import State
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.workers.recent_experiments import RecentExperiments
from playmolt_agora_runner.workers.run_workers import PauseWorker
from playmolt_agora_runner.world.state import Pause
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.decider import Command, EndGame

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Leased:
    """As much of a LeasedEffect as this worker uses, without a lease."""

    def __init__(self, pause: Pause) -> None:
        run = SimpleNamespace(experiment="experiment-1")
        self.snapshot, self.stopping = SimpleNamespace(state=SimpleNamespace(run=run, pause=pause)), False
        self.submitted: list[Command] = []

    async def submit(self, command: Command) -> None:
        self.submitted.append(command)


class Recent:
    def __init__(self, status: State) -> None:
        self.status = status

    async def of(self, _: str) -> State:
        return self.status


RUNNING = State(game_id="experiment-1", status="running")
STOPPED = State(game_id="experiment-1", status="stopped", reason="lunch")
ENDED = State(game_id="experiment-1", status="aborted", reason="enough")


@pytest.mark.parametrize(
    ("until", "now", "status", "ends_in"),
    [
        (AT, AT - timedelta(microseconds=1), RUNNING, None),
        (AT, AT, RUNNING, commands.ResumeRun),
        (None, AT, RUNNING, commands.ResumeRun),
        (None, AT, STOPPED, None),
        (AT, AT + timedelta(hours=1), STOPPED, None),
        (AT, AT - timedelta(minutes=9), ENDED, EndGame),
    ],
)
async def test_a_pause_ends(until: datetime | None, now: datetime, status: State, ends_in: Any) -> None:
    leased = Leased(Pause("model_away", "", until, AT))
    worker = PauseWorker(cast("RecentExperiments", Recent(status)), clock=lambda: now, seconds=0)
    await worker(cast("LeasedEffect", leased))
    assert [type(command) for command in leased.submitted] == ([ends_in] if ends_in else [])


@pytest.mark.parametrize(("resumed_at", "ends"), [(None, False), (AT, False), (AT + timedelta(seconds=1), True)])
async def test_a_run_without_a_valid_turn_waits_for_its_operator(resumed_at: datetime | None, ends: bool) -> None:
    leased, status = Leased(Pause("no_valid_turn", "", None, AT)), replace(RUNNING, resumed_at=resumed_at)
    worker = PauseWorker(cast("RecentExperiments", Recent(status)), clock=lambda: AT + timedelta(days=1), seconds=0)
    await worker(cast("LeasedEffect", leased))
    assert [type(command) for command in leased.submitted] == ([commands.ResumeRun] if ends else [])
