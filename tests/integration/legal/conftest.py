"""A platform and a model that the files of this folder share which need no settings of their own."""

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
    """The model, without what another test asked and scripted."""
    model.forget()
    model.otherwise = Roles()
    return model


@pytest.fixture(scope="session")
def catalogue(model: FakeServer, session_folder: Path) -> Path:
    """Of that model: `fake`, and `streaming`, which is asked for its answer in pieces."""
    path = session_folder / "legal-models.toml"
    path.write_text(model.toml("fake") + model.toml("streaming", stream=True))
    return path


@pytest.fixture(scope="session")
def platform(session_folder: Path, catalogue: Path) -> Iterator[Stack]:
    with Stack(session_folder / "legal", (), {**OWN_SERVERS, "PLAYMOLT_MODELS": str(catalogue)}) as running:
        yield running
