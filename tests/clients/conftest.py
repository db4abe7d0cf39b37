"""Programs of others, as their users install them: an environment beside ours, so that none of ours is on its path."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import OWN_SERVERS
from tests.platforms import Stack

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
LOCKS = Path(__file__).with_name("locks")
"""Of large tools, each in an environment of its own; `make lock` renews them."""
HASHED = ("--require-hashes", "--only-binary", ":all:")
INSTALL_SECONDS = 240
BUILDS = ("--only-binary", ":all:", "--no-binary", "jsonpath-rw")
"""Wheels, but for one package that mlcroissant requires and that has none."""
DEADLINE_SECONDS = 8
"""Of a phase: tests wait until answers are too late, and every other answer of a busy machine has to be in time."""
collect_ignore = [] if shutil.which("javac") else ["test_openapi_generator.py"]
"""What takes a program that not every machine has."""


def environment(requirements: Path, *options: str, ours: bool = False) -> Path:
    """The interpreter of an environment with these requirements, made once for each content of the file.

    `ours`: behind its own packages it finds those of this environment, our commands among them.
    """
    digest = hashlib.sha256(requirements.read_bytes() + repr((options, ours)).encode()).hexdigest()[:16]
    folder = Path(sys.prefix) / "clients" / digest
    folder.parent.mkdir(exist_ok=True)
    python, made = folder / "bin" / "python", folder / "made"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other workers
        if not made.exists():
            uv = [Path(sys.prefix) / "bin" / "uv"]
            subprocess.run([*uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
            install = [*uv, "pip", "install", "--quiet", *options, "--python", python, "-r", requirements]
            subprocess.run(install, check=True, timeout=INSTALL_SECONDS)
            if ours:
                found = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
                next(folder.glob("lib/python*/site-packages")).joinpath("ours.pth").write_text(found, "utf-8")
            made.touch()
    return python


@pytest.fixture(scope="session")
def foreign_python() -> Path:
    """The interpreter of an environment with `requirements.txt`."""
    return environment(REQUIREMENTS, *BUILDS)


@pytest.fixture(scope="session")
def inspect_python() -> Path:
    """An interpreter with Inspect, Scout and our commands. It is not ours: inspect-ai requires an older boto3."""
    return environment(LOCKS / "inspect.lock", *HASHED, ours=True)


@pytest.fixture(scope="session")
def platform() -> Iterator[Stack]:
    """An `up` in a folder that the user of its Postgres may enter; those of pytest are closed to it."""
    own = {**OWN_SERVERS, "PLAYMOLT_PHASE_DEADLINE_SECONDS": str(DEADLINE_SECONDS), "PLAYMOLT_PEOPLE": "true"}
    with tempfile.TemporaryDirectory(prefix="playmolt-clients-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        own["PLAYMOLT_DATASETS"] = str(Path(folder) / "datasets")
        with Stack(Path(folder) / "data", environment=own) as stack:
            yield stack
