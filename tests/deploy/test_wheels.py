"""`make setup` compiles nothing: the registry has a wheel of every locked package for each Python and platform."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
LOCKS = ("requirements.lock", "requirements-dev.lock", "deploy/requirements.lock", "deploy/build.lock")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


def _install(lock: Path, python: str, platform: str, target: Path) -> subprocess.CompletedProcess[str]:
    # What lies in this environment would count as installed: the target is empty.
    return subprocess.run(
        [
            UV, "pip", "install", "--dry-run", "--no-deps", "--require-hashes", "--only-binary", ":all:",
            "--python-platform", platform, "--python-version", python, "--target", target, "--requirements", lock,
        ],
        capture_output=True, encoding="utf-8", timeout=100, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip


@pytest.mark.parametrize(("lock", "python", "platform"), list(product(LOCKS, PYTHONS, PLATFORMS)))
def test_a_lock_installs_from_wheels_alone(lock: str, python: str, platform: str, tmp_path: Path) -> None:
    done = _install(ROOT / lock, python, platform, tmp_path / "empty")
    assert done.returncode == 0, done.stderr
    assert "Would install" in done.stderr


def test_a_package_without_a_wheel_is_named(tmp_path: Path) -> None:
    """immutables, as an older lock had it: no wheel for 3.14."""
    lock = tmp_path / "old.lock"
    lock.write_text(f"immutables==0.21 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    done = _install(lock, "3.14", PLATFORMS[0], tmp_path / "empty")
    assert done.returncode != 0
    assert "immutables" in done.stderr
