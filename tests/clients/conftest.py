"""Third-party programs, as their users install them: in separate environments, without our packages on their path."""

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
"""Lock files of large tools, each of which has its own environment; `make lock` renews them."""
HASHED = ("--require-hashes", "--only-binary", ":all:")
INSTALL_SECONDS = 240
BUILDS = ("--only-binary", ":all:", "--no-binary", "jsonpath-rw")
"""Install only wheels, except for one package that mlcroissant requires and that has no wheel."""
DEADLINE_SECONDS = 8
"""Deadline of a phase: short, because tests wait until it passes, but long enough for answers on a busy machine."""
collect_ignore = [] if shutil.which("javac") else ["test_openapi_generator.py"]
"""Tests that need a program that this machine lacks."""


def environment(requirements: Path, *options: str, ours: bool = False) -> Path:
    """The interpreter of an environment with these requirements, which is created once for each content of the file.

    `ours`: after its own packages, it also finds those of this environment, including our commands.
    """
    digest = hashlib.sha256(requirements.read_bytes() + repr((options, ours)).encode()).hexdigest()[:16]
    folder = Path(sys.prefix) / "clients" / digest
    folder.parent.mkdir(exist_ok=True)
    python, made = folder / "bin" / "python", folder / "made"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers wait
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
    """A separate interpreter with Inspect, Scout and our commands, because inspect-ai requires an older boto3."""
    return environment(LOCKS / "inspect.lock", *HASHED, ours=True)


@pytest.fixture(scope="session")
def platform() -> Iterator[Stack]:
    """An `up` in a folder that the user of its Postgres may enter; it cannot enter pytest's folders."""
    own = {**OWN_SERVERS, "PLAYMOLT_PHASE_DEADLINE_SECONDS": str(DEADLINE_SECONDS), "PLAYMOLT_PEOPLE": "true"}
    with tempfile.TemporaryDirectory(prefix="playmolt-clients-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        own["PLAYMOLT_DATASETS"] = str(Path(folder) / "datasets")
        with Stack(Path(folder) / "data", environment=own) as stack:
            yield stack
