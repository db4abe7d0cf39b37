"""Plays one game: asks the players, and turns a player's crash or timeout into a forfeit."""

import asyncio
import signal
import threading
import time
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager, suppress
from inspect import isawaitable
from types import FrameType
from typing import Any, Final

from playmolt_cli.match.entrants import Entrant, Player
from playmolt_cli.match.python_file import broke_at
from playmolt_cli.match.table import GameTable, LocatedForfeit, TableTurn

SECONDS: Final = 60.0
_LOOKS: Final = 20
"""Checks per time limit."""


class BotTimeout(BaseException):
    """Raised inside a bot over its time limit. A BaseException, so that the bot's `except Exception` does not catch
    it."""


class Watchdog:
    """Interrupts a call in the main thread that exceeds the time limit."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._since: float | None = None

    @contextmanager
    def on_guard(self) -> Iterator[None]:
        """Watch calls while the body runs; call it in the main thread."""
        before = signal.signal(signal.SIGUSR1, self._interrupt)
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over, threading.get_ident()), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            signal.signal(signal.SIGUSR1, before)

    def begin(self) -> None:
        self._since = time.monotonic()

    def end(self) -> None:
        self._since = None

    def _overdue(self) -> bool:
        since = self._since
        return since is not None and time.monotonic() - since > self.seconds

    def _watch(self, over: threading.Event, main: int) -> None:
        while not over.wait(self.seconds / _LOOKS):
            if self._overdue():
                with suppress(ProcessLookupError):
                    signal.pthread_kill(main, signal.SIGUSR1)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if self._overdue():
            self._since = None
            raise BotTimeout


async def play(
    table: GameTable, players: Mapping[str, Player], entrants: Mapping[str, Entrant], watchdog: Watchdog
) -> Any:
    """Play to the end and return the last state; both mappings are by agent id. Raises GameStuck."""
    asking = table.play()
    try:
        turn = next(asking)
        while True:
            agent = turn.seat.agent_id
            turn = asking.send(await answer_of(players[agent], entrants[agent], turn, watchdog))
    except StopIteration as end:
        return end.value


async def answer_of(player: Player, entrant: Entrant, turn: TableTurn, watchdog: Watchdog) -> Any:
    """Ask a player: its action, or LocatedForfeit where it breaks or takes too long."""
    if entrant.kind in {"model", "url"}:
        return await player(turn)  # has its own time limit and retries; an exception stops the match
    try:
        watchdog.begin()
        try:
            answer = player(turn)
        finally:
            watchdog.end()
        if type(answer) is not dict and isawaitable(answer):
            return await _awaited(answer, watchdog.seconds)
    except (BotTimeout, TimeoutError) as late:
        return LocatedForfeit("timeout", at=_broke_at(late, entrant))
    except Exception as crash:  # a bot's exception must not end the match
        return LocatedForfeit("crash", at=_broke_at(crash, entrant))
    else:
        return answer


def _broke_at(error: BaseException, entrant: Entrant) -> str | None:
    return broke_at(error, entrant.file) if entrant.file else None


async def _awaited(answer: Awaitable[object], seconds: float) -> object:
    async with asyncio.timeout(seconds):
        return await answer
