"""Fills games: agents that have waited long enough in a public lobby, or that requested it, get house bots.

All goes over the public API.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from playmolt.bots.house_bots import house_bots
from playmolt.client import AsyncClient
from playmolt.errors import PlayMoltError, Refused
from playmolt.loop import Bot
from playmolt_core.ops.telemetry import log
from playmolt_schemas.api import GameRow, GameToFill
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.routes.tournaments import HouseTableRow
from playmolt_schemas.stored.values import DEFAULT_PACE

from playmolt_cli.house.models import HouseModels

CHECK_SECONDS: Final = 1.0
LOBBY_SECONDS: Final = 5.0
"""How often to look for lobbies while there is none. A new one waits since it was opened, so it is filled no later."""
PATIENCE_SECONDS: Final = 7200.0
MOST_SEATS: Final = 500
"""Maximum number of house bots playing at once; further lobbies wait until some are free."""
_log = log("house")


class _Guest(msgspec.Struct):
    """A house bot in a game."""

    client: AsyncClient
    playing: asyncio.Task[Any]


class LobbyFiller:
    """Checks all lobbies periodically. House bots never start a game or wait in one alone; `seconds` 0 disables
    lobbies."""

    def __init__(
        self, url: str, key: str, seconds: float, models: HouseModels, *, seed: str = "house",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        # Their polls, each second, would be nearly all traces of a quiet platform.
        self._anybody = AsyncClient(url, traced=False)
        self._house = AsyncClient(url, key, traced=False)
        self._url = url
        self._key = key
        self._seconds = seconds
        self._models = models
        self._seed = seed
        self._clock = clock
        self._waiting_since: dict[str, float] = {}
        self._looked_at: float | None = None
        self._listed: frozenset[str] = frozenset()
        """The lobbies of that time, also the empty ones."""
        self._guests: dict[str, list[_Guest]] = {}
        self._idle: dict[str, list[AsyncClient]] = {}
        self._seated = 0
        self.answered = False
        """Whether the platform answered the last check."""

    async def run(self) -> None:
        while True:
            try:
                await self.check()
                self.answered = True
            except PlayMoltError as error:
                self.answered = False
                _log.warning("platform_away", detail=str(error)[:300])
            await asyncio.sleep(CHECK_SECONDS)

    async def check(self) -> None:
        """Fill games that request it or have waited long enough; leave lobbies with house bots only."""
        for asking in (await self._house.games_to_fill()).games:
            await self._fill(asking, asking.needed - asking.seated, asking.invite)
        for table in (await self._house.house_tables()).tables:
            await self._take_table(table)
        if self._seconds and self._looks():
            await self._check_lobbies()

    async def close(self) -> None:
        """Give up the seats in waiting games. Running games continue after a restart, or miss deadlines."""
        for game_id in list(self._guests):
            await self._leave(game_id)
        clients = [client for idle in self._idle.values() for client in idle]
        await asyncio.gather(self._anybody.aclose(), self._house.aclose(), *(client.aclose() for client in clients))

    async def _take_table(self, table: HouseTableRow) -> None:
        """Play the seats of house bots in a tournament's game, with keys that void those of an earlier process."""
        if table.game_id in self._guests or sum(map(len, self._guests.values())) >= MOST_SEATS:
            return
        try:
            seats = (await self._house.take_house_seats(table.game_id)).seats
        except Refused:
            return  # the game has ended since
        guests = self._guests[table.game_id] = list[_Guest]()
        for seat in seats:
            client = AsyncClient(self._url, seat.api_key)
            bot = self._scripted(table.gameType, self._seated)
            self._seated += 1
            playing = asyncio.create_task(self._play(client, bot, table.gameType, table.game_id, None))
            guests.append(_Guest(client, playing))

    def _looks(self) -> bool:
        """Whether to look for lobbies now."""
        rest = min(LOBBY_SECONDS, self._seconds / 4)
        return bool(self._listed) or self._looked_at is None or self._clock() >= self._looked_at + rest

    async def _check_lobbies(self) -> None:
        now = self._clock()
        listed = (await self._anybody.games(phase="waiting", limit=PAGE_MAX)).games
        lines = [line for line in listed if line.gameType in house_bots()]
        # A new lobby was opened after the last look, whatever the clocks of other machines say.
        longest = 0.0 if self._looked_at is None else now - self._looked_at
        seated = [line for line in lines if line.seated]
        self._waiting_since = {
            line.game_id: self._waiting_since.get(
                line.game_id, now if line.game_id in self._listed else now - max(0.0, min(_age(line), longest))
            )
            for line in seated
        }
        self._looked_at, self._listed = now, frozenset(line.game_id for line in lines)
        for line in seated:
            await self._check_lobby(line)

    async def _check_lobby(self, line: GameRow) -> None:
        participants = (await self._anybody.state(line.game_id))["participants"]
        if all(seat.get("kind") == "house" for seat in participants):
            self._waiting_since.pop(line.game_id)
            await self._leave(line.game_id)
            return
        if self._clock() - self._waiting_since[line.game_id] < self._seconds:
            return
        await self._fill(line, line.needed - len(participants))

    async def _fill(self, game: GameRow | GameToFill, missing: int, invite: str | None = None) -> None:
        """Take the missing seats, as far as house bots are available."""
        free = MOST_SEATS - sum(map(len, self._guests.values()))
        for _ in range(min(missing, free)):
            if not await self._seat(game, invite):
                return

    async def _seat(self, game: GameRow | GameToFill, invite: str | None) -> bool:
        """Join; False if the seat is in another game, because other agents filled this one first."""
        number = self._seated
        alias = self._models.next_alias() if number % 2 else None
        name = f"house {alias}" if alias else f"house {number + 1}"
        pool = self._idle.setdefault(alias or "", [])
        client = pool.pop() if pool else await self._registered(name, alias)
        try:
            pace = game.pace if isinstance(game, GameRow) else DEFAULT_PACE
            joined = await client.join(game.gameType, language=game.language, pace=pace, invite=invite)
        except PlayMoltError:
            await client.aclose()
            raise
        self._seated += 1
        bot = self._models.bot(alias, name) if alias else self._scripted(game.gameType, number)
        playing = asyncio.create_task(self._play(client, bot, game.gameType, joined.game_id, pool))
        self._guests.setdefault(joined.game_id, []).append(_Guest(client, playing))
        return joined.game_id == game.game_id

    def _scripted(self, game: str, number: int) -> Bot:
        bots = house_bots()[game]
        return bots.make(bots.mixed[number % len(bots.mixed)], f"{self._seed}/{number}")

    async def _registered(self, name: str, alias: str | None) -> AsyncClient:
        client = AsyncClient(self._url, self._key)
        try:
            await client.register(name, kind="house", model=alias)
        except BaseException:
            await client.aclose()
            raise
        return client

    async def _play(
        self, client: AsyncClient, bot: Bot, game: str, game_id: str, pool: list[AsyncClient] | None
    ) -> None:
        """Play a seat; `pool` takes the client afterwards, if it may play other games."""
        try:
            await client.play(bot, game, game_id=game_id, patience=PATIENCE_SECONDS)
        except PlayMoltError as error:
            _log.warning("seat_failed", game=game_id, error=type(error).__name__, detail=str(error)[:300])
            await client.aclose()
        else:
            if pool is None:
                await client.aclose()
            else:
                pool.append(client)
        finally:
            self._forget(game_id)

    def _forget(self, game_id: str) -> None:
        guests = self._guests.get(game_id, [])
        left = [guest for guest in guests if guest.playing is not asyncio.current_task()]
        if left:
            self._guests[game_id] = left
        else:
            self._guests.pop(game_id, None)
            self._models.end(game_id)

    async def _leave(self, game_id: str) -> None:
        """Stop playing a game, and leave it if it is still waiting."""
        guests: Sequence[_Guest] = self._guests.pop(game_id, [])
        for guest in guests:
            guest.playing.cancel()
        await asyncio.gather(*(guest.playing for guest in guests), return_exceptions=True)
        for guest in guests:
            try:
                await guest.client.leave(game_id)
            except PlayMoltError as error:
                _log.info("seat_kept", game=game_id, detail=str(error)[:300])
            await guest.client.aclose()
        self._models.end(game_id)


def _age(line: GameRow) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(line.created_at)).total_seconds()
