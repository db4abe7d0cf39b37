"""What costs processor time happens beside the loops: nobody waits for a plan that is examined."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests import loop_steps
from tests.integration.agora.experiment_operator import EXPERIMENTS, FIVE_TESTS, Operator, square_plan
from tests.platforms import Stack

NO_GAME = "/api/games/ox-00000000-0000-4000-8000-000000000000/state"
OWN = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}


@pytest.fixture(scope="module")
def watched(session_folder: Path) -> Path:
    """Where the services of the platform write down their long steps."""
    folder = session_folder / "loop-steps"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def running(session_folder: Path, watched: Path) -> Iterator[Stack]:
    engines = ("--only", "agora-runner", "--only", "ox-engine")
    with Stack(session_folder / "steps", engines, OWN | {loop_steps.FOLDER: str(watched)}) as running:
        yield running


async def test_the_first_reader_of_a_document_delays_nobody(running: Stack, watched: Path) -> None:
    async with Operator(running) as operator:
        for path in ("/openapi.json", "/docs?lang=en", "/docs?lang=ko", "/llms.txt", "/skills/ox.md", "/privacy"):
            assert (await operator.call("GET", path)).status_code == 200
    found = [step for step in loop_steps.steps(watched) if step.startswith("playmolt_gateway")]
    assert not found, "\n".join(found)


async def latencies(operator: Operator, until: asyncio.Event) -> tuple[list[float], list[float]]:
    """How long another call of the same engine takes, and one of an engine that examines no plan, again and again.

    The machine is as busy for the one as for the other.
    """
    found: tuple[list[float], list[float]] = ([], [])
    while not until.is_set():
        for path, taken in zip((EXPERIMENTS, NO_GAME), found, strict=True):
            began = time.monotonic()
            await operator.call("GET", path)
            taken.append(time.monotonic() - began)
        await asyncio.sleep(0.1)
    return found


@pytest.mark.timeout(600)
async def test_a_plan_of_five_tests_delays_nobody(running: Stack, watched: Path) -> None:
    async with Operator(running) as operator:
        small = await operator.finished(square_plan(turns=1))
        done = asyncio.Event()
        calls = asyncio.create_task(latencies(operator, done))
        began = time.monotonic()
        dry, sent = await asyncio.gather(
            operator.call("POST", f"{EXPERIMENTS}?dry=1", FIVE_TESTS),
            operator.call("POST", EXPERIMENTS, FIVE_TESTS, **{"Idempotency-Key": "five"}),
        )
        assert (dry.status_code, sent.status_code, time.monotonic() - began < 30) == (202, 202, True)
        preview, opened = await operator.looked_for(dry), await operator.looked_for(sent)
        done.set()
        taken, elsewhere = await calls
        assert (preview.status_code, preview.json()["runs"]) == (200, 156)
        assert opened.status_code == 200
        experiment = opened.json()["experiment"]
        again = await operator.call("POST", EXPERIMENTS, FIVE_TESTS, **{"Idempotency-Key": "five"})
        assert (again.status_code, again.json()["experiment"]) == (201, experiment)
        assert (await operator.call("GET", "/readyz?self")).status_code == 200
        assert (await operator.post(experiment, "look")).status_code == 200
        assert len(await operator.runs(experiment)) == 156
        assert (await operator.post(experiment, "stop")).status_code == 200
        assert (await operator.post(small, "judge", {"model": "scripted-wild", "turns": "all"})).status_code == 200
        async with asyncio.timeout(200):  # else each report would be of an experiment that goes on
            while (await operator.get(f"{EXPERIMENTS}/{small}/codings"))["judges"][0]["status"] == "running":
                await asyncio.sleep(0.2)
        for what in ("report", "bundle"):
            async with asyncio.timeout(200):
                while (await operator.call("GET", f"{EXPERIMENTS}/{small}/{what}")).status_code == 202:
                    await asyncio.sleep(0.2)
        assert median(taken) < median(elsewhere) + 0.25, (len(taken), median(taken), max(taken))
    found = loop_steps.steps(watched)
    assert not found, "\n".join(found)
