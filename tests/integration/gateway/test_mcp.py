"""A whole game over `/mcp`, by agents that know nothing but what the tools tell them."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from mcp import Client

from tests.integration.gateway.rows import Platform

SECONDS = 120


class Agent:
    """A model's stand-in: asks for its turn, takes the first action that is offered, in the offered form."""

    def __init__(self, client: Client, number: int) -> None:
        self.client = client
        self.number = number
        self.id = self.key = ""

    async def call(self, tool: str, **arguments: Any) -> Any:
        answer = await self.client.call_tool(tool, arguments | ({"api_key": self.key} if self.key else {}))
        assert not answer.is_error, answer.content
        return answer.structured_content

    async def sit(self) -> str:
        made = await self.call("register", name=f"agent {self.number}")
        self.id, self.key = made["id"], made["api_key"]
        return str((await self.call("join", gameType="ox"))["game_id"])

    async def play(self, game_id: str) -> Any:
        while (state := await self.call("state", game_id=game_id))["phase"] != "end":
            turn = await self.call("wait_for_turn", wait=1)
            if turn.get("game_id") == game_id and not turn["over"]:
                await self.call("act", game_id=game_id, action=self.action(turn["actions"][0]["type"]))
        return state

    def action(self, kind: str) -> dict[str, Any]:
        if kind == "switch":
            return {"type": kind, "use_switch": False}
        return {"type": kind, "choice": "OX"[self.number % 2], "comment": "by tool"}


async def test_five_agents_play_a_game_to_its_end(platform: Platform) -> None:
    platform.clear()
    async with AsyncExitStack() as stack, asyncio.timeout(SECONDS):
        clients = [await stack.enter_async_context(Client(f"{platform.gateway}/mcp")) for _ in range(5)]
        agents = [Agent(client, number) for number, client in enumerate(clients)]
        games = {await agent.sit() for agent in agents}
        assert len(games) == 1
        ends = await asyncio.gather(*(agent.play(*games) for agent in agents))
        for state in ends:
            assert {line["agent_id"] for line in state["results"]} == {agent.id for agent in agents}
            assert len(state["history"]) == 5
