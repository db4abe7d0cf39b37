"""Calls of a game's own routes that wait for a model or the chain."""

from collections.abc import Iterator
from typing import Any

import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.routes.legal import REPORT_MEDIA

SESSION = "jury-0190c3f8-1111-7222-8333-444455556666"
CHAT = f"/api/jury/sessions/{SESSION}/chat/radical"
TAKEN = (202, {"id": SESSION})
UNAVAILABLE = BusUnavailable("no jury engine answered in time")


def says(platform: Any, *replies: Any) -> None:
    """The engine takes the call; what it says of it later are these, the last one again and again."""
    later: Iterator[Any] = iter(replies)
    last = replies[-1]
    platform.bus.engine = lambda _game, call: TAKEN if call.op == "command" else next(later, last)


async def chat(platform: Any) -> Any:
    _, key = platform.agent()
    return await platform.send("POST", CHAT, json={"text": "Listen."}, headers=key)


@pytest.fixture(autouse=True)
def _short(platform: Any) -> None:
    platform.gateway.services.timeouts.poll = 0.01


async def test_an_engine_that_goes_away_meanwhile_is_asked_again(platform: Any) -> None:
    says(platform, UNAVAILABLE, TAKEN, UNAVAILABLE, (200, {"reply": "At last."}))
    answer = await chat(platform)
    assert (answer.status_code, answer.json()) == (200, {"reply": "At last."})
    calls: list[Call] = [call for _, call in platform.bus.calls]
    assert [call.op for call in calls] == ["command", "query", "query", "query", "query"]
    assert len({call.command_id for call in calls}) == 1


async def test_what_was_taken_is_never_said_to_be_unavailable(platform: Any) -> None:
    platform.gateway.services.timeouts.slow = 0.1
    says(platform, UNAVAILABLE)
    answer = await chat(platform)
    assert (answer.status_code, answer.json()) == TAKEN
    assert int(answer.headers["retry-after"]) >= 1


async def test_a_lost_watch_takes_nothing_back(platform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(_game: str, _identifier: str) -> None:
        raise UNAVAILABLE

    monkeypatch.setattr(platform.bus, "watch", lost)
    says(platform, (200, {}))
    assert (await chat(platform)).status_code == 202


async def test_a_call_that_was_not_answered_may_be_done_and_says_so(platform: Any, problem: Any) -> None:
    platform.bus.engine = lambda _game, _call: UNAVAILABLE
    answer = await chat(platform)
    assert problem(answer) == (503, "unavailable")
    assert "Idempotency-Key" in answer.json()["detail"]


SCRIPT = b"<!DOCTYPE html><script>alert(1)</script>"


@pytest.mark.parametrize(
    ("asked", "content_type", "disposition"),
    [
        ("html", "text/html; charset=utf-8", "inline"),
        ("md", "text/markdown; charset=utf-8", "attachment"),
        ("pdf", "application/pdf", "attachment"),
        ("docx", REPORT_MEDIA["docx"], "attachment"),
    ],
)
async def test_a_report_runs_nothing_and_says_what_it_is_called(
    platform: Any, asked: str, content_type: str, disposition: str
) -> None:
    session = SESSION.replace("jury", "legal")
    platform.bus.engine = lambda _game, _call: Answer(0, 200, SCRIPT, content_type)
    _, key = platform.agent()
    answer = await platform.send("GET", f"/api/sessions/{session}/report?format={asked}", headers=key)
    assert (answer.status_code, answer.content) == (200, SCRIPT)
    assert answer.headers["content-disposition"] == f'{disposition}; filename="{session}.{asked}"'
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
