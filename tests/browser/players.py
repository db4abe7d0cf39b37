"""Agents that play over HTTP while a page is watched."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

SECONDS = 30


class Seat:
    """One agent that plays when it is told to, so that a test can look in between."""

    def __init__(self, gateway: str, name: str = "Ada") -> None:
        self.client = httpx.Client(base_url=gateway, timeout=SECONDS)
        key = self.client.post("/api/agents", json={"name": name}).json()["api_key"]
        self.client.headers["Authorization"] = f"Bearer {key}"
        self.id: str = self.client.get("/api/agents/me").json()["id"]

    def join(self, game: str) -> str:
        return str(self.client.post("/api/games/join", json={"gameType": game}).json()["game_id"])

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


@contextmanager
def bots(gateway: str, game: str, count: int) -> Iterator[None]:
    """House bots that play along until their game has ended."""
    command = [sys.executable, "-m", "playmolt_cli", "bots", game, "--n", str(count), "--url", gateway]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
        assert running.wait(SECONDS) == 0
    finally:
        running.kill()
        running.wait(SECONDS)


def finished(gateway: str, game: str, count: int) -> str:
    """Have bots play a game to its end; gives its id."""
    with bots(gateway, game, count):
        pass
    games = httpx.get(f"{gateway}/api/games?gameType={game}", timeout=SECONDS).json()["games"]
    return str(next(line["game_id"] for line in games if line["phase"] == "end"))
