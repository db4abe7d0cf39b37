"""A pack played on a platform of its own, which leaves nothing behind."""

import tempfile
from pathlib import Path

from playmolt.client import Client
from playmolt_jury.content.pack import Pack
from playmolt_schemas.games.jury import EndingView, Language, OpenJuryRequest, VerdictName, VerdictView
from playmolt_schemas.routes import jury as routes
from rich.console import Console

from playmolt_cli.jury import overseer
from playmolt_cli.jury.page import Page
from playmolt_cli.jury.person import Left, Person
from playmolt_cli.jury.table import Table
from playmolt_cli.jury.words import Words
from playmolt_cli.local.stack import Stack


def play(
    folder: Path, pack: Pack, language: Language, out: Console, *, auto: bool, aim: VerdictName, seed: int
) -> tuple[VerdictView, EndingView] | None:
    """The verdict and the ending; None when the person leaves before."""
    with tempfile.TemporaryDirectory(prefix="playmolt-") as kept:
        stack = Stack(Path(kept) / "data", environment={"PLAYMOLT_PACKS": str(folder.resolve())})
        with stack, Client(stack.run.gateway, "") as guest:
            key = guest.register("overseer").api_key
            with Client(stack.run.gateway, key) as client:
                session = client.call(routes.OPEN, body=OpenJuryRequest(language=language, case=pack.id))
                table = Table(client, Page(out, Words(language)), session)
                try:
                    overseer.play(table, aim, seed) if auto else Person(table).play()
                except Left:
                    return None
                return client.call(routes.VERDICT, table.id), client.call(routes.ENDING, table.id)
