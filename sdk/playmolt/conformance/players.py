"""Players under check: anything that returns an action for a turn within a time limit."""

import asyncio
import sys
import threading
import time
from inspect import isawaitable
from pathlib import Path
from traceback import walk_stack
from typing import Any, Protocol

from playmolt_schemas.codes import Problem

from playmolt.errors import BotFailed
from playmolt.loop import Bot, Forfeit, GameResult, Turn, bot_errors, decide, file_of

_ENDING_SECONDS = 1.0


class LostTurn(BotFailed):
    """The bot returned no answer for a turn, or too late."""


class Player(Protocol):
    """A bot under check, in any process."""

    async def answer(self, turn: Turn) -> Any:
        """The bot's answer; raises BotFailed on a crash, LostTurn without an answer."""

    def current_line(self) -> str:
        """FILE:LINE where the bot is executing; "" if unknown."""

    async def over(self, result: GameResult) -> None:
        """Called when the game has ended."""

    async def close(self) -> None:
        """Release the bot."""


class PythonPlayer:
    """A Python bot in a separate thread, so that a hanging bot does not block the check."""

    def __init__(self, bot: Bot) -> None:
        self._bot = bot
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    async def answer(self, turn: Turn) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(turn), self._loop))

    def current_line(self) -> str:
        frame = sys._current_frames().get(self._thread.ident or 0)  # noqa: SLF001 -- documented, in spite of its name
        file = file_of(self._bot)
        own = (f"{Path(file).name}:{line}" for one, line in walk_stack(frame) if one.f_code.co_filename == file)
        return next(own, "")

    async def over(self, result: GameResult) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, _ENDING_SECONDS)  # a hanging thread ends with the process

    async def _answer(self, turn: Turn) -> Any:
        with bot_errors(self._bot):
            action = decide(self._bot, turn)
            return await action if isawaitable(action) else action

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()


class TimedPlayer:
    """A player with a time limit and statistics of its answers."""

    def __init__(self, player: Player, seconds: float) -> None:
        self.seconds = seconds
        self.slowest = 0.0
        self.answers = 0
        self.forfeits = 0
        self.refusals: list[Problem] = []
        self._player = player

    async def __call__(self, turn: Turn) -> Any:
        if turn.refused:
            self.refusals.append(turn.refused)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.seconds):
                answer = await self._player.answer(turn)
        except TimeoutError as late:
            where = self._player.current_line()
            raise LostTurn(f"{where}{': ' if where else ''}no answer within {self.seconds:g} s") from late
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.answers += 1
        self.forfeits += isinstance(answer, Forfeit)
        return answer
