"""`playmolt bots check`: the conformance run for a bot of any language."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

import click
from playmolt.conformance.checks import SECONDS, Check, check_player, failed, report
from playmolt.conformance.players import Player, PythonPlayer
from playmolt.errors import PlayMoltError
from playmolt_schemas.api import GameType

from playmolt_cli.bots.program import InvalidCommand, ProgramPlayer, words_of
from playmolt_cli.local.folder import passing_folder
from playmolt_cli.local.stack import Stack
from playmolt_cli.match.callback import CallbackPlayer
from playmolt_cli.match.plan import known_games
from playmolt_cli.match.python_file import BotLoadError, python_file
from playmolt_cli.terminal.failures import Failure, stopping
from playmolt_cli.terminal.options import FiniteRange, json_option

_DEFAULT_GAME: Final = "ox"
_FAILED: Final = 1
SeatBot = Callable[[], Awaitable[Player]]


@click.command()
@click.option("--python", metavar="FILE:NAME", help="A bot in a Python file, such as mybot.py:bot.")
@click.option("--callback", metavar="URL", help="A bot behind a URL, called the way the platform calls it.")
@click.option(
    "--command",
    metavar="COMMAND",
    help="A program that reads turns as JSON lines on stdin and writes actions to stdout.",
)
@click.option("--secret", default="", help="Secret that signs the calls of --callback. Default: a random one.")
@click.option(
    "--game", type=click.Choice(known_games()), default=_DEFAULT_GAME, show_default=True, help="Game to play."
)
@click.option("--url", help="Platform to play on. Default: start a temporary one.")
@click.option(
    "--seconds", type=FiniteRange(0, min_open=True), default=SECONDS, show_default=True,
    help="Time limit for a turn.",
)  # fmt: skip
@json_option
def check(
    python: str | None, callback: str | None, command: str | None, secret: str, game: GameType, url: str | None,
    seconds: float, as_json: bool,
) -> None:  # fmt: skip
    """Check a bot over a connection that fails on purpose.

    The bot plays one game against house bots. Refused actions, crashes and lost turns fail the check (exit status 1);
    the report names each one, with file and line of a crash.

    Example: playmolt bots check --command "node mybot.js" --game trial
    """
    given = [bot for bot in (python, callback, command) if bot is not None]
    if len(given) != 1:
        raise Failure("Use exactly one of --python, --callback and --command.")
    try:
        seat = _player_factory(python, callback, command, secret)
        with stopping(), _platform(url) as platform:
            click.echo(f"{given[0]} is playing {game} at {platform} against house bots …", err=True)
            checks = asyncio.run(_checked(platform, game, seconds, seat))
    except (BotLoadError, InvalidCommand, PlayMoltError, ValueError) as error:
        raise Failure(str(error)) from error
    click.echo(report(checks, as_json=as_json), nl=False)
    if failed(checks):
        raise click.exceptions.Exit(_FAILED)


def _player_factory(python: str | None, callback: str | None, command: str | None, secret: str) -> SeatBot:
    """A factory for the bot's player, checked before a platform starts. Raises BotLoadError and InvalidCommand."""
    if python is not None:
        bot = python_file(python).make()
        return partial(_make_player, lambda: PythonPlayer(bot))
    if callback is not None:
        if not callback.startswith(("http://", "https://")):
            raise InvalidCommand(f"{callback!r} is not a URL. Use one such as http://127.0.0.1:9000/turn.")
        return partial(_make_player, lambda: CallbackPlayer(callback, secret))
    return partial(ProgramPlayer.start, words_of(command or ""))


async def _make_player(make: Callable[[], Player]) -> Player:
    return make()


async def _checked(url: str, game: GameType, seconds: float, seat: SeatBot) -> Sequence[Check]:
    player = await seat()
    try:
        return await check_player(url, game, player, seconds=seconds)
    finally:
        await player.close()


@contextmanager
def _platform(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    click.echo("starting a platform …", err=True)
    with passing_folder("playmolt-check-") as folder, Stack(folder) as stack:
        yield stack.run.gateway
