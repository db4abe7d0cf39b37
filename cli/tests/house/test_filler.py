"""When the house looks for lobbies, and since when one waits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from playmolt.client import AsyncClient
from playmolt_cli.house.filler import LOBBY_SECONDS, LobbyFiller
from playmolt_cli.house.models import HouseModels
from playmolt_schemas.api import GameRow, Games, GamesToFill
from playmolt_schemas.routes.tournaments import HouseTables

FILL = 20.0


class Platform:
    """The answers that the filler asks for, and a clock."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.looks = 0
        self.lobbies: list[GameRow] = []
        self.filled: list[tuple[str, float]] = []

    async def games_to_fill(self) -> GamesToFill:
        return GamesToFill([])

    async def house_tables(self) -> HouseTables:
        return HouseTables([])

    async def games(self, **_: object) -> Games:
        self.looks += 1
        return Games(self.lobbies, None)

    async def state(self, _: str) -> dict[str, Any]:
        return {"participants": [{"kind": "bot"}]}

    def row(self, seated: int, *, age: float) -> GameRow:
        at = datetime.now(UTC) - timedelta(seconds=age)
        return GameRow("ox-1", "ox", "waiting", 0, seated, 5, at.isoformat())


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
def filler(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> LobbyFiller:
    made = LobbyFiller("http://127.0.0.1:9", "key", FILL, cast("HouseModels", None), clock=lambda: platform.now)
    made._house = made._anybody = cast("AsyncClient", platform)

    async def fill(game: GameRow, _: int) -> None:
        platform.filled.append((game.game_id, platform.now))

    monkeypatch.setattr(made, "_fill", fill)
    return made


async def checked(filler: LobbyFiller, platform: Platform, rows: Sequence[GameRow], seconds: int) -> None:
    platform.lobbies = list(rows)
    for _ in range(seconds):
        await filler.check()
        platform.now += 1


async def test_while_there_is_no_lobby_the_house_looks_every_few_seconds(
    filler: LobbyFiller, platform: Platform
) -> None:
    await checked(filler, platform, [], 20)
    assert platform.looks == 20 / LOBBY_SECONDS


async def test_a_lobby_of_the_time_between_two_looks_is_filled_as_soon_as_ever(
    filler: LobbyFiller, platform: Platform
) -> None:
    await checked(filler, platform, [], 1)
    platform.now += LOBBY_SECONDS
    opened = platform.now - 3
    await checked(filler, platform, [platform.row(1, age=3)], 20)
    assert platform.filled[0] == ("ox-1", opened + FILL)


async def test_a_clock_that_is_ahead_fills_no_lobby_too_soon(filler: LobbyFiller, platform: Platform) -> None:
    await checked(filler, platform, [], 1)
    looked = platform.now - 1
    platform.now += LOBBY_SECONDS
    await checked(filler, platform, [platform.row(1, age=3_600)], 20)
    assert platform.filled[0][1] >= looked + FILL


async def test_an_old_lobby_waits_since_somebody_took_a_seat(filler: LobbyFiller, platform: Platform) -> None:
    await checked(filler, platform, [platform.row(0, age=3_600)], 3)
    joined = platform.now
    await checked(filler, platform, [platform.row(1, age=3_600)], 21)
    assert platform.filled == [("ox-1", joined + FILL)]
