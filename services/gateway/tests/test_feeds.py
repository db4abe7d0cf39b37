"""Answers that last: turns, streams, logs."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.http_protocol import BREAK_OFF
from playmolt_gateway.routes import feeds
from starlette.types import Message

from core.tests.waiting import loop_turns, wait_until


def events(first: int, last: int) -> list[dict[str, Any]]:
    return [{"type": "progress", "game_id": "g", "version": v, "at": "t"} for v in range(first, last + 1)]


class Log:
    """An engine with one game of `head` events."""

    def __init__(self, head: int, *, closed: bool = False) -> None:
        self.head, self.closed = head, closed
        self.viewers: list[str] = []

    def __call__(self, _game: str, call: Any) -> Any:
        assert call.op == "feed"
        self.viewers.append(call.agent)
        ask = json.loads(call.body)
        last = min(self.head, ask["after"] + ask["limit"])
        return 200, {"messages": events(ask["after"] + 1, last), "version": self.head, "closed": self.closed}


class Reader:
    """A client that reads an ASGI answer as it comes."""

    def __init__(self, app: Any, path: str, headers: dict[str, str]) -> None:
        self.gone = asyncio.Event()
        self.broken = asyncio.Event()
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.room = 1000
        where, _, query = path.partition("?")
        scope = {
            "type": "http", "method": "GET", "path": where, "raw_path": where.encode(), "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
            "scheme": "http", "server": ("gateway", 80), "http_version": "1.1", "root_path": "",
            "extensions": {BREAK_OFF: {"now": self.broken.set}},
        }  # fmt: skip
        self.asked = False
        self.task = asyncio.create_task(app(scope, self.receive, self.send))

    async def receive(self) -> Message:
        if not self.asked:
            self.asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        while self.sent.qsize() >= self.room:
            await asyncio.sleep(0.01)
        self.sent.put_nowait(message)

    async def chunk(self) -> bytes:
        async with asyncio.timeout(20):
            message = await self.sent.get()
            body: bytes = message.get("body", b"")
            return body

    async def versions(self, last: int) -> list[int]:
        """Read on until a version has come."""
        text = b""
        while f"id: {last}\n".encode() not in text:
            text += await self.chunk()
        found = [block for block in text.decode().split("\n\n") if block.startswith("id: ")]
        for block in found:
            head, data = block.split("\n")
            assert head == f"id: {json.loads(data.removeprefix('data: '))['version']}"
        return [int(block.split("\n")[0][4:]) for block in found]


Opened = Callable[..., Any]


@pytest.fixture
def opened(platform: Any, game: str) -> Opened:
    @asynccontextmanager
    async def open_stream(query: str = "", headers: dict[str, str] | None = None) -> AsyncIterator[Reader]:
        reader = Reader(platform.gateway, f"/api/games/{game}/stream{query}", headers or {})
        try:
            yield reader
        finally:
            reader.gone.set()
            reader.room = 1000
            async with asyncio.timeout(20):
                await reader.task
            assert platform.bus.watches[game] == [], "a stream that ends stops watching"

    return open_stream


async def test_first_everything_then_live(platform: Any, game: str, opened: Opened) -> None:
    log = platform.bus.engine = Log(feeds.FEED_MESSAGES + 30)
    async with opened("?after=2") as reader:
        assert await reader.versions(log.head) == list(range(3, log.head + 1))
        for head in (log.head + 1, log.head + 4):
            before, log.head = log.head, head
            platform.bus.notify(game, {"version": head})
            assert await reader.versions(head) == list(range(before + 1, head + 1))


async def test_only_the_request_itself_shows_that_the_agent_is_there(platform: Any, game: str, opened: Opened) -> None:
    log = platform.bus.engine = Log(5)
    async with opened() as reader:
        await reader.versions(5)
        log.head = 6
        platform.bus.notify(game, {"version": 6})
        await reader.versions(6)
    present = [call.present for _, call in platform.bus.calls]
    assert present[0] is True
    assert len(present) > 2
    assert not any(present[1:])


async def test_old_messages_of_the_watch_cost_no_read(platform: Any, game: str, opened: Opened) -> None:
    log = platform.bus.engine = Log(5)
    async with opened() as reader:
        await reader.versions(5)
        asked = len(log.viewers)
        for version in range(1, 6):
            platform.bus.notify(game, {"version": version})
        await platform.bus.watched(game)
        assert len(log.viewers) == asked


async def test_a_feed_ends_after_the_closing_message(platform: Any, opened: Opened) -> None:
    platform.bus.engine = Log(3, closed=True)
    async with opened() as reader:
        assert await reader.versions(3) == [1, 2, 3]
        assert await reader.chunk() == b""
        async with asyncio.timeout(10):
            await reader.task


@pytest.mark.parametrize("query", ["after=3", "lastEventId=3", "Last-Event-ID=4", "after=0&lastEventId=3"])
async def test_who_has_the_closing_message_is_told_to_stop(platform: Any, game: str, query: str) -> None:
    platform.bus.engine = Log(3, closed=True)
    response = await platform.send("GET", f"/api/games/{game}/stream?{query}")
    assert (response.status_code, response.content) == (204, b"")
    response = await platform.send("GET", f"/api/games/{game}/stream", headers={"Last-Event-ID": "3"})
    assert response.status_code == 204


@pytest.mark.parametrize(
    ("query", "headers", "first"),
    [
        ("?lastEventId=7", {}, 8),
        ("?Last-Event-ID=7", {}, 8),
        ("?after=2&lastEventId=7", {}, 8),
        ("?after=7&lastEventId=", {}, 8),
        ("?lastEventId=2", {"Last-Event-ID": "7"}, 8),
        ("?lastEventId=x", {"Last-Event-ID": "7"}, 8),
    ],
)
async def test_a_position_may_appear_in_the_query(
    platform: Any, opened: Opened, query: str, headers: dict[str, str], first: int
) -> None:
    platform.bus.engine = Log(9, closed=True)
    async with opened(query, headers) as reader:
        assert await reader.versions(9) == list(range(first, 10))


@pytest.mark.parametrize("junk", ["x", "-1", "1.0", "9" * 17, "7&lastEventId=8", "%0a"])
async def test_junk_as_a_position_is_refused(platform: Any, problem: Any, game: str, junk: str) -> None:
    response = await platform.send("GET", f"/api/games/{game}/stream?lastEventId={junk}")
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize("away", [BusUnavailable("away"), (503, {"code": "unavailable"})])
async def test_while_the_source_is_away_a_reader_is_told_to_come_back(platform: Any, game: str, away: Any) -> None:
    platform.bus.engine = lambda _game, _call: away
    response = await platform.send("GET", f"/api/games/{game}/stream")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert response.text.startswith("retry: 2000\n: ")
    assert response.text.endswith("\n\n")


@pytest.mark.parametrize("path", ["/api/games/{game}/stream", "/api/sessions/legal-1/stream"])
async def test_pages_of_other_origins_may_ask_for_a_feed(platform: Any, game: str, path: str) -> None:
    response = await platform.send("OPTIONS", path.format(game=game))
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-methods"] == "GET, HEAD"
    wanted = "authorization, cache-control, last-event-id, traceparent"
    assert response.headers["access-control-allow-headers"] == wanted
    assert response.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(("last", "expected"), [("7", [8, 9]), ("0", list(range(1, 10)))])
async def test_last_event_id_wins_over_after(platform: Any, opened: Opened, last: str, expected: list[int]) -> None:
    platform.bus.engine = Log(9, closed=True)
    async with opened("?after=3", {"Last-Event-ID": last}) as reader:
        assert await reader.versions(9) == expected


@pytest.mark.parametrize("junk", ["x", "-1", "1.0", "9" * 17])
async def test_junk_in_last_event_id_is_refused(platform: Any, problem: Any, game: str, junk: str) -> None:
    response = await platform.send("GET", f"/api/games/{game}/stream", headers={"Last-Event-ID": junk})
    assert problem(response) == (400, "invalid_request")


@pytest.mark.parametrize(("last", "after", "first"), [("", "1", 1), ("", "", 0), ("2", "1", 2), ("2", "x", 2)])
async def test_last_event_id_wins_whatever_after_says_and_an_empty_one_is_none(
    platform: Any, game: str, last: str, after: str, first: int
) -> None:
    platform.bus.engine = lambda _game, _call: (200, {"messages": [], "version": first, "closed": False})
    path = f"/api/games/{game}/stream" + (f"?after={after}" if after else "")
    assert (await platform.send("HEAD", path, headers={"Last-Event-ID": last})).status_code == 200
    assert json.loads(platform.bus.calls[0][1].body)["after"] == first


async def test_the_head_of_a_feed_ends(platform: Any, game: str) -> None:
    platform.bus.engine = lambda _game, _call: (200, {"messages": [], "version": 0, "closed": False})
    response = await platform.send("HEAD", f"/api/games/{game}/stream")
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-type"].startswith("text/event-stream")


async def test_an_unknown_game_is_a_404_before_the_stream(platform: Any, game: str) -> None:
    platform.bus.engine = lambda _game, _call: (404, {"code": "not_found"})
    response = await platform.send("GET", f"/api/games/{game}/stream")
    assert (response.status_code, response.headers["content-type"]) == (404, "application/problem+json")


async def test_the_caller_sees_what_the_engine_shows_it(platform: Any, opened: Opened) -> None:
    agent, key = platform.agent()
    log = platform.bus.engine = Log(2, closed=True)
    async with opened("", key) as reader:
        await reader.versions(2)
    assert set(log.viewers) == {agent}
    log.viewers.clear()
    async with opened("", platform.operator) as reader:
        await reader.versions(2)
    assert set(log.viewers) == {""}


async def test_a_replaced_key_ends_its_streams(platform: Any, game: str, opened: Opened) -> None:
    _, key = platform.agent()
    log = platform.bus.engine = Log(2)
    async with opened("", key) as reader:
        await reader.versions(2)
        await platform.send("POST", "/api/agents/me/keys", headers=key)
        log.head = 3
        platform.bus.notify(game, {"version": 3})
        async with asyncio.timeout(10):
            await reader.task
    assert all(b"id: 3" not in reader.sent.get_nowait().get("body", b"") for _ in range(reader.sent.qsize()))


async def test_a_heartbeat_carries_the_head_and_heals(platform: Any, opened: Opened) -> None:
    """A lost message costs one heartbeat at most: the feed is read again with each."""
    platform.gateway.services.timeouts.heartbeat = 0.1
    log = platform.bus.engine = Log(2)
    async with opened() as reader:
        await reader.versions(2)
        assert await reader.chunk() == b": heartbeat 2\n\n"
        log.head = 3
        assert await reader.versions(3) == [3]


async def test_a_stalled_reader_is_dropped(platform: Any, opened: Opened) -> None:
    platform.gateway.services.timeouts.stall = 0.1
    log = platform.bus.engine = Log(feeds.FEED_MESSAGES * 3)
    async with opened() as reader:
        reader.room = 2
        async with asyncio.timeout(8):  # sooner than a gateway's own bound
            await reader.task
        assert len(log.viewers) < 4, "nothing is read ahead for a reader that takes nothing"
        rest = [reader.sent.get_nowait() for _ in range(reader.sent.qsize())]
    assert all(message.get("more_body") for message in rest[1:]), "no end is sent"
    assert reader.broken.is_set()


async def test_a_reader_that_goes_ends_its_stream(platform: Any, opened: Opened) -> None:
    platform.bus.engine = Log(2)
    async with opened() as reader:
        await reader.versions(2)
        reader.gone.set()
        async with asyncio.timeout(10):
            await reader.task


async def test_a_stream_ends_when_the_gateway_stops(platform: Any, opened: Opened) -> None:
    platform.bus.engine = Log(2)
    async with opened() as reader:
        await reader.versions(2)
        platform.gateway.close()
        async with asyncio.timeout(10):
            await reader.task


class TestTurn:
    def engine(self, platform: Any, turns: dict[str, Any], games: dict[str, list[dict[str, Any]]]) -> None:
        platform.bus.engine = lambda game, _: (200, {"turn": turns.get(game), "games": games.get(game, [])})

    async def test_the_turn_is_passed_as_it_is(self, platform: Any) -> None:
        agent, key = platform.agent()
        turn = {"game_id": "ox-1", "gameType": "ox", "state": {"version": 3}, "actions": []}
        self.engine(platform, {"ox": turn}, {})
        response = await platform.send("GET", "/api/agents/me/turn", headers=key)
        assert (response.status_code, response.json()) == (200, turn)
        assert {(call.op, call.target, call.agent) for _, call in platform.bus.calls} == {("turn", "", agent)}

    async def test_no_turn_in_time_is_a_204(self, platform: Any, game: str) -> None:
        _, key = platform.agent()
        self.engine(platform, {}, {"ox": [{"game_id": game, "version": 1}]})
        response = await platform.send("GET", "/api/agents/me/turn?wait=0.1", headers=key)
        assert (response.status_code, response.content) == (204, b"")
        assert platform.bus.watches[game] == []

    async def test_a_message_of_an_own_game_wakes_it(self, platform: Any, game: str) -> None:
        platform.gateway.services.timeouts.turn = 60
        _, key = platform.agent()
        turns: dict[str, Any] = {}
        self.engine(platform, turns, {"ox": [{"game_id": game, "version": 1}]})
        poll = asyncio.create_task(platform.send("GET", "/api/agents/me/turn?wait=20", headers=key))
        await platform.bus.watched(game)
        turns["ox"] = {"game_id": game}
        platform.bus.notify(game, {"version": 2})
        async with asyncio.timeout(10):
            assert (await poll).json() == {"game_id": game}

    async def test_a_game_that_starts_meanwhile_is_found(self, platform: Any, game: str) -> None:
        platform.gateway.services.timeouts.turn = 0.05
        _, key = platform.agent()
        turns: dict[str, Any] = {}
        self.engine(platform, turns, {})
        poll = asyncio.create_task(platform.send("GET", "/api/agents/me/turn?wait=20", headers=key))
        await wait_until(lambda: platform.bus.calls)
        await loop_turns()
        turns["trial"] = {"game_id": "trial-1"}
        async with asyncio.timeout(10):
            assert (await poll).json() == {"game_id": "trial-1"}

    async def test_the_end_of_an_own_game_wakes_it_and_is_reported_once(self, platform: Any, game: str) -> None:
        platform.gateway.services.timeouts.turn = 60
        _, key = platform.agent()
        phase, state = "switch", {"phase": "end", "version": 9}

        def engine(kind: str, call: Any) -> Any:
            running = [{"game_id": game, "version": 1}] if kind == "ox" and phase == "switch" else []
            return 200, {"turn": None, "games": running} if call.op == "turn" else state

        platform.bus.engine = engine
        poll = asyncio.create_task(platform.send("GET", "/api/agents/me/turn?wait=20", headers=key))
        await platform.bus.watched(game)
        phase = "end"
        platform.bus.notify(game, {"version": 2})
        async with asyncio.timeout(10):
            told = (await poll).json()
        assert told == {"game_id": game, "gameType": "ox", "state": state, "actions": [], "over": True}
        assert (await platform.send("GET", "/api/agents/me/turn", headers=key)).status_code == 204

    async def test_a_game_that_ended_while_nobody_asked_is_told_after_a_turn_to_take(
        self, platform: Any, game: str
    ) -> None:
        _, key = platform.agent()
        platform.bus.engine = lambda _, __: (200, {"game_id": game})
        assert (await platform.send("POST", "/api/games/join", json={"gameType": "ox"}, headers=key)).status_code == 200
        turns: dict[str, Any] = {"trial": {"game_id": "trial-1"}}

        def engine(kind: str, call: Any) -> Any:
            if call.op == "state":
                return 200, {"phase": "aborted"}
            return 200, {"turn": turns.get(kind), "games": []}

        platform.bus.engine = engine
        assert (await platform.send("GET", "/api/agents/me/turn", headers=key)).json() == turns.pop("trial")
        assert (await platform.send("GET", "/api/agents/me/turn", headers=key)).json()["over"] is True
        assert (await platform.send("GET", "/api/agents/me/turn", headers=key)).status_code == 204

    async def test_an_absent_engine_holds_no_other_turn_back(self, platform: Any, problem: Any) -> None:
        _, key = platform.agent()
        turn = {"game_id": "ox-1"}
        platform.bus.engine = lambda game, _: (200, {"turn": turn, "games": []}) if game == "ox" else None
        async with asyncio.timeout(20):
            assert (await platform.send("GET", "/api/agents/me/turn?wait=30", headers=key)).json() == turn
        platform.bus.engine = lambda game, _: (
            (200, {"turn": None, "games": []}) if game == "ox" else BusUnavailable("away")
        )
        assert problem(await platform.send("GET", "/api/agents/me/turn?wait=5", headers=key)) == (503, "unavailable")


class TestLog:
    def pages(self, platform: Any, records: list[dict[str, Any]], page: int) -> None:
        def engine(_game: str, call: Any) -> Any:
            assert call.op == "log"
            after = json.loads(call.body)["after"]
            found = records[after : after + page]
            return 200, {"records": found, "next_after": after + len(found), "more": after + page < len(records)}

        platform.bus.engine = engine

    async def test_a_log_is_one_record_a_line(self, platform: Any, game: str) -> None:
        records = [{"stream": game, "version": v, "data": {"é": v}} for v in range(1, 26)]
        self.pages(platform, records, 10)
        response = await platform.send("GET", f"/api/games/{game}/log")
        assert response.headers["content-type"].startswith("application/x-ndjson")
        assert [json.loads(line) for line in response.text.splitlines()] == records
        assert not platform.last().operator

    async def test_operators_are_named(self, platform: Any, game: str) -> None:
        self.pages(platform, [], 10)
        await platform.send("GET", f"/api/games/{game}/log", headers=platform.operator)
        assert platform.last().operator

    async def test_who_may_not_read_it_is_told_before_the_first_byte(self, platform: Any, game: str) -> None:
        platform.bus.engine = lambda _game, _call: (403, {"code": "not_finished"})
        response = await platform.send("GET", f"/api/games/{game}/log")
        assert (response.status_code, response.headers["content-type"]) == (403, "application/problem+json")

    async def test_a_log_cut_short_never_looks_whole(self, platform: Any, game: str) -> None:
        def engine(_game: str, call: Any) -> Any:
            if json.loads(call.body)["after"]:
                return BusUnavailable("away")
            return 200, {"records": [{"version": 1}], "next_after": 1, "more": True}

        platform.bus.engine = engine
        reader = Reader(platform.gateway, f"/api/games/{game}/log", {})
        async with asyncio.timeout(10):
            await reader.task
        messages = [reader.sent.get_nowait() for _ in range(reader.sent.qsize())]
        assert messages[0]["status"] == 200
        assert all(message["more_body"] for message in messages[1:])
        assert reader.broken.is_set()
