"""The `playmolt` command."""

import codecs
import sys
from types import MappingProxyType
from typing import Final

import click

from playmolt_cli.terminal.failures import CommandGroup

# Commands are imported on demand: `up` needs no statistics, `agora` no chain.
_COMMANDS: Final = MappingProxyType(
    {
        "agora": "playmolt_cli.agora.commands:agora",
        "bots": "playmolt_cli.bots.commands:bots",
        "content": "playmolt_cli.content.commands:content",
        "dataset": "playmolt_cli.dataset.commands:dataset",
        "demo": "playmolt_cli.demo.commands:demo",
        "deploy": "playmolt_cli.overlay.overlay:deploy",
        "doctor": "playmolt_cli.doctor:doctor",
        "erase": "playmolt_cli.log.erase:erase",
        "inspect": "playmolt_cli.inspect.commands:inspect",
        "jury": "playmolt_cli.jury.commands:jury",
        "legal": "playmolt_cli.legal.commands:legal",
        "log": "playmolt_cli.log.commands:log",
        "match": "playmolt_cli.match.commands:match",
        "migrate": "playmolt_cli.migrate:migrate",
        "moderate": "playmolt_cli.moderate.commands:moderate",
        "owner": "playmolt_cli.owner.commands:owner",
        "replay": "playmolt_cli.log.replay:replay",
        "scores": "playmolt_cli.log.scores:scores",
        "seal": "playmolt_cli.seal.commands:seal",
        "tournament": "playmolt_cli.tournament.commands:tournament",
        "up": "playmolt_cli.up:up",
        "verify-verdict": "playmolt_cli.jury.verdict:verify_verdict",
        "what-if": "playmolt_cli.practice.what_if:what_if",
    }
)


@click.group(
    cls=CommandGroup,
    imported=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="playmolt-cli")
def cli() -> None:
    """Play society's games in public, on an event log that anyone can check.

    Example: playmolt up, then open the address it prints.
    """


def main() -> None:
    _settle_streams()
    cli()


def _settle_streams() -> None:
    # Flush each line: scripts wait for `ready`. Replace characters that the terminal cannot show.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True, errors="replace")
    # Python falls back to ASCII without a locale, but people type UTF-8.
    if hasattr(sys.stdin, "reconfigure"):
        ascii_only = codecs.lookup(sys.stdin.encoding or "utf-8").name == "ascii"
        sys.stdin.reconfigure(encoding="utf-8" if ascii_only else None, errors="replace")


if __name__ == "__main__":
    main()
