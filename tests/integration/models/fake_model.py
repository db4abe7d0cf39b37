"""A fake model for a module of tests, on its own event loop, so that all tests can share one platform."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.tests.llm.fake_server import FakeServer
from tests.platforms import Stack

_SECONDS = 60


@contextmanager
def fake_model() -> Iterator[FakeServer]:
    """Serve a fake model while the context lasts."""
    loop, server = asyncio.new_event_loop(), FakeServer()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(_SECONDS)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_SECONDS)
        loop.close()


def platform_with(model: FakeServer, folder: Path, *options: str, **environment: str) -> Stack:
    """A platform, not yet started, whose catalogue has the model as `fake`."""
    folder.mkdir(mode=0o755, exist_ok=True)
    catalogue = folder / "models.toml"
    catalogue.write_text(model.toml())
    own = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": str(catalogue)}
    return Stack(folder / "data", options, {**own, **environment})
