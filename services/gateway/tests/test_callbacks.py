"""Agents that are called: where they may be, and what the calls of one seat come to."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from playmolt_core.effects.callbacks.client import CallbackAnswer
from playmolt_core.effects.callbacks.faults import CallbackFailure
from playmolt_core.ops.metrics import render
from playmolt_gateway.callbacks.seat_calls import SeatCalls
from playmolt_gateway.http.metrics import CallbackMetrics
from playmolt_schemas.envelopes import Call

from core.tests.waiting import wait_until

URL = "https://93.184.216.34/turn"
GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
SECONDS = 60


@pytest.mark.parametrize(
    "url",
    [
        "", "x" * 501, "http://93.184.216.34/", "https://u:p@93.184.216.34/", "https://93.184.216.34/#part", "https://",
        "https://127.0.0.1/", "https://10.0.0.1/", "https://169.254.169.254/", "https://100.64.0.1/",
        "https://[::ffff:8.8.8.8]/", "https://0.0.0.0/", "https://224.0.0.1/", "https://localhost/",
        "https://no-such-name.invalid/", "https://2130706433/",
    ],
)  # fmt: skip
async def test_where_nobody_can_be_called_is_refused(
    platform: Any, problem: Callable[[httpx.Response], tuple[int, str]], url: str
) -> None:
    _, key = platform.agent()
    answer = await platform.send("PUT", "/api/agents/me/callback", headers=key, json={"url": url})
    assert problem(answer) == (400, "invalid_request")
    assert [fault["field"] for fault in answer.json()["errors"]] == ["url"]
    assert (await platform.send("GET", "/api/agents/me/callback", headers=key)).status_code == 404


async def test_a_callback_is_put_read_replaced_and_ended(platform: Any) -> None:
    _, key = platform.agent()
    first = await platform.send("PUT", "/api/agents/me/callback", headers=key, json={"url": URL})
    again = await platform.send("PUT", "/api/agents/me/callback", headers=key, json={"url": f"{URL}/2"})
    assert (first.status_code, first.json()["url"]) == (200, URL)
    assert len({first.json()["secret"], again.json()["secret"]}) == 2
    assert (await platform.send("GET", "/api/agents/me/callback", headers=key)).json() == {
        "url": f"{URL}/2", "created_at": "2026-01-01T00:00:00.000000Z",
    }  # fmt: skip
    for _ in range(2):
        assert (await platform.send("DELETE", "/api/agents/me/callback", headers=key)).status_code == 204
    assert (await platform.send("GET", "/api/agents/me/callback", headers=key)).status_code == 404


async def test_loopback_is_called_where_the_operator_allows_it(make_platform: Callable[..., Any]) -> None:
    platform = make_platform(callback_private=True)
    _, key = platform.agent()
    for url, status in (("http://127.0.0.1:9/turn", 200), ("http://10.0.0.1/", 400)):
        answer = await platform.send("PUT", "/api/agents/me/callback", headers=key, json={"url": url})
        assert answer.status_code == status


class Table:
    """An engine that asks one seat one question after another, and an agent's server that gives scripted answers."""

    def __init__(self, platform: Any, *answers: Any) -> None:
        self.platform = platform
        self.agent, _ = platform.agent()
        platform.store.seat_rows[self.agent] = {GAME: None}
        platform.bus.engine = self.engine
        self.answers = list(answers)
        self.calls: list[tuple[dict[str, Any], str]] = []
        self.acted: list[Any] = []
        self.faults: list[str] = []
        self.asked = 1
        self.last = 1
        self.refusal: tuple[int, str] | None = None
        self.left: float | None = None
        self.metrics = CallbackMetrics()

    def engine(self, _: str, call: Call) -> Any:
        body = msgspec.json.decode(call.body)
        if call.op == "turn":
            return 200, {"turn": self.turn(), "games": [] if self.over else [{"game_id": GAME, "version": self.asked}]}
        if call.op == "state":
            return 200, {"phase": "end", "version": 9}
        if call.op == "fault":
            self.faults.append(body["what"])
            return 200, {}
        self.acted.append((call.op, call.command_id, body))
        if self.refusal:
            status, code = self.refusal
            return status, {"type": "about:blank", "code": code}
        self.asked += 1
        return 200, {}

    @property
    def over(self) -> bool:
        return self.asked > self.last

    def turn(self) -> Any:
        state = {"version": self.asked, "seconds_left": self.left}
        asked = {"game_id": GAME, "gameType": "ox", "state": state, "actions": [{"type": "vote"}], "over": False}
        return None if self.over else {**asked, "turn_id": f"question {self.asked}"}

    async def call(
        self, url: str, secret: str, body: bytes, key: str, seconds: float | None = None
    ) -> CallbackAnswer | CallbackFailure:
        del url, secret, seconds
        self.calls.append((msgspec.json.decode(body), key))
        answer = self.answers.pop(0) if self.answers else {"type": "vote"}
        return answer if isinstance(answer, CallbackFailure) else CallbackAnswer(answer, msgspec.json.encode(answer))

    async def played(self) -> None:
        """Have the seat called until its game is over and told."""
        store = self.platform.store
        await store.put(self.agent, URL, "secret")
        ((agent, game),) = await store.claim(10)
        async with asyncio.timeout(SECONDS):
            await SeatCalls(self.platform.bus, store, store, self, agent, game, metrics=self.metrics).run()
        assert store.seat_rows[self.agent] == {}

    @property
    def outcomes(self) -> dict[str, int]:
        return {outcome: count for outcome, count in self.metrics.calls.items() if count}


