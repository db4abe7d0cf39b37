"""What `make setup` says on a machine that cannot be set up: one line, and nothing is downloaded or made."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make") or "make"

PRETEND = """#!{python} -I
import collections, os, platform, runpy, sys, sysconfig
# Asked once and kept, before the platform is another.
platform.uname(), sysconfig.get_config_vars()
sys.prefix = sys.base_prefix
{machine}
if sys.argv[1:] != ["deploy/prerequisites.py"]:
    sys.exit("the check was not the first to run")
runpy.run_path(sys.argv[1], run_name="__main__")
"""
VERSION = "sys.version_info = collections.namedtuple('V', 'major minor')"


def _setup(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    (folder / "deploy").mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copy(ROOT / "deploy/prerequisites.py", folder / "deploy")
    for name in ("requirements.lock", "requirements-dev.lock", "pyproject.toml", "VERSION"):
        (folder / name).touch()
    for member in ("schemas", "core", "lab", "sdk", "cli"):
        (folder / member).mkdir()
        (folder / member / "pyproject.toml").touch()
    return subprocess.run(
        [MAKE, "setup", f"PYTHON={python}"],
        cwd=folder, capture_output=True, encoding="utf-8", timeout=120, check=False,
        env={name: value for name, value in os.environ.items() if name not in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS")},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (f"{VERSION}(3, 10)", "Python 3.10 is too old"),
        (f"{VERSION}(3, 15)", "Python 3.15 is too new"),
        ("platform.python_implementation = lambda: 'PyPy'", "install CPython"),
        ("sysconfig.get_config_var = {'Py_GIL_DISABLED': 1}.get", "install CPython"),
        ("os.confstr = lambda _: None", "musl"),
        ("os.confstr = lambda _: 'glibc 2.17'", "glibc before 2.28"),
        ("sys.platform = 'win32'", "WSL 2"),
        ("sys.platform, platform.machine = 'darwin', lambda: 'x86_64'", "macOS on Apple silicon"),
        ("sys.modules['ensurepip'] = None", "apt install python3"),
        ("sys.modules['venv'] = None", "apt install python3"),
    ],
)
def test_what_is_missing_is_said_in_one_line(machine: str, said: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(PRETEND.format(python=sys.executable, machine=machine), encoding="utf-8")
    python.chmod(0o755)
    refused = _setup(tmp_path, str(python))
    assert refused.returncode != 0
    line, make = refused.stderr.splitlines()
    assert line.startswith("setup: ")
    assert said in line
    assert make.startswith("make: ")
    assert not (tmp_path / ".venv").exists()


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    refused = _setup(tmp_path, "python3-missing")
    assert refused.returncode != 0
    assert refused.stderr.splitlines()[0] == "setup: python3-missing not found; install Python 3.11 to 3.14"


def test_this_machine_is_taken() -> None:
    subprocess.run([sys.executable, ROOT / "deploy/prerequisites.py"], check=True, timeout=120)
