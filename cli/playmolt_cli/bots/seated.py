"""Who is seated by hand: bots that sit down together."""

from collections.abc import Callable
from typing import Final, Protocol

from playmolt.bots import run_house_bots
from playmolt.loop import GameResult
from playmolt_schemas.api import GameType, Joined

MODEL: Final = "model:"
"""How a policy begins that names a model."""
Seated = Callable[[Joined], None]


class Players(Protocol):
    """Bots that sit down together."""

    async def play(self, url: str, game: GameType, seated: Seated) -> list[GameResult]: ...


class ScriptedPlayers:
    """House bots of one policy, under the key of the house where there is one."""

    def __init__(self, policy: str, count: int, seed: str, key: str) -> None:
        self._policy = policy
        self._count = count
        self._seed = seed
        self._key = key

    async def play(self, url: str, game: GameType, seated: Seated) -> list[GameResult]:
        return await run_house_bots(url, game, self._count, self._policy, self._seed, key=self._key, seated=seated)
