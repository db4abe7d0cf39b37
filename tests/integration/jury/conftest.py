"""A platform and a model, shared by the files of this folder that need no special settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.tests.llm.fake_server import FakeServer
from tests.integration.models.fake_model import fake_model, platform_with
from tests.platforms import Stack


@pytest.fixture(scope="session")
def model() -> Iterator[FakeServer]:
    with fake_model() as server:
        yield server


@pytest.fixture(scope="session")
def running(session_folder: Path, model: FakeServer) -> Iterator[Stack]:
    with platform_with(model, session_folder / "jury", "--only", "trial-engine") as running:
        yield running
