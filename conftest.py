"""What holds for every test of the repository."""

import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from xdist.scheduler import LoadScopeScheduling

_USED = (
    "tests/browser/", "tests/deploy/", "cli/tests/", "services/trial-engine/tests/chain/",
    "tests/integration/test_rows_", "tests/integration/test_jury", "tests/integration/test_legal",
)  # fmt: skip
"""Tests that start processes to use them."""
_BROKEN = ("tests/",)
"""The other tests that start processes, to kill most of them. Each of the two is one piece, whose tests run one after
another in one worker: neighbours share platforms, and with more than two of those at work on two cores waits would
become too long."""


class _Shares(LoadScopeScheduling):
    """Shares tests out by file, those that start processes as two pieces."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(_USED):
            return "used"
        return "broken" if nodeid.startswith(_BROKEN) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Shares:
    """Give `-n` its way of sharing tests out."""
    return _Shares(config, log)


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
