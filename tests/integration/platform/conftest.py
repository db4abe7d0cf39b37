"""Platforms that the tests of this folder share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import OWN_SERVERS, complete, whole
from tests.platforms import Stack


@pytest.fixture(scope="session")
def shared_stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """One platform for the whole folder, and one for each requested set of variables."""
    yield from whole(**getattr(request, "param", {}))


@pytest.fixture(scope="session")
def shared_double(session_folder: Path) -> Iterator[Stack]:
    twice = ("--engines", "2", "--gateways", "2", "--spectators", "2")
    with Stack(session_folder / "doubled", twice, {**OWN_SERVERS, "PLAYMOLT_LOG_SHARDS": "3"}) as stack:
        yield stack


@pytest.fixture
def doubled(shared_double: Stack) -> Stack:
    """A platform with two processes of each service and a log of three shards; otherwise like `running`."""
    return complete(shared_double)
