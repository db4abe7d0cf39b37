"""`make dist` in an empty environment: `playmolt` plays, `playmolt[env]` passes the tests of PettingZoo."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms import Stack

ROOT = Path(__file__).parents[2]
SECONDS = 200
UV = Path(sys.prefix) / "bin" / "uv"
PLAY = """
import asyncio, sys
from playmolt import bots
results = asyncio.run(bots.run_house_bots(sys.argv[1], "ox", 5, seed="wheels"))
print(len(results), {result.phase for result in results})
"""
PRACTISE = """
import warnings
from pettingzoo.test import api_test, parallel_api_test, seed_test
from playmolt.env import ox_v0, trial_v0
warnings.simplefilter("ignore")
for module in (ox_v0, trial_v0):
    api_test(module.env(), num_cycles=100)
    seed_test(module.env, num_cycles=100)
parallel_api_test(ox_v0.parallel_env(), num_cycles=100)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment, without a way to our sources."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def wheels() -> Path:
    make = shutil.which("make")
    assert make
    subprocess.run([make, "dist"], cwd=ROOT, check=True, capture_output=True, timeout=SECONDS)
    return ROOT / "dist"


def install(python: Path, wheels: Path, what: str) -> None:
    command = [UV, "pip", "install", "--quiet", "--python", python, "--find-links", wheels, what]
    subprocess.run(command, check=True, timeout=SECONDS)


def run(python: Path, program: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ended = subprocess.run(
        [python, "-c", program, *arguments],
        cwd=python.parent, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_sdk_plays_a_game(python: Path, wheels: Path, platform: Stack) -> None:
    install(python, wheels, "playmolt")
    assert run(python, PLAY, platform.run.gateway) == "5 {'end'}\n"


def test_the_environments_pass_the_tests_of_pettingzoo(python: Path, wheels: Path) -> None:
    install(python, wheels, "playmolt[env]")
    assert "Passed" in run(python, PRACTISE)
