"""Plays a pack on a temporary platform."""

import asyncio
import tempfile
from pathlib import Path

from playmolt.bots.house import seats
from playmolt.client import AsyncClient, Client
from playmolt.loop import GameResult
from playmolt_core.game.packs.entries import EntryPack
from playmolt_jury.content.pack import Pack
from playmolt_schemas.api import GameType
from playmolt_schemas.games.jury import EndingView, OpenJuryRequest, VerdictView
from playmolt_schemas.routes import jury as routes
from playmolt_schemas.stored.jury import Language, VerdictName
from playmolt_schemas.stored.values import GameLanguage
from rich.console import Console

from playmolt_cli.jury import overseer
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.person import Person, PlayerLeft
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_cli.local.stack import Stack
from playmolt_cli.terminal.narration import Narration


def play_through(
    folder: Path, pack: EntryPack[object], game: GameType, language: GameLanguage, out: Console
) -> GameResult:
    """Play a private game of a pack with house bots and narrate it; returns the result of one bot."""
    with tempfile.TemporaryDirectory(prefix="playmolt-") as kept:
        stack = Stack(Path(kept) / "data", environment={"PLAYMOLT_PACKS": str(folder.resolve())})
        with stack:
            return asyncio.run(_played(stack.run.gateway, pack, game, language, out))


async def _played(
    url: str, pack: EntryPack[object], game: GameType, language: GameLanguage, out: Console
) -> GameResult:
    (bot,) = seats(game, 1)
    narration = Narration(game, language)
    async with AsyncClient(url) as client:
        await client.register("house")
        opened = await client.open_game(game, language=language, fill="house", fill_after_seconds=0, pack=pack.id)
        result = await client.play(bot, game, game_id=opened.game_id)
        async for message in client.events(opened.game_id):
            if line := narration.sentence(message):
                out.print(line, markup=False, highlight=False)
        return result


def play(
    folder: Path, pack: Pack, language: Language, out: Console, *, auto: bool, aim: VerdictName, seed: int
) -> tuple[VerdictView, EndingView] | None:
    """Play a jury pack; returns verdict and ending, or None if the user leaves."""
    with tempfile.TemporaryDirectory(prefix="playmolt-") as kept:
        stack = Stack(Path(kept) / "data", environment={"PLAYMOLT_PACKS": str(folder.resolve())})
        with stack, Client(stack.run.gateway, "") as guest:
            key = guest.register("overseer").api_key
            with Client(stack.run.gateway, key) as client:
                session = client.call(routes.OPEN, body=OpenJuryRequest(language=language, case=pack.id))
                table = JuryTable(client, JuryPage(out, JuryTexts(language)), session)
                try:
                    overseer.play(table, aim, seed) if auto else Person(table).play()
                except PlayerLeft:
                    return None
                return client.call(routes.VERDICT, table.id), client.call(routes.ENDING, table.id)
