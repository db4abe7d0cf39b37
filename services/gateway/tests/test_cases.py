"""Cases that people bring: who may, what is laid down, and what an engine is told of it."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from playmolt_schemas.canonical import files_digest

from .conftest import Platform

Problem = Callable[[httpx.Response], tuple[int, str]]
FILES = {"pack.toml": 'title = "나룻배"', "structure.toml": ""}
DIGEST = files_digest({path: text.encode() for path, text in FILES.items()})
PATH = "/api/jury/cases"


async def test_files_are_laid_down_and_an_engine_is_told_their_digest(platform: Platform) -> None:
    platform.bus.engine = lambda *_: (201, {"id": "ferry"})
    answer = await platform.send("POST", PATH, json={"files": FILES}, headers=platform.operator)
    assert (answer.status_code, answer.json()) == (201, {"id": "ferry"})
    assert platform.store.packs == {DIGEST: {path: text.encode() for path, text in FILES.items()}}
    call = platform.last()
    told = msgspec.json.decode(call.body)
    assert (call.op, call.operator, told["route"], told["body"]) == (
        "query",
        True,
        "jury_bring_case",
        {"digest": DIGEST},
    )


async def test_keys_bring_cases_where_they_may(make_platform: Callable[..., Platform], problem: Problem) -> None:
    for setting, status in (("operator", 403), ("keys", 200)):
        platform = make_platform(jury_cases=setting)
        agent, key = platform.agent()
        answer = await platform.send("POST", PATH, json={"files": FILES}, headers=key)
        assert answer.status_code == status
        if status == 403:
            assert problem(answer) == (403, "operator_only")
            assert not platform.store.packs
        else:
            assert platform.last().agent == agent


@pytest.mark.parametrize(
    "body", [[], {}, {"files": None}, {"files": {}}, {"files": ["a"]}, {"files": {"a": 1}}, {"files": FILES, "id": "x"}]
)
async def test_what_is_not_a_set_of_files_is_refused(platform: Platform, problem: Problem, body: Any) -> None:
    answer = await platform.send("POST", PATH, json=body, headers=platform.operator)
    assert problem(answer) == (400, "invalid_request")
    assert not platform.store.packs


async def test_a_lone_surrogate_goes_on_as_what_no_check_takes_for_a_text(platform: Platform) -> None:
    content = b'{"files": {"pack.toml": "\\ud800"}}'
    await platform.send("POST", PATH, content=content, headers=platform.operator)
    assert list(platform.store.packs.values()) == [{"pack.toml": b"\xed\xa0\x80"}]


async def test_the_packs_that_sessions_miss_are_named_and_nothing_else_stops(platform: Platform) -> None:
    assert "missing_packs" not in (await platform.send("GET", "/readyz")).json()
    platform.store.missing_packs.append(DIGEST)
    ready = await platform.send("GET", "/readyz")
    assert (ready.status_code, json.loads(ready.content)["missing_packs"]) == (200, [DIGEST])
    assert "missing_packs" not in (await platform.send("GET", "/readyz?self")).json()
