"""A platform that the tests of this folder share."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playmolt_cli.local import probe
from playmolt_cli.local.folder import Run
from playmolt_cli.local.stack import Stack

from tests.integration.conftest import OWN_SERVERS, SECONDS


@pytest.fixture(scope="session")
def _shared_stack(session_folder: Path) -> Iterator[Stack]:
    with Stack(session_folder / "running", environment=OWN_SERVERS) as stack:
        yield stack


@pytest.fixture
def running(_shared_stack: Stack) -> Stack:
    """One of everything, shared by tests that kill what they like: it comes back, and nothing is lost.

    Each test finds it whole: the one before may have killed something with its last line.
    """
    until = time.monotonic() + SECONDS
    while missing := _missing(_shared_stack.run):
        assert time.monotonic() < until, f"{missing}; `up` said:\n{_shared_stack.log.read_text()[-3000:]}"
        time.sleep(0.05)
    return _shared_stack


def _missing(run: Run) -> dict[str, str]:
    """What of a platform is not ready, and why."""
    asked = {name: probe.ready(url) for name, url in {"gateway": f"{run.gateway}/readyz", **run.health}.items()}
    return {name: answer.missing or "does not answer" for name, answer in asked.items() if not answer.ready}
