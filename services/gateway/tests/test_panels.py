"""Panels: who may open them, and how an engine's answer becomes the gateway's."""

from collections.abc import Callable

import httpx
import pytest

from .conftest import Platform

Problem = Callable[[httpx.Response], tuple[int, str]]
PATH = "/api/jury/panels"
PLAN = {"plan": "n = 2"}


@pytest.mark.parametrize("query", ["", "?dry=1"])
async def test_keys_open_panels_where_they_may(
    make_platform: Callable[..., Platform], problem: Problem, query: str
) -> None:
    for setting in ("operator", "keys"):
        platform = make_platform(panels=setting)
        platform.bus.engine = lambda *_: (201, {"id": "panel-1"})
        agent, key = platform.agent()
        answer = await platform.send("POST", f"{PATH}{query}", json=PLAN, headers=key)
        if setting == "operator":
            assert problem(answer) == (403, "operator_only")
        else:
            assert platform.last().agent == agent


async def test_a_panel_that_was_opened_is_accepted_and_goes_on_by_itself(platform: Platform) -> None:
    platform.bus.engine = lambda *_: (201, {"id": "panel-1"})
    answer = await platform.send("POST", PATH, json=PLAN, headers=platform.operator)
    assert (answer.status_code, answer.json()) == (202, {"id": "panel-1"})
    assert platform.last().op == "command"
    assert platform.last().operator


async def test_a_preview_is_passed_on(platform: Platform) -> None:
    platform.bus.engine = lambda *_: (200, {"juries": 4})
    answer = await platform.send("POST", f"{PATH}?dry=1", json=PLAN, headers=platform.operator)
    assert (answer.status_code, answer.json()) == (200, {"juries": 4})
