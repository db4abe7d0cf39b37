"""`playmolt bots`: house bots, by hand and as a process, and how bots of one's own hold up."""

import click
from playmolt.bots import policies

from playmolt_cli.bots.by_hand import by_hand
from playmolt_cli.bots.check import check
from playmolt_cli.house.command import house
from playmolt_cli.practice.replay_test import replay_test


class _Games(click.Group):
    """A command a game, and others."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            known = ", ".join(repr(name) for name in self.commands)
            raise click.UsageError(f"{args[0]!r} is neither a game with house bots nor a command: there are {known}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Games)
def bots() -> None:
    """Seat house bots, in one game or wherever somebody waits; see whether your own bot holds up.

    Example: playmolt bots ox --n 4 --policy contrarian
    """


for _game in sorted(policies()):
    bots.add_command(by_hand(_game))
for _command in (house, check, replay_test):
    bots.add_command(_command)
