"""Agents that only wait are no work: what scales the gateways stays at nothing, however many wait."""

import asyncio
import re
from contextlib import AsyncExitStack
from urllib.request import urlopen

import httpx
from mcp import Client

from tests.integration.gateway.rows import Platform

WAITING = 20
"""Agents of each kind."""
SECONDS = 5
WORK, REQUESTS = "playmolt_gateway_work_seconds_total", "playmolt_gateway_request_seconds_sum"
THRESHOLD = 24
"""Requests at work for each pod, `deploy/k8s/overlays/prod/scaling/gateway.yaml`."""


def figure(platform: Platform, name: str) -> float:
    """The sum of a metric's series on the gateway."""
    with urlopen(f"{platform.gateway}/metrics", timeout=10) as answer:  # noqa: S310 -- our own gateway
        page = answer.read().decode()
    found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", page, re.MULTILINE)
    assert found, name
    return sum(map(float, found))


async def test_waits_in_long_polls_and_over_mcp_are_no_work(platform: Platform) -> None:
    platform.clear()
    before = {
        name: figure(platform, name)
        for name in ("playmolt_gateway_work_seconds_total", "playmolt_gateway_request_seconds_sum")
    }
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=platform.gateway, timeout=40))
        mcp = [await stack.enter_async_context(Client(f"{platform.gateway}/mcp")) for _ in range(WAITING)]
        made = [
            (await http.post("/api/agents", json={"name": f"idle {number}"})).json() for number in range(3 * WAITING)
        ]
        keys = [each["api_key"] for each in made]
        owner = {"Authorization": f"Bearer {keys[0]}"}
        joined = (await http.post("/api/games/join", json={"gameType": "ox"}, headers=owner)).json()
        state = (await http.get(f"/api/games/{joined['game_id']}/state", headers=owner)).json()
        waits = [
            *(
                one.call_tool("wait_for_turn", {"api_key": key, "wait": SECONDS})
                for one, key in zip(mcp, keys[:WAITING], strict=True)
            ),
            *(
                http.get(
                    f"/api/games/{joined['game_id']}/state", params={"wait": SECONDS, "after": state["version"]},
                    headers={"Authorization": f"Bearer {key}"},
                )
                for key in keys[WAITING : 2 * WAITING]
            ),
            *(
                http.get(
                    "/api/agents/me/turn", params={"wait": SECONDS}, headers={"Authorization": f"Bearer {key}"}
                )
                for key in keys[2 * WAITING :]
            ),
        ]  # fmt: skip
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*waits)
        seconds = asyncio.get_running_loop().time() - started
    grown = {name: figure(platform, name) - was for name, was in before.items()}
    waited = grown[REQUESTS] / seconds
    worked = grown[WORK] / seconds
    assert waited > 2 * WAITING, "they did wait"
    assert worked * 480 / (3 * WAITING) < THRESHOLD, "480 of them are less than what one pod is for"