async def test_an_answer_goes_into_its_question_and_the_end_is_reported_once(platform: Any) -> None:
    table = Table(platform)
    table.last = 2
    await table.played()
    bodies, keys = zip(*table.calls, strict=True)
    assert [body["turn_id"] for body in bodies] == ["question 1", "question 2", None]
    assert [body["over"] for body in bodies] == [False, False, True]
    assert [body["last_error"] for body in bodies] == [None] * 3
    assert len(set(keys)) == 3
    assert table.acted == [
        ("act", keys[number], {"type": "vote", "turn_id": f"question {number + 1}"}) for number in range(2)
    ]
    assert table.faults == []
    assert table.outcomes == {"answered": 3}
    assert "playmolt_gateway_callback_seconds_count 3" in render(table.metrics.samples())


async def test_a_call_that_gives_no_action_is_a_fault_told_in_the_next_one_under_the_same_key(platform: Any) -> None:
    table = Table(platform, CallbackFailure("callback_status", "answered 500, not 200"), {"forfeit": {"what": "No!"}})
    await table.played()
    first, second, third = table.calls[:3]
    assert first[0]["last_error"] is None
    assert (second[0]["last_error"]["code"], third[0]["last_error"]["code"]) == ("callback_status", "callback_body")
    assert second[0]["last_error"]["type"] == "about:blank"
    assert len({key for _, key in (first, second, third)}) == 1
    assert table.faults == ["callback_status", "callback_body"]
    assert table.outcomes == {"callback_status": 1, "callback_body": 1, "answered": len(table.calls) - 2}


async def test_a_seat_may_forfeit(platform: Any) -> None:
    table = Table(platform, {"forfeit": {"what": "model_unavailable", "kind": "provider"}})
    await table.played()
    asked = {"what": "model_unavailable", "kind": "provider", "turn_id": "question 1"}
    assert table.acted == [("forfeit", table.calls[0][1], asked)]


async def test_a_refused_action_is_asked_again_three_times_then_the_deadline_decides(platform: Any) -> None:
    table = Table(platform)
    table.refusal = (400, "wrong_action")
    playing = asyncio.create_task(table.played())
    await wait_until(lambda: len(table.acted) == 3, SECONDS)
    keys = [key for _, key in table.calls]
    assert len(set(keys)) == len(keys) == 3
    assert [body["last_error"] and body["last_error"]["code"] for body, _ in table.calls] == [
        None, "wrong_action", "wrong_action",
    ]  # fmt: skip
    # The deadline passes: the next question is asked from the beginning.
    table.refusal, table.asked, table.last = None, 2, 2
    platform.bus.notify(GAME, {"version": 2})
    await playing
    told = [(body["turn_id"], body["last_error"] and body["last_error"]["code"]) for body, _ in table.calls[3:]]
    assert told == [("question 2", "wrong_action"), (None, None)]
    assert table.outcomes == {"refused": 3, "answered": 2}
    assert table.faults == []


async def test_an_engine_that_is_away_is_not_a_fault_of_the_bot(platform: Any) -> None:
    table = Table(platform)
    table.refusal = (503, "unavailable")
    playing = asyncio.create_task(table.played())
    await wait_until(lambda: table.acted, SECONDS)
    table.refusal = None
    await playing
    assert len({command for _, command, _ in table.acted}) == 1
    assert (table.faults, table.calls[-1][0]["last_error"]) == ([], None)


async def test_what_costs_too_much_to_read_goes_to_no_engine(platform: Any) -> None:
    table = Table(platform, {"type": "vote", "text": [1] * 6000})
    await table.played()
    assert table.faults == ["callback_body"]
    assert len(table.acted) == 1


async def test_nobody_is_called_without_room_nor_past_the_deadline(platform: Any) -> None:
    table = Table(platform)
    platform.store.room = False
    playing = asyncio.create_task(table.played())
    async with asyncio.timeout(SECONDS):
        await wait_until(lambda: platform.store.tries == 2)
        table.left, platform.store.room = 0.1, True
        platform.bus.notify(GAME, {"version": 2})
        await platform.bus.watched(GAME)
        assert table.calls == []
        table.asked, table.left = 2, None
        platform.bus.notify(GAME, {"version": 3})
        await playing
    assert [body["over"] for body, _ in table.calls] == [True]
