"""`platform` is an `up` that all tests of the gateway share; at the start of each test no game waits for players."""

from collections.abc import Iterator

import pytest

from tests.integration.gateway.rows import Platform, started


@pytest.fixture(scope="session")
def shared_platform() -> Iterator[Platform]:
    yield from started()


@pytest.fixture
def platform(shared_platform: Platform) -> Platform:
    shared_platform.clear()
    return shared_platform
