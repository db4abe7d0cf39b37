"""Following a game on the spectator's feed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
from playmolt.feed import CLOSING, SILENCE_SECONDS, SseReader

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.25


class FeedLost(ConnectionError):
    """The feed broke off and could not be taken up again."""


async def watch(spectator: str, game_id: str) -> AsyncIterator[dict[str, Any]]:
    """Every public message of a game, in order, until its closing one; reconnects where it stopped.

    Raises FeedLost after twenty connections in a row that brought nothing.
    """
    version, failures = 0, 0
    async with httpx.AsyncClient(timeout=httpx.Timeout(SILENCE_SECONDS, connect=5)) as client:
        while failures < _ATTEMPTS:
            failures += 1
            try:
                async with client.stream(
                    "GET", f"{spectator}/sse/games/{game_id}", params={"after": version}
                ) as answer:
                    async for message in _messages(answer):
                        if message["version"] <= version:
                            continue
                        version, failures = message["version"], 0
                        yield message
                        if message["type"] in CLOSING:
                            return
            except httpx.TransportError:
                pass
            await asyncio.sleep(_PAUSE_SECONDS)
    raise FeedLost(f"the feed of {game_id} at {spectator} brings nothing after event {version}: look at /readyz there")


async def _messages(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    if answer.status_code != 200:
        return
    reader = SseReader()
    async for chunk in answer.aiter_bytes():
        for data in reader.feed(chunk):
            yield msgspec.json.decode(data, type=dict[str, Any])
