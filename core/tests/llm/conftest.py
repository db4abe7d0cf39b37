"""Models on a fake server."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.tests.llm.connected_model import Connect, ConnectedModel
from core.tests.llm.fake_server import FakeServer, Step


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def connected(server: FakeServer) -> AsyncIterator[Connect]:
    made: list[ConnectedModel] = []

    def make(*steps: Step, **parts: Any) -> ConnectedModel:
        server.script(*steps)
        made.append(ConnectedModel(server, **parts))
        return made[-1]

    yield make
    for each in made:
        await each.model.close()
