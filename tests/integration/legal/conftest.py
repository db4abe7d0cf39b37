"""A platform and a model, shared by the files of this folder that need no special settings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.tests.llm.fake_server import FakeServer
from tests.integration.conftest import OWN_SERVERS
from tests.integration.legal.person import Roles
from tests.integration.models.fake_model import fake_model
from tests.platforms import Stack


@pytest.fixture(scope="session")
def model() -> Iterator[FakeServer]:
    with fake_model() as server:
        yield server


@pytest.fixture
def server(model: FakeServer) -> FakeServer:
    """The model, without the requests and answers of other tests."""
    model.forget()
    model.otherwise = Roles()
    return model


@pytest.fixture(scope="session")
def catalogue(model: FakeServer, session_folder: Path) -> Path:
    """A catalogue with that model as `fake`, and as `streaming`, which sends its answers in pieces."""
    path = session_folder / "legal-models.toml"
    path.write_text(model.toml("fake") + model.toml("streaming", stream=True))
    return path


@pytest.fixture(scope="session")
def platform(session_folder: Path, catalogue: Path) -> Iterator[Stack]:
    with Stack(session_folder / "legal", (), {**OWN_SERVERS, "PLAYMOLT_MODELS": str(catalogue)}) as running:
        yield running
