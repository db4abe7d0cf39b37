"""`playmolt bots`: house bots, by hand and as a process, and how bots of one's own hold up."""

from types import MappingProxyType
from typing import Final

import click
from playmolt.bots import policies

from playmolt_cli.bots.by_hand import by_hand
from playmolt_cli.terminal.failures import Commands

_OTHERS: Final = MappingProxyType(
    {
        "house": "playmolt_cli.house.command:house",
        "check": "playmolt_cli.bots.check:check",
        "replay-test": "playmolt_cli.practice.replay_test:replay_test",
    }
)


class _Games(Commands):
    """A command a game, and others."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        there = self.list_commands(ctx)
        if args and args[0] not in there and not args[0].startswith("-"):
            known = ", ".join(repr(name) for name in sorted(there, key=lambda name: name in _OTHERS))
            raise click.UsageError(f"{args[0]!r} is neither a game with house bots nor a command: there are {known}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Games, imported=_OTHERS)
def bots() -> None:
    """Seat house bots, in one game or wherever somebody waits; see whether your own bot holds up.

    Example: playmolt bots ox --n 4 --policy contrarian
    """


for _game in sorted(policies()):
    bots.add_command(by_hand(_game))
