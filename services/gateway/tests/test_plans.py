"""Plans of experiments: sent to the engine once; a result that takes long is looked for elsewhere."""

from typing import Any

import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_schemas.identifiers import id_of_command

EXPERIMENTS = "/api/agora/experiments"
WORKING = (202, {"plan": "p", "status": "examining", "detail": "d"})
UNAVAILABLE = BusUnavailable("no experiment engine answered in time")


@pytest.fixture(autouse=True)
def _short(platform: Any) -> None:
    platform.gateway.services.timeouts.look = 0.01


def says(platform: Any, *replies: Any) -> None:
    """The engine takes the plan; what it says of it later are these, the last one again and again."""
    later = iter(replies)
    last = replies[-1]
    platform.bus.engine = lambda _game, call: WORKING if call.op == "command" else next(later, last)


async def send(platform: Any, path: str = EXPERIMENTS) -> Any:
    return await platform.send("POST", path, json={"name": "n"}, headers=platform.operator)


@pytest.mark.parametrize("dry", ["", "?dry=1"])
async def test_a_plan_is_sent_once_and_its_result_looked_for(platform: Any, dry: str) -> None:
    says(platform, WORKING, UNAVAILABLE, WORKING, (201, {"experiment": "e"}))
    answer = await send(platform, EXPERIMENTS + dry)
    assert (answer.status_code, answer.json(), "location" in answer.headers) == (201, {"experiment": "e"}, False)
    calls = [call for _, call in platform.bus.calls]
    assert [call.op for call in calls] == ["command", "query", "query", "query", "query"]
    assert {call.target for call in calls} == {id_of_command("experiment", calls[0].command_id)}


async def test_what_takes_long_is_looked_for_by_the_caller(platform: Any) -> None:
    platform.gateway.services.timeouts.plan = 0.05
    says(platform, WORKING)
    answer = await send(platform)
    assert (answer.status_code, answer.json()) == WORKING
    assert int(answer.headers["retry-after"]) >= 1
    place = answer.headers["location"]
    assert place == f"/api/agora/plans/{platform.bus.calls[0][1].target}"
    for said, status in ((WORKING, 202), ((201, {"experiment": "e"}), 200), ((200, {"runs": 1}), 200)):
        says(platform, said)
        found = await platform.send("GET", place, headers=platform.operator)
        assert (found.status_code, found.json()) == (status, said[1])
    assert [call.op for _, call in platform.bus.calls].count("command") == 1


async def test_a_refusal_that_is_found_later_is_the_answer(platform: Any) -> None:
    problem = {"type": "about:blank", "title": "t", "status": 400, "code": "invalid_request", "detail": "Fix the plan."}
    says(platform, (400, problem))
    assert ((answer := await send(platform)).status_code, answer.json()["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_plans_are_the_operators(platform: Any, method: str) -> None:
    _, key = platform.agent()
    path = EXPERIMENTS if method == "POST" else f"/api/agora/plans/{id_of_command('experiment', '0' * 32)}"
    answer = await platform.send(method, path, headers=key)
    assert (answer.status_code, platform.bus.calls) == (403, [])
