"""Programs of others, as their users install them: an environment beside ours, so that none of ours is on its path."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import OWN_SERVERS
from tests.platforms import Stack

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
INSTALL_SECONDS = 110
BUILDS = ("--only-binary", ":all:", "--no-binary", "jsonpath-rw")
"""Wheels, but for one package that mlcroissant requires and that has none."""
DEADLINE_SECONDS = 3
"""Of a phase: tests wait until answers are too late."""
collect_ignore = [] if shutil.which("javac") else ["test_openapi_generator.py"]
"""What takes a program that not every machine has."""


@pytest.fixture(scope="session")
def foreign_python() -> Path:
    """The interpreter of an environment with `requirements.txt`; made once for each content of that file."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    folder = Path(sys.prefix) / "clients" / digest
    python, made = folder / "bin" / "python", folder / "made"
    if not made.exists():
        uv = [Path(sys.prefix) / "bin" / "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        install = [*uv, "pip", "install", "--quiet", *BUILDS, "--python", python, "-r", REQUIREMENTS]
        subprocess.run(install, check=True, timeout=INSTALL_SECONDS)
        made.touch()
    return python


@pytest.fixture(scope="session")
def platform() -> Iterator[Stack]:
    """An `up` in a folder that the user of its Postgres may enter; those of pytest are closed to it."""
    own = {**OWN_SERVERS, "PLAYMOLT_PHASE_DEADLINE_SECONDS": str(DEADLINE_SECONDS), "PLAYMOLT_PEOPLE": "true"}
    with tempfile.TemporaryDirectory(prefix="playmolt-clients-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with Stack(Path(folder) / "data", environment=own) as stack:
            yield stack
