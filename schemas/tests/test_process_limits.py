"""Limits of a process are those that the system has; which ones it lacks can be seen."""

import subprocess
import sys

import pytest
from playmolt_schemas.process_limits import NAMES, missing_here

TAKEN = {
    "none": "",
    "no /proc": """
import builtins
_open = builtins.open
def opened(file, *more, **named):
    if str(file).startswith("/proc"):
        raise FileNotFoundError(file)
    return _open(file, *more, **named)
builtins.open = opened
""",
    "refused": """
import resource
_set = resource.setrlimit
def limited(which, bounds):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set(which, bounds)
resource.setrlimit = limited
""",
    "forgotten": """
import resource
_set = resource.setrlimit
resource.setrlimit = lambda which, bounds: None if which == resource.RLIMIT_AS else _set(which, bounds)
""",
    "absent": "import resource; del resource.RLIMIT_AS",
}
RUN = "\nimport runpy; runpy.run_module('playmolt_schemas.process_limits', run_name='__main__')"
USING = """
import os
from playmolt_schemas.process_limits import MemoryLimit
limit = MemoryLimit(32 * 1024 * 1024, lambda: os._exit(3))
try:
    kept = [bytes([1]) * 1024 * 1024 for _ in range(512)]
except MemoryError:
    os._exit(3)
limit.check()
"""


@pytest.mark.parametrize(
    ("taken", "lacking"),
    [("none", ()), *((taken, ("RLIMIT_AS",)) for taken in ("no /proc", "refused", "forgotten", "absent"))],
)
def test_the_limit_that_the_system_lacks_is_named(taken: str, lacking: tuple[str, ...]) -> None:
    assert missing_here((sys.executable, "-I", "-c", TAKEN[taken] + RUN)) == lacking


def test_a_probe_that_does_not_answer_holds_nothing() -> None:
    assert missing_here((sys.executable, "-c", "raise SystemExit(1)")) == tuple(NAMES)
    assert missing_here(("/nowhere",)) == tuple(NAMES)


@pytest.mark.parametrize("taken", TAKEN)
def test_a_process_that_takes_too_much_memory_ends_whatever_the_system_lacks(taken: str) -> None:
    # A process begins with the highest memory of the one that started it: here of a shell, not of the tests.
    started = ("/bin/sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-I", "-c", TAKEN[taken] + USING)
    done = subprocess.run(started, timeout=60, check=False)
    assert done.returncode == 3
