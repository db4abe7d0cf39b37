"""`playmolt inspect`: games, sessions and experiments as logs of Inspect AI."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from playmolt_schemas.skill import PageLanguage

from playmolt_cli.inspect.eval_file import need_inspect, write
from playmolt_cli.inspect.sources import LogSource, SourceRefused, checked_source
from playmolt_cli.terminal.options import data_option, language_option


@click.group()
def inspect() -> None:
    """Hand games, sessions and experiments to Inspect AI.

    Example: playmolt inspect export ox-0190… --out logs, then inspect view --log-dir logs
    """


@inspect.command()
@click.argument("sources", metavar="GAME|SESSION|EXPERIMENT…", nargs=-1, required=True)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Folder of the logs."
)
@click.option(
    "--url", help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT."
)
@click.option(
    "--key",
    help="API key: the owner's of a session or private game, the operator's of an experiment. Default: those in the "
    "data folder.",
)
@language_option
@data_option
def export(
    sources: Sequence[str], out: Path, url: str | None, key: str | None, language: PageLanguage, data: Path | None
) -> None:
    """Write each game, session and experiment as an .eval log; prints the files.

    What cannot be exported is reported, and the others are written; exit status 2.

    A log has one sample for each game, session or run: messages, model calls, uses of tools, and scores. Games and runs
    that are still running are exported as spectators see them. Sessions need their owner's key and must be over. An
    EXPERIMENT may also be a bundle, a folder or its zip file, which needs no platform.

    Needs the extra `inspect`: pip install playmolt-cli[inspect].

    Example: playmolt inspect export ox-0190… jury-0190… --out logs
    """
    found = [checked_source(source) for source in sources]
    need_inspect()
    refused = False
    for source in found:
        try:
            for path in _written(source, out, url, key, language, data):
                click.echo(str(path))
        except SourceRefused as failure:
            refused = True
            failure.show()
    if refused:
        raise click.exceptions.Exit(SourceRefused.exit_code)


def _written(
    source: LogSource, out: Path, url: str | None, key: str | None, language: PageLanguage, data: Path | None
) -> Iterator[Path]:
    fetched = source.fetch(url, key, data, language)
    for note in fetched.notes:
        click.echo(note, err=True)
    yield write(fetched.content, out)
