"""Installs the game beside the platform as `pip install` would: its package and its entry points are on a path."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))
PROJECT: Mapping[str, Any] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]

RunPython = Callable[..., str]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a process that finds the installed game."""
    site = tmp_path_factory.mktemp("site")
    about = site / f"sealed_bid-{PROJECT['version']}.dist-info"
    about.mkdir()
    name, version = PROJECT["name"], PROJECT["version"]
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{point} = {value}\n" for point, value in points.items())
        for group, points in PROJECT["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups))
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(HERE)))}


@pytest.fixture(scope="session")
def run_python(installed: Mapping[str, str]) -> RunPython:
    """Runs Python in that environment and returns its output: `run_python("-c", program)`."""

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=installed, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
