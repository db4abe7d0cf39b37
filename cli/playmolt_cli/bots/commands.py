"""`playmolt bots`: house bots, in one game or as a service, and checks for your own bot."""

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

import click
import msgspec
from playmolt.bots import MIXED, policies, run_house_bots
from playmolt.calls import State
from playmolt.client import AsyncClient
from playmolt.errors import PlayMoltError
from playmolt.feed import OVER
from playmolt.loop import GameResult
from playmolt_schemas.api import GameType, Joined

from playmolt_cli.games import decider_of
from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import CommandGroup, Failure
from playmolt_cli.terminal.options import data_option, echo_json, json_option, read_settings

MODEL: Final = "model:"
"""Prefix of a policy that names a model."""
OnSeated = Callable[[Joined], None]


class Players(Protocol):
    """Bots that take their seats together."""

    async def play(self, url: str, game: GameType, on_seated: OnSeated) -> list[GameResult]: ...


class ScriptedPlayers:
    """House bots of one policy; with a key their agents are of kind `house`."""

    def __init__(self, policy: str, count: int, seed: str, key: str) -> None:
        self._policy = policy
        self._count = count
        self._seed = seed
        self._key = key

    async def play(self, url: str, game: GameType, on_seated: OnSeated) -> list[GameResult]:
        return await run_house_bots(url, game, self._count, self._policy, self._seed, key=self._key, seated=on_seated)


REPORT_SECONDS: Final = 10
_KNOWN = policies()
_HELP: Final = """Seat house bots and let them play until their games have ended.

    If the last game is not full, its bots wait for other agents to join.

    Example: playmolt bots {game} --n 4"""


def gateway_url(data: Path | None) -> str:
    """The gateway of the `up` on a folder, else that of the settings."""
    settings = read_settings()
    run = Folder(data or settings.data).run()
    return run.gateway if run is not None else f"http://{settings.host}:{settings.port}"


def house_key(platform: str, data: Path | None) -> str:
    """The house key: from the settings, else that of the folder if its `up` is the platform, else ""."""
    settings = read_settings()
    folder = Folder(data or settings.data)
    run = folder.run()
    return settings.house_key or (folder.house_key() if run is not None and run.gateway == platform else "")


def game_command(game: GameType) -> click.Command:
    """The command that seats house bots in one game."""

    @click.command(game, help=_HELP.format(game=game))
    @click.option(
        "--n", "count", type=click.IntRange(1, 10_000), help="Number of bots. Default: enough to fill a game."
    )
    @click.option(
        "--policy", default=MIXED, show_default=True,
        help=f"Policy: {', '.join(_KNOWN[game])}, or model:ALIAS for a model of PLAYMOLT_MODELS.",
    )  # fmt: skip
    @click.option(
        "--prompt", type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
        help="Prompt for model:ALIAS, instead of the shipped one.",
    )  # fmt: skip
    @click.option("--seed", default="house", show_default=True, help="Seed; the same seed gives the same decisions.")
    @click.option(
        "--url",
        help="Gateway. Default: that of the `up` on the data folder, else PLAYMOLT_HOST and PLAYMOLT_PORT.",
    )
    @data_option
    @json_option
    def seat(
        count: int | None, policy: str, prompt: Path | None, seed: str, url: str | None, data: Path | None,
        as_json: bool,
    ) -> None:  # fmt: skip
        platform = url or gateway_url(data)
        wanted = count or decider_of(game).needed
        players = _players(game, policy, prompt, data, wanted, seed, house_key(platform, data))
        _seat(platform, game, players, wanted, as_json)

    return seat


def _players(
    game: GameType, policy: str, prompt: Path | None, data: Path | None, count: int, seed: str, key: str
) -> Players:
    if policy.startswith(MODEL):
        from playmolt_cli.bots.model_players import ModelPlayers  # noqa: PLC0415 -- slow imports that only models need

        return ModelPlayers(policy.removeprefix(MODEL), prompt, data, count, key)
    if prompt is not None:
        raise Failure("--prompt needs a model. Add --policy model:ALIAS.")
    if policy not in _KNOWN[game]:
        known = ", ".join(_KNOWN[game])
        raise Failure(f"{game} has no policy {policy!r}. Choose from {known}, or use model:ALIAS.")
    return ScriptedPlayers(policy, count, seed, key)


