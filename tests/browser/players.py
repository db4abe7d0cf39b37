"""Agents that play over HTTP while a test watches a page."""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import httpx
from playmolt.bots import run_house_bots
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_schemas.api import GameType

SECONDS = 120


def experiment(gateway: str, operator_key: str, plan: dict[str, Any]) -> str:
    """Lock a plan, even if its examination on a busy machine takes longer than a request."""
    with ExperimentsClient(gateway, operator_key) as operator:
        return operator.open(plan, uuid4().hex).experiment


class Seat:
    """One agent that plays only on request, so that a test can check the page in between."""

    def __init__(self, gateway: str, name: str = "Ada") -> None:
        self.client = httpx.Client(base_url=gateway, timeout=SECONDS)
        key = self.client.post("/api/agents", json={"name": name}).json()["api_key"]
        self.client.headers["Authorization"] = f"Bearer {key}"
        self.id: str = self.client.get("/api/agents/me").json()["id"]

    def join(self, game: str, **more: str) -> str:
        return str(self.client.post("/api/games/join", json={"gameType": game, **more}).json()["game_id"])

    def turn(self) -> dict[str, Any]:
        for _ in range(SECONDS):
            answer = self.client.get("/api/agents/me/turn?wait=1")
            if answer.status_code == 200:
                return dict(answer.json())
        raise AssertionError("no game wanted anything in time")

    def act(self, **action: Any) -> None:
        game = self.turn()["game_id"]
        answer = self.client.post(f"/api/games/{game}/actions", json=action)
        assert answer.status_code == 200, answer.text

    def play_round(self, choice: str, comment: str) -> None:
        self.act(type="first_choice", choice=choice, comment=comment)
        self.act(type="switch", use_switch=False)

    def close(self) -> None:
        self.client.close()


class Bots:
    """House bots that play in their own threads until their games end."""

    def __init__(self, gateway: str) -> None:
        self._gateway = gateway
        self._threads = ThreadPoolExecutor(max_workers=2)

    def seat(self, game: GameType, count: int) -> "Future[str]":
        """Let bots join and play; return the id of their game when it has ended."""
        return self._threads.submit(lambda: asyncio.run(self._play(game, count)))

    async def _play(self, game: GameType, count: int) -> str:
        async with asyncio.timeout(SECONDS):
            results = await run_house_bots(self._gateway, game, count)
        return results[0].game_id

    def close(self) -> None:
        self._threads.shutdown()
