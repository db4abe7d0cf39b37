import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sdk_arena import Arena, serving


@pytest.fixture
def arena() -> Iterator[Callable[[Any], Arena]]:
    """A function that starts a server with a game's real rules."""
    running = []

    def start(decider: Any) -> Arena:
        server = serving(Arena(decider))
        running.append(server)
        return server.__enter__()

    yield start
    for server in running:
        server.__exit__(None, None, None)
