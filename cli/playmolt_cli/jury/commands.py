"""`playmolt jury`: the AI jury game in the terminal."""

from pathlib import Path
from typing import get_args

import click
from playmolt_schemas.games.jury import OpenJuryRequest
from playmolt_schemas.routes import jury as routes
from playmolt_schemas.stored.jury import Language, VerdictName

from playmolt_cli.jury import overseer as jury_overseer
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.panel import panel
from playmolt_cli.jury.person import Person, PlayerLeft
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_cli.local.session_key import session_client, session_server
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option
from playmolt_cli.terminal.terminal_text import console


@click.group()
def jury() -> None:
    """Persuade five AI jurors, whose votes are recorded in a contract on a chain.

    Example: playmolt jury play --language en
    """


jury.add_command(panel)


@jury.command()
@click.option(
    "--language", type=click.Choice(get_args(Language)), default="en", show_default=True, help="Language of the story."
)
@click.option("--session", "session_id", metavar="ID", help="Continue this session instead of opening one.")
@click.option("--case", metavar="ID", help="Case from an installed pack. Default: the shipped case.")
@click.option("--model", default="scripted", show_default=True, help="Alias of the model that plays the jurors.")
@click.option("--auto", is_flag=True, help="Let a scripted overseer play to the end.")
@click.option(
    "--aim", type=click.Choice(get_args(VerdictName)), default="not_guilty", show_default=True,
    help="What the scripted overseer argues for.",
)  # fmt: skip
@click.option("--invite-code", help="Invite code of the operator, used when a key is created.")
@click.option(
    "--url", help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT."
)
@click.option("--key", help="API key. Default: the one stored in the data folder, created with the first game.")
@data_option
@json_option
def play(
    language: Language, session_id: str | None, case: str | None, model: str, auto: bool, aim: VerdictName,
    invite_code: str | None,
    url: str | None, key: str | None, data: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Play a whole game: prologue, evidence, three witnesses, five jurors, deliberation, vote and ending.

    Leave with q or Ctrl-C at any time; continue with --session. With --json the game is shown on standard error and
    {session, verdict, ending} is printed at the end.

    Example: playmolt jury play --auto --aim guilty
    """
    server = session_server(url, data, "jury")
    with session_client(server, key, visits=True, invite_code=invite_code) as client:
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
        raise Failure(f"{table.id} has no verdict; it is in phase {session.phase}.")
    result = {
        "session": session,
        "verdict": table.client.call(routes.VERDICT, table.id),
        "ending": table.client.call(routes.ENDING, table.id),
    }
    echo_json(result)
