"""Models that play by hand, from the command line."""

from collections.abc import Callable
from pathlib import Path

from playmolt.bots.house import run_bots
from playmolt.client import AsyncClient
from playmolt.loop import GameResult
from playmolt_core.llm.catalogue import load
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_schemas.api import GameType, Joined

from playmolt_cli.house.budget import InvalidBudget, account_of
from playmolt_cli.house.models import HouseModels, UnknownAlias
from playmolt_cli.local.folder import Folder
from playmolt_cli.model_seats.requests import InvalidPrompt, cast, of_file
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings


class ModelPlayers:
    """A model in each seat, registered with the house key. Calls and prompts are stored in the data folder."""

    def __init__(self, alias: str, prompt: Path | None, data: Path | None, count: int, key: str) -> None:
        """Raises Failure."""
        settings = read_settings()
        folder = Folder(data or settings.data)
        self._key = key
        if not key:
            raise Failure(f"A model needs the house key. Set PLAYMOLT_HOUSE_KEY, or start `up` on {folder.path}.")
        self._alias = alias
        self._count = count
        catalogue = load(settings.models)
        models = Models(catalogue, MemoryLimits(), cast(), seed="house")
        try:
            own = None if prompt is None else of_file(prompt)
            account = account_of(settings.house_budget)
            self._models = HouseModels([alias], catalogue, models, folder.path / "house", account, own)
        except (InvalidBudget, InvalidPrompt, UnknownAlias) as error:
            raise Failure(str(error)) from error

    async def play(self, url: str, game: GameType, on_seated: Callable[[Joined], None]) -> list[GameResult]:
        name = f"house {self._alias}"
        bots = [self._models.bot(self._alias, name) for _ in range(self._count)]

        async def register(client: AsyncClient, _: int) -> None:
            await client.register(name, kind="house", model=self._alias)

        try:
            return await run_bots(url, game, bots, register, key=self._key, seated=on_seated)
        finally:
            await self._models.close()
