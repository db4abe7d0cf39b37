"""Witnesses: they read the feed of every game there is, and take no message twice and none out of turn."""

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
    """Watches whatever game appears. `feeds` holds each game's messages as they came; `faults` what was wrong."""

    def __init__(self, gateway: str, spectator: str) -> None:
        self._gateway = gateway
        self._spectator = spectator
        self._reading: set[asyncio.Task[None]] = set()
        self._looks = 0
        self.feeds: dict[str, list[bytes]] = {}
        self.faults: list[str] = []

    async def watch(self) -> None:
        """Look for games and follow them, until cancelled."""
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
        """Wait until all feeds of the games that exist now were read to their end, or were silent for these seconds."""
        begun = self._looks + 1  # one look may be under way
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
        """Read by turns the spectator's feed and the gateway's, each time from where the last one broke."""
        feeds = (f"{self._spectator}/sse/games/{game}", f"{self._gateway}/api/games/{game}/stream")
        for url in itertools.cycle(feeds):
            with suppress(httpx.TransportError):
                async with http.stream("GET", url, params={"after": len(self.feeds[game])}) as answer:
                    if answer.status_code == 200 and await self._read(answer, game):
                        return
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _read(self, answer: httpx.Response, game: str) -> bool:
        """Read until the connection ends; True when there is nothing more to read."""
        reader, told = SseReader(), self.feeds[game]
        async for chunk in answer.aiter_bytes():
            for message in reader.feed(chunk):
                head = msgspec.json.decode(message, type=_Head)
                if head.version != len(told) + 1:
                    self.faults.append(f"{answer.url}: {head.version} came after {len(told)}")
                    return True
                told.append(message)
                if head.type in CLOSING:
                    return True
        return False
