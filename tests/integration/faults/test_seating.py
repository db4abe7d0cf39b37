"""The database is lost between a seat that is stored and the answer that says so: the seat is noted all the same."""

import time
from typing import Any

import httpx
import pytest

from tests.integration.faults.conftest import Platform
from tests.integration.faults.game import SECONDS


@pytest.mark.parametrize(
    ("path", "again"), [("/api/games", 409), ("/api/games/join", 200)], ids=["a private game", "a public one"]
)
async def test_a_seat_whose_answer_was_lost_is_noted_when_the_agent_asks_again(
    platform: Platform, path: str, again: int
) -> None:
    async with httpx.AsyncClient(base_url=platform.stack.run.gateway, timeout=SECONDS) as http:

        async def ask(where: str, body: Any, key: str = "") -> httpx.Response:
            return await http.post(where, json=body, headers={"Authorization": f"Bearer {key}"} if key else None)

        key = (await ask("/api/agents", {"name": "unlucky"})).json()["api_key"]
        trap = platform.proxy.set_trap("after", platform.proxy.silent.set)
        try:
            lost = await ask(path, {"gameType": "ox"}, key)
        finally:
            platform.proxy.silent.clear()
        assert trap.sprung.is_set(), "the seat was not taken"
        assert (lost.status_code, lost.json()["code"]) == (503, "unavailable")
        until = time.monotonic() + SECONDS
        while (repeated := await ask(path, {"gameType": "ox"}, key)).status_code == 503:  # the pool is just back
            assert time.monotonic() < until, repeated.text
        assert repeated.status_code == again, repeated.text
        game = repeated.json()["game_id"]
        ended = await ask(f"/api/admin/games/{game}/end", {"reason": "seen"}, platform.stack.run.operator_key)
        assert ended.status_code == 200, ended.text
        turn = await http.get("/api/agents/me/turn", headers={"Authorization": f"Bearer {key}"})
        assert turn.status_code == 200, "nobody told the agent that its game is over"
        assert (turn.json()["game_id"], turn.json()["over"]) == (game, True)
