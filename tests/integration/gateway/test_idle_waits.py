"""Agents that only wait are no work: what scales the gateways stays at nothing, however many wait."""

import asyncio
import re
from contextlib import AsyncExitStack
from urllib.request import urlopen

import httpx
from mcp import Client

from core.tests.waiting import wait_until
from tests.integration.gateway.rows import Platform

WAITING = 20
"""Agents of each kind."""
SECONDS = 25
"""For how long each asks to wait; the test ends their waits long before."""
WORK, OPEN = "playmolt_gateway_work_seconds_total", "playmolt_gateway_open_waits"
THRESHOLD = 24
"""Requests at work for each pod, `deploy/k8s/overlays/prod/scaling/gateway.yaml`."""


def figure(platform: Platform, name: str) -> float:
    """The sum of a metric's series on the gateway."""
    with urlopen(f"{platform.gateway}/metrics", timeout=60) as answer:  # noqa: S310 -- our own gateway
        page = answer.read().decode()
    found = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", page, re.MULTILINE)
    assert found, name
    return sum(map(float, found))


async def test_waits_in_long_polls_and_over_mcp_are_no_work(platform: Platform) -> None:
    platform.clear()
    clock = asyncio.get_running_loop().time
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
            asyncio.ensure_future(each)
            for each in (
                *(
                    one.call_tool("wait_for_turn", {"api_key": key, "wait": SECONDS})
                    for one, key in zip(mcp, keys[:WAITING], strict=True)
                ),
                *(
                    http.get(
                        f"/api/games/{joined['game_id']}/state",
                        params={"wait": SECONDS, "after": state["version"]},
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
            )
        ]
        await wait_until(lambda: figure(platform, OPEN) >= len(waits), SECONDS)
        # Only what passes while all of them wait is measured: their arrival is work.
        before, started = figure(platform, WORK), clock()
        await asyncio.wait(waits, timeout=SECONDS / 5)
        waited, worked = clock() - started, figure(platform, WORK) - before
        assert figure(platform, OPEN) >= len(waits), "they still wait"
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
    at_work = worked / waited
    assert at_work * 480 / len(waits) < THRESHOLD, "480 of them are less than what one pod is for"
