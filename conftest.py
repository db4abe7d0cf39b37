"""What holds for every test of the repository."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

ROOT = Path(__file__).parent
_PLATFORM = ("tests", "cli/tests", "services/trial-engine/tests/chain")
"""Folders whose tests start processes. They run one after another in one worker, and everything else beside them: two
platforms at once on two cores would make each other's waits too long."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tell `--dist loadgroup` which tests belong together."""
    for item in items:
        if item.path.relative_to(ROOT).as_posix().startswith(tuple(f"{folder}/" for folder in _PLATFORM)):
            item.add_marker(pytest.mark.xdist_group("platform"))


RECURSION_LIMIT = sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def _recursion_as_it_was() -> None:
    """The libraries of the embedded chain raise the limit for their whole process, past what its stack holds.

    In the services they live in a process of their own; here a reply nested too deeply would end the tests.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command under test sets up logging for its process, which is the tests' own."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers[:] = handlers
    root.setLevel(level)
