"""`playmolt jury`: a whole game of the AI jury in the terminal."""

from pathlib import Path
from typing import get_args

import click
import msgspec
from playmolt_schemas.games.jury import Language, OpenJuryRequest, VerdictName
from playmolt_schemas.routes import jury as routes

from playmolt_cli.jury import overseer as jury_overseer
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.person import Person, PlayerLeft
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_cli.local.session_key import session_client, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, json_option
from playmolt_cli.terminal.terminal_text import console


@click.group()
def jury() -> None:
    """Move five AI jurors, whose votes go to a contract on a chain.

    Example: playmolt jury play --language en
    """


@jury.command()
@click.option(
    "--language", type=click.Choice(get_args(Language)), default="en", show_default=True, help="Language of the story."
)
@click.option("--session", "session_id", metavar="ID", help="Go on with a session instead of opening one.")
@click.option("--case", metavar="ID", help="A case that somebody brought. Default: the shipped one.")
@click.option("--model", default="scripted", show_default=True, help="Alias of the model that plays the jurors.")
@click.option("--auto", is_flag=True, help="Let a scripted overseer play it to the end.")
@click.option(
    "--aim", type=click.Choice(get_args(VerdictName)), default="not_guilty", show_default=True,
    help="What the scripted overseer argues for.",
)  # fmt: skip
@click.option("--name", default="overseer", show_default=True, help="Your name, when a key has to be made.")
@click.option("--url", help="The gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and _PORT.")
@click.option("--key", help="API key. Default: the one kept in the data folder, made at the first game.")
@data_option
@json_option
def play(
    language: Language, session_id: str | None, case: str | None, model: str, auto: bool, aim: VerdictName, name: str,
    url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Play a whole game: the prologue, the evidence, three witnesses, five jurors, their debate, the vote, the ending.

    Leave with q or Ctrl-C at any time; --session goes on with it. With --json the game is told on standard error and
    {session, verdict, ending} printed at the end.

    Example: playmolt jury play --auto --aim guilty
    """
    server = session_server(url, data, "jury")
    with session_client(server, key, name=name) as client:
        if session_id:
            session = client.call(routes.READ, session_id)
        else:
            session = client.call(routes.OPEN, body=OpenJuryRequest(language=language, model=model, case=case))
        page = JuryPage(console(err=as_json), JuryTexts(session.language))
        table = JuryTable(client, page, session)
        try:
            if auto:
                jury_overseer.play(table, aim)
            else:
                Person(table).play()
        except PlayerLeft:
            page.line()
            page.whole(page.words.say("session", id=table.id))
            return
        if as_json:
            _print(table)


def _print(table: JuryTable) -> None:
    session = table.look()
    if session.phase != "ended":
        raise Failure(f"{table.id} stands in the phase {session.phase}, without a verdict")
    told = {
        "session": session,
        "verdict": table.client.call(routes.VERDICT, table.id),
        "ending": table.client.call(routes.ENDING, table.id),
    }
    click.echo(msgspec.json.encode(told))
