"""O/X games per second of CPU time: `playmolt match` with its report, beside the bare rules, with and without views."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from playmolt_cli.games import deciders
from playmolt_cli.match.match_run import MatchRun
from playmolt_cli.match.plan import plan_of_words
from playmolt_core.game.decider import Act, Command, Create, Join
from playmolt_core.llm.catalogue import load

from bench import Row
from bench.servers import folder

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_BOTS = """
def bot(turn):
    if turn.actions[0].type == "first_choice":
        return {"type": "first_choice", "choice": "O", "comment": "O"}
    return {"type": "switch", "use_switch": False, "comment": ""}


def looks(turn):
    turn.state
    return bot(turn)
"""


class Size(NamedTuple):
    games: int = 1_000
    warm: int = 50


WHOLE = Size()
SHORT = Size(4, 1)


def rows(size: Size) -> list[Row]:
    with folder() as place:
        path = Path(place) / "bots.py"
        path.write_text(_BOTS, encoding="utf-8")
        rules = _rate(_bare, size)
        told = [("without views", str(path)), ("with views", f"{path}:looks")]
        rates = [(name, _rate(lambda games, bot=bot: _match(bot, games), size)) for name, bot in told]
    return [
        (f"match, {name}", f"{rate:.0f} games/s", f"{rules:.0f} games/s on the bare rules", f"{rate / rules:.2f}")
        for name, rate in rates
    ]


def _rate(play: Any, size: Size) -> float:
    play(size.warm)
    began = time.process_time()
    play(size.games)
    return size.games / (time.process_time() - began)


def _match(bot: str, games: int) -> None:
    running = MatchRun(plan_of_words([bot] * 5, "ox", games, "bench"), deciders(), load(""), None)
    report = asyncio.run(running.play())
    assert report.games_played == games


def _bare(games: int) -> None:
    """Play the same games with the rules only, without bots and without a report."""
    rules = deciders()["ox"]
    agents = [f"agent-{number}" for number in range(5)]
    actions = (
        {"type": "first_choice", "choice": "O", "comment": "O"},
        {"type": "switch", "use_switch": False, "comment": ""},
    )
    for number in range(games):
        state = rules.initial(f"ox-{number}")
        commands: list[Command] = [Create(seed=str(number), config={"phase_deadline_seconds": 0})]
        commands += [Join(agent_id=agent, name=agent) for agent in agents]
        commands += [Act(agent_id=agent, action=action) for _ in range(5) for action in actions for agent in agents]
        for command in commands:
            decided: Any = rules.decide(state, command, _AT)
            state = decided.states[-1]
        assert state.over
