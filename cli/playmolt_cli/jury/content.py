"""`playmolt content`: the stories that writers edit."""

import click
import msgspec
from playmolt_jury.content import check as jury_check

from playmolt_cli.terminal.options import json_option


@click.group()
def content() -> None:
    """Look after the content that writers edit without touching code.

    Example: playmolt content check
    """


@content.command()
@json_option
def check(as_json: bool) -> None:
    """Prove that the case of the AI jury can be played: every lock opens, no talk is a dead end, every ending can be
    reached, both languages are complete. Exit status 1 on a fault.

    Example: playmolt content check --json
    """
    faults, summary = jury_check.report()
    if as_json:
        click.echo(msgspec.json.encode({"ok": not faults, "faults": faults, "summary": summary}))
    else:
        for fault in faults:
            click.echo(f"FAULT  {fault}")
        click.echo(summary)
    if faults:
        raise SystemExit(1)
