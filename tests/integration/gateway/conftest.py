"""`platform` is a whole `up` that all tests of the gateway share; every test finds it without a waiting game."""

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
