"""The `playmolt` command."""

import codecs
import sys

import click

from playmolt_cli.agora.commands import agora
from playmolt_cli.bots.commands import bots
from playmolt_cli.demo.commands import demo
from playmolt_cli.doctor import doctor
from playmolt_cli.jury.commands import jury
from playmolt_cli.jury.content import content
from playmolt_cli.jury.verdict import verify_verdict
from playmolt_cli.legal.commands import legal
from playmolt_cli.local.up import up
from playmolt_cli.log.commands import log
from playmolt_cli.log.replay import replay
from playmolt_cli.match.commands import match
from playmolt_cli.migrate import migrate
from playmolt_cli.overlay.commands import deploy
from playmolt_cli.terminal.failures import Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="playmolt-cli")
def cli() -> None:
    """Play society's games in public, on an event log that anyone can check.

    Example: playmolt up, then open the address it prints.
    """


for _command in (
    up, demo, bots, match, replay, log, legal, jury, verify_verdict, agora, content, migrate, doctor, deploy,
):  # fmt: skip
    cli.add_command(_command)


def main() -> None:
    _settle_streams()
    cli()


def _settle_streams() -> None:
    # A line must reach a pipe when it is said: scripts wait for `ready`. What a terminal cannot show is replaced.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="replace")
    # ASCII is what Python falls back to without a locale; people type UTF-8 all the same.
    if hasattr(sys.stdin, "reconfigure"):
        ascii_only = codecs.lookup(sys.stdin.encoding or "utf-8").name == "ascii"
        sys.stdin.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")


if __name__ == "__main__":
    main()
