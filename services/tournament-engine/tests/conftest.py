"""Fixtures of the tests of tournaments."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tournament_driver import Driver


@pytest.fixture
def tournament() -> Driver:
    """A tournament that does not exist yet."""
    return Driver()
