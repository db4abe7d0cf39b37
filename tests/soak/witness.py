"""Witnesses, which read the feed of every game and report messages that come twice or out of order."""

import asyncio
import itertools
from contextlib import suppress
from typing import Final

import httpx
import msgspec
from playmolt.feed import CLOSING, SILENCE_SECONDS, SseReader
from playmolt_schemas.limits import PAGE_MAX

from core.tests.waiting import wait_until

_LOOK_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.3
_LISTS: Final = ("games", "agora/runs")


class _Line(msgspec.Struct):
    game_id: str


class _Lists(msgspec.Struct):
    games: list[_Line] = []
    runs: list[_Line] = []


class _Head(msgspec.Struct):
    version: int
    type: str


class Witnesses:
    """Watches every game. `feeds` has each game's messages in the order of arrival; `faults` has the errors."""

    def __init__(self, gateway: str, spectator: str) -> None:
        self._gateway = gateway
        self._spectator = spectator
        self._reading: set[asyncio.Task[None]] = set()
        self._looks = 0
        self.feeds: dict[str, list[bytes]] = {}
        self.faults: list[str] = []

    async def watch(self) -> None:
        """Look for games and follow them until cancelled."""
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=httpx.Timeout(10, read=SILENCE_SECONDS), limits=limits) as http:
            try:
                while True:
                    for game in await self._games(http):
                        if game not in self.feeds:
                            self.feeds[game] = []
                            self._reading.add(asyncio.create_task(self._follow(http, game)))
                    self._looks += 1
                    await asyncio.sleep(_LOOK_SECONDS)
            finally:
                for task in self._reading:
                    task.cancel()
                await asyncio.gather(*self._reading, return_exceptions=True)

    async def read(self, seconds: float) -> None:
        """Wait until all feeds of the existing games were read to their end, or were silent for `seconds`."""
        begun = self._looks + 1  # a look may be in progress
        heard = -1
        while heard != (heard := sum(map(len, self.feeds.values()))):
            with suppress(TimeoutError):
                await wait_until(lambda: self._looks > begun and all(task.done() for task in self._reading), seconds)
                return

    async def _games(self, http: httpx.AsyncClient) -> list[str]:
        found: list[str] = []
        for name in _LISTS:
            with suppress(httpx.TransportError):
                answer = await http.get(f"{self._gateway}/api/{name}?limit={PAGE_MAX}")
                if answer.status_code == 200:
                    lists = msgspec.json.decode(answer.content, type=_Lists)
                    found += [line.game_id for line in (*lists.games, *lists.runs)]
        return found

    async def _follow(self, http: httpx.AsyncClient, game: str) -> None:
        """Read the spectator's and the gateway's feed in turns, each from the point where the last one broke."""
        feeds = (f"{self._spectator}/sse/games/{game}", f"{self._gateway}/api/games/{game}/stream")
        for url in itertools.cycle(feeds):
            with suppress(httpx.TransportError):
                async with http.stream("GET", url, params={"after": len(self.feeds[game])}) as answer:
                    if answer.status_code == 200 and await self._read(answer, game):
                        return
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _read(self, answer: httpx.Response, game: str) -> bool:
        """Read until the connection ends; return True if the feed is complete."""
        reader, messages = SseReader(), self.feeds[game]
        async for chunk in answer.aiter_bytes():
            for message in reader.feed(chunk):
                head = msgspec.json.decode(message, type=_Head)
                if head.version != len(messages) + 1:
                    self.faults.append(f"{answer.url}: {head.version} came after {len(messages)}")
                    return True
                messages.append(message)
                if head.type in CLOSING:
                    return True
        return False
