"""`python -m playmolt.conformance --url URL --game ox mybot:bot`: one line per check; exit status 1 if one fails."""

import argparse
import asyncio
import importlib
import sys
from pathlib import Path
from typing import cast

from playmolt_schemas.api import GameType
from playmolt_schemas.identifiers import GAME_TYPES

from playmolt.client import DEFAULT_URL
from playmolt.conformance.checks import PATIENCE_SECONDS, SECONDS, check, failed, report
from playmolt.errors import PlayMoltError
from playmolt.loop import Bot


def load(target: str) -> Bot:
    """Import `module:name`, also from the working directory; raises ValueError."""
    module, _, name = target.partition(":")
    if not module or not name:
        raise ValueError(f"{target!r} is not MODULE:NAME, such as mybot:bot")
    sys.path.insert(0, str(Path.cwd()))
    try:
        bot = getattr(importlib.import_module(module), name)
        bot = bot() if isinstance(bot, type) else bot
    except Exception as error:
        raise ValueError(f"cannot load {target!r}: {type(error).__name__}: {error}") from error
    if not callable(bot) and not hasattr(bot, "act"):
        raise ValueError(f"{target!r} is {bot!r}, not a bot. A bot is callable with a turn, or has act(state, actions)")
    return cast("Bot", bot)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns 0 if all checks passed, 1 if one failed, 2 if the run was not possible."""
    parser = argparse.ArgumentParser(
        prog="python -m playmolt.conformance",
        description=__doc__,
        epilog="example: python -m playmolt.conformance --url http://127.0.0.1:8080 --game ox mybot:bot",
    )
    parser.add_argument("bot", help="MODULE:NAME of the bot")
    parser.add_argument("--url", default=DEFAULT_URL, help="server to play on (default %(default)s)")
    parser.add_argument("--game", choices=GAME_TYPES, default="ox", help="game type (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit for a turn (default %(default)s)")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE_SECONDS,
        help="time limit without progress (default %(default)s)",
    )
    parser.add_argument("--seed", default="conformance", help="seed of the house bots")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of lines")
    given = parser.parse_args(arguments)
    game = cast("GameType", given.game)
    try:
        bot = load(given.bot)
        sys.stderr.write(f"{given.bot} is playing {game} at {given.url} against house bots …\n")
        running = check(given.url, game, bot, seconds=given.seconds, patience=given.patience, seed=given.seed)
        checks = asyncio.run(running)
    except (ValueError, PlayMoltError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(report(checks, as_json=given.json))
    return int(failed(checks))


if __name__ == "__main__":
    sys.exit(main())
