"""A platform that the tests of this folder share."""

from collections.abc import Iterator

import pytest

from tests.integration.conftest import whole
from tests.platforms import Stack


@pytest.fixture(scope="session")
def shared_stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """One for the whole folder, and for each set of variables that is asked for."""
    yield from whole(**getattr(request, "param", {}))
