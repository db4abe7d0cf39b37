"""A platform that the tests of this folder share."""

from collections.abc import Iterator

import pytest
from playmolt_cli.local.stack import Stack

from tests.integration.conftest import whole


@pytest.fixture(scope="session")
def shared_stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    """One for the whole folder, and for each set of variables that is asked for."""
    yield from whole(**getattr(request, "param", {}))
