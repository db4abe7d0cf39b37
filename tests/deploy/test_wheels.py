"""`make setup` compiles nothing: the registry has a wheel of every locked package for each Python and platform."""

import os
import re
import subprocess
import sys
from collections.abc import Set
from itertools import product
from pathlib import Path

import pytest

from tests.deploy.test_image import locked

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
LOCKS = ("requirements.lock", "requirements-dev.lock", "deploy/requirements.lock", "deploy/build.lock")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


@pytest.fixture(scope="module")
def lock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All locks in one. A package of several has the hashes that all of them have: each lock takes its wheel."""
    markers, hashes = dict[tuple[str, str], set[str]](), dict[tuple[str, str], Set[str]]()
    for name, pins in ((name, pins) for one in LOCKS for name, pins in locked(ROOT / one).items()):
        for version, marker, its_hashes in pins:
            markers.setdefault((name, version), set()).add(marker)
            hashes[name, version] = hashes.get((name, version), its_hashes) & its_hashes
    lines = [
        " ".join([f"{name}=={version} ; {marker}".rstrip("; "), *(f"--hash={one}" for one in hashes[name, version])])
        for name, version in markers
        for marker in markers[name, version]
    ]
    file = tmp_path_factory.mktemp("locks") / "all.lock"
    file.write_text("\n".join(lines), "utf-8")
    return file


@pytest.fixture(scope="module")
def asked() -> set[str]:
    """Packages that the registry was asked for in this run: uv keeps what it answers."""
    return set()


def _install(
    lock: Path, python: str, platform: str, target: Path, *options: str
) -> tuple["subprocess.CompletedProcess[str]", set[str]]:
    """Give also the packages that would be installed."""
    # What lies in this environment would count as installed: the target is empty.
    done = subprocess.run(
        [
            UV, "pip", "install", "--dry-run", "--no-deps", "--require-hashes", "--only-binary", ":all:", *options,
            "--python-platform", platform, "--python-version", python, "--target", target, "--requirements", lock,
        ],
        capture_output=True, encoding="utf-8", timeout=100, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    return done, set(re.findall(r"^ \+ (\S+)==", done.stderr, re.MULTILINE))


@pytest.mark.parametrize(("python", "platform"), list(product(PYTHONS, PLATFORMS)))
def test_the_locks_install_from_wheels_alone(
    lock: Path, asked: set[str], python: str, platform: str, tmp_path: Path
) -> None:
    done, packages = _install(lock, python, platform, tmp_path / "empty", "--offline")
    if done.returncode or not packages <= asked:
        done, packages = _install(lock, python, platform, tmp_path / "empty")
        asked |= packages
    assert done.returncode == 0, done.stderr
    assert len(packages) > 150


def test_a_package_without_a_wheel_is_named(tmp_path: Path) -> None:
    """immutables, as an older lock had it: no wheel for 3.14."""
    lock = tmp_path / "old.lock"
    lock.write_text(f"immutables==0.21 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    done, _ = _install(lock, "3.14", PLATFORMS[0], tmp_path / "empty")
    assert done.returncode != 0
    assert "immutables" in done.stderr
