"""What running installs: no adapters of other libraries, no tools of developers; a missing one says how to get it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
DEVELOPING: Final = {"gymnasium", "inspect-ai", "pandas", "pettingzoo", "setuptools", "uv"}
BLOCKED: Final = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {library!r} else found(name, package)
{code}
"""


def _locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9-]+)==", (ROOT / name).read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", ["requirements.lock", "deploy/requirements.lock"])
def test_what_only_adapters_and_developers_need_is_not_installed_to_run(lock: str) -> None:
    assert _locked(lock) & DEVELOPING == set()


def test_developing_installs_the_adapters_that_tests_use() -> None:
    assert {"pandas", "pettingzoo", "uv"} <= _locked("requirements-dev.lock")


@pytest.mark.parametrize(
    ("library", "code", "line"),
    [
        ("pettingzoo", "import playmolt.env", "PettingZoo is not installed: pip install 'playmolt[env]'"),
        (
            "pandas", "from playmolt_agora.studies.study import Table; Table.to_pandas(None)",
            "pandas is not installed: pip install 'playmolt-lab[pandas]'",
        ),
    ],
)  # fmt: skip
def test_a_library_that_is_missing_is_named_in_one_line_with_its_command(library: str, code: str, line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED.format(library=library, code=code)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == f"ImportError: {line}"
    name, extra = re.findall(r"'([a-z-]+)\[([a-z]+)\]'", line)[0]
    manifest = (ROOT / {"playmolt": "sdk", "playmolt-lab": "lab"}[name] / "pyproject.toml").read_text("utf-8")
    assert re.search(rf"^{extra} = \[", manifest, re.MULTILINE), "the extra exists"


def test_what_no_code_of_ours_reads_is_removed_and_nothing_else(tmp_path: Path) -> None:
    site = tmp_path / "python3.11" / "site-packages"
    removed = {
        "pyarrow/include/a.h", "pyarrow/tests/test_a.py", "pyarrow/libarrow_flight.so.2600",
        "pyarrow/libarrow_s3.so.2600", "pyarrow/_flight.cpython-311.so", "pyarrow/_s3fs.cpython-311.so",
        "numpy/_core/tests/a.py", "scipy/stats/tests/a.py",
    }  # fmt: skip
    kept = {
        "pyarrow/libarrow.so.2600", "pyarrow/libparquet.so.2600", "pyarrow/flight.py", "numpy/testing/a.py",
        "other/tests/a", "playmolt_agora/include/a.h", "numpy/_core/_multiarray_tests.so",
    }  # fmt: skip
    for name in removed | kept:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).touch()
    subprocess.run([ROOT / "deploy" / "prune.sh", tmp_path], check=True, timeout=120)
    assert {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()} == kept
    for recipe in ("Makefile", "deploy/Dockerfile"):
        assert re.search(r"prune\.sh .*/lib\b|prune\.sh \$\(VENV\)/lib", (ROOT / recipe).read_text("utf-8")), recipe
