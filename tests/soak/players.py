"""Players, which play one game after another until they are stopped, and report errors."""

import asyncio
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

from playmolt.bots import seats
from playmolt.calls import Request
from playmolt.client import AsyncClient
from playmolt.errors import Unavailable
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.follow import follow
from playmolt_cli.demo.jury import PlayedJury, play_jury
from playmolt_cli.demo.legal import CASES, argue
from playmolt_cli.games import deciders
from playmolt_cli.local.folder import Run
from playmolt_schemas.api import ActionAccepted, GameType
from rich.console import Console

T = TypeVar("T")
GAME_SECONDS: Final = 300
"""Time limit of a game, including faults."""
_ACTIONS: Final = re.compile(r"/api/games/([^/]+)/actions")
_PLAN: Final[dict[str, Any]] = {
    "name": "soak", "models": ["scripted-social"], "languages": ["en"], "exploratory": True,
    "phases": {"phase1": {"runs": 2, "turns": 20}},
}  # fmt: skip


class Players:
    """All players of a platform.

    `receipts` has the hashes in the answers to actions, by game; `keys` the agents' keys; `juries` the finished jury
    games. A player gives up if the platform is unavailable for longer than a client waits. This is not a fault, but
    `given_up` counts it.
    """

    def __init__(self, run: Run, folder: Path, seed: int, say: Callable[[str], None]) -> None:
        self._run = run
        self._folder = folder
        self._seed = seed
        self._say = say
        self._over = False
        self.ended: Counter[str] = Counter()
        self.given_up: Counter[str] = Counter()
        self.faults: list[str] = []
        self.juries: list[PlayedJury] = []
        self.receipts: defaultdict[str, list[str]] = defaultdict(list)
        self.keys: set[str] = set()

    def stop(self) -> None:
        """Begin no further games."""
        self._over = True

    async def play(self) -> None:
        """Play until stopped; play every game that has begun to its end."""
        games: dict[str, Callable[[int], Awaitable[Iterable[str]]]] = {
            "ox": lambda number: self._arena("ox", number),
            "trial": lambda number: self._arena("trial", number),
            "legal": self._legal,
            "jury": self._jury,
            "agora": self._agora,
        }
        await asyncio.gather(*(self._again(name, game) for name, game in games.items()))

    async def _again(self, name: str, game: Callable[[int], Awaitable[Iterable[str]]]) -> None:
        for number in itertools.count():
            if self._over:
                return
            try:
                async with asyncio.timeout(GAME_SECONDS):
                    faults = [*await game(number)]
            except Unavailable as error:
                self.given_up[name] += 1
                self._say(f"{name}: {error}")
                continue
            except Exception as error:
                faults = [repr(error)]
            self.ended[name] += not faults
            self.faults += [f"{name}: {fault}" for fault in faults]
            for fault in faults:
                self._say(f"{name}: FAULT {fault}")

    async def _arena(self, game: GameType, number: int) -> Iterable[str]:
        bots = seats(game, deciders()[game].needed, seed=f"{self._seed}/{number}")
        clients = [Receipted(self._run.gateway, self.receipts) for _ in bots]
        try:
            await asyncio.gather(*(client.register("soak") for client in clients))
            self.keys |= {client.key for client in clients}
            plays = (client.play(bot, game) for client, bot in zip(clients, bots, strict=True))
            results = await asyncio.gather(*plays)
        finally:
            await asyncio.gather(*(client.aclose() for client in clients))
        return [f"{result.game_id} ended in {result.phase}" for result in results if result.phase != "end"]

    async def _legal(self, number: int) -> Iterable[str]:
        reports = self._folder / f"legal-{number}"
        reports.mkdir(parents=True)
        argued = await argue(self._run.gateway, CASES[number % len(CASES)], reports, lambda _: None)
        return argued.faults()

    async def _jury(self, _: int) -> Iterable[str]:
        self.juries.append(await asyncio.to_thread(play_jury, self._run.gateway, lambda _: None))
        return ()

    async def _agora(self, number: int) -> Iterable[str]:
        return await asyncio.to_thread(self._experiment, number)

    def _experiment(self, number: int) -> list[str]:
        with ExperimentsClient(self._run.gateway, self._run.operator_key) as client:
            opened = client.open({**_PLAN, "seed": str(number)}, f"soak-{self._seed}-{number}")
            state = follow(client, opened.experiment, Console(quiet=True))
        whole = state.spent.turns == state.progress.turns_planned
        return [] if state.status == "finished" and whole else [f"{state.experiment} is {state.status}, not whole"]


class Receipted(AsyncClient):
    """A client that keeps the receipt of each accepted action."""

    def __init__(self, url: str, receipts: defaultdict[str, list[str]]) -> None:
        super().__init__(url)
        self._receipts = receipts

    async def send(self, request: Request[T]) -> T:
        """Send as every client does."""
        answer = await super().send(request)
        acted = _ACTIONS.search(request.path)
        if acted and isinstance(answer, ActionAccepted) and answer.hash:
            self._receipts[acted[1]].append(answer.hash)
        return answer