def _seat(url: str, game: GameType, players: Players, count: int, as_json: bool) -> None:
    try:
        results = asyncio.run(_play(url, game, players, count, quiet=as_json))
    except PlayMoltError as error:
        raise Failure(str(error) if url in str(error) else f"{url}: {error}") from error
    except ValueError as error:
        raise Failure(str(error)) from error
    if as_json:
        echo_json([_brief(result) for result in results])
        return
    for result in sorted(results, key=lambda result: (result.game_id, -result.points)):
        click.echo(f"{result.game_id}  {result.points:>4}  {result.name}  ({result.phase})")


def _brief(result: GameResult) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(result).items() if name != "state"}


async def _play(url: str, game: GameType, players: Players, count: int, *, quiet: bool) -> list[GameResult]:
    seen: list[str] = []
    taken = itertools.count(1)

    def on_seated(seat: Joined) -> None:
        if seat.game_id not in seen:
            seen.append(seat.game_id)
            if not quiet:
                click.echo(f"seated in {seat.game_id}", err=True)
        if next(taken) == count and seat.seated < seat.needed:
            _echo_waiting(seat.game_id, _others(game, seat.needed - seat.seated))

    async with AsyncClient(url) as spectator:
        reporter = asyncio.create_task(_report_waiting(spectator, seen))
        try:
            return await players.play(url, game, on_seated)
        finally:
            reporter.cancel()
            await asyncio.gather(reporter, return_exceptions=True)


async def _report_waiting(spectator: AsyncClient, games: list[str], seconds: float = REPORT_SECONDS) -> None:
    """Print periodically what the games are waiting for."""
    while True:
        await asyncio.sleep(seconds)
        for game_id in games:
            with suppress(PlayMoltError):
                if awaited := waiting_for(await spectator.state(game_id)):
                    _echo_waiting(game_id, awaited)


def _echo_waiting(game_id: str, awaited: str) -> None:
    click.echo(f"{game_id} is waiting for {awaited}", err=True)


def _others(game: str, missing: int) -> str:
    """The agents that a game needs to start, and how to seat house bots instead."""
    return f"{missing} more to join; `playmolt bots {game} --n {missing}` fills it"


def waiting_for(state: State) -> str:
    """What a game is waiting for, from its public state; "" if it is over."""
    if state["phase"] in OVER:
        return ""
    if state["phase"] == "waiting":
        return _others(state["gameType"], decider_of(state["gameType"]).needed - len(state["participants"]))
    names = [seat["name"] for seat in state["participants"] if not (seat["submitted"] or seat["away"])]
    left = "" if state["seconds_left"] is None else f", {state['seconds_left']:g} s left"
    return f"{', '.join(names) or 'no seat'} ({state['phase']}, round {state['round']}{left})"


_SUBCOMMANDS: Final = MappingProxyType(
    {
        "house": "playmolt_cli.house.command:house",
        "check": "playmolt_cli.bots.check:check",
        "replay-test": "playmolt_cli.practice.replay_test:replay_test",
    }
)


class _GameCommands(CommandGroup):
    """One command per game, and the subcommands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        there = self.list_commands(ctx)
        if args and args[0] not in there and not args[0].startswith("-"):
            known = ", ".join(repr(name) for name in sorted(there, key=lambda name: name in _SUBCOMMANDS))
            raise click.UsageError(f"{args[0]!r} is neither a game with house bots nor a command. Choose from {known}.")
        return super().resolve_command(ctx, args)


@click.group(cls=_GameCommands, imported=_SUBCOMMANDS)
def bots() -> None:
    """Seat house bots in games, and check your own bot.

    Example: playmolt bots ox --n 4 --policy contrarian
    """


for _game in sorted(policies()):
    bots.add_command(game_command(_game))
