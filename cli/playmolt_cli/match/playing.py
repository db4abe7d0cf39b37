"""Playing a table: its players are asked, and whatever goes wrong with one is a submission that it lets go."""

import asyncio
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any

from playmolt_cli.match.entrants import Entrant, Player
from playmolt_cli.match.python_file import broke_at
from playmolt_cli.match.table import Forfeits, Table, TableTurn
from playmolt_cli.match.watchdog import TookTooLong, Watchdog


async def play(table: Table, players: Mapping[str, Player], entrants: Mapping[str, Entrant], watchdog: Watchdog) -> Any:
    """Play to the end and give the last state; both mappings are by agent id. Raises Stuck."""
    asking = table.play()
    try:
        turn = next(asking)
        while True:
            agent = turn.seat.agent_id
            turn = asking.send(await answer_of(players[agent], entrants[agent], turn, watchdog))
    except StopIteration as end:
        return end.value


async def answer_of(player: Player, entrant: Entrant, turn: TableTurn, watchdog: Watchdog) -> Any:
    """Ask a player: its action, or Forfeits where it breaks or takes too long."""
    if entrant.kind in {"model", "url"}:
        return await player(turn)  # bound by itself, with repairs and repeats; what it raises ends the game for now
    try:
        watchdog.begin()
        try:
            answer = player(turn)
        finally:
            watchdog.end()
        if type(answer) is not dict and isawaitable(answer):
            return await _awaited(answer, watchdog.seconds)
    except (TookTooLong, TimeoutError) as late:
        return Forfeits("timeout", at=_broke_at(late, entrant))
    except Exception as crash:  # whatever a bot raises is its own fault, and nobody else's
        return Forfeits("crash", at=_broke_at(crash, entrant))
    else:
        return answer


def _broke_at(error: BaseException, entrant: Entrant) -> str | None:
    return broke_at(error, entrant.file) if entrant.file else None


async def _awaited(answer: Awaitable[Any], seconds: float) -> Any:
    async with asyncio.timeout(seconds):
        return await answer
