"""What goes on to the engines, and what comes back: envelopes, idempotency, lists, states."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_core.bus.port import BusUnavailable
from playmolt_gateway.http.bodies import parse
from playmolt_gateway.request.checked_request import fingerprint
from playmolt_gateway.request.waits import OPEN_WAITS
from playmolt_schemas.limits import BODY_BYTES
from playmolt_schemas.stored.values import Identity

from core.tests.waiting import loop_turns, wait_until

TOURNAMENT = "tournament-0190c3f8-1111-7222-8333-444455556666"


def line(game_id: str, created_at: str, **more: Any) -> dict[str, Any]:
    return {
        "game_id": game_id, "gameType": game_id.partition("-")[0], "phase": "waiting",
        "round": 0, "seated": 1, "needed": 5,
        "created_at": created_at, "language": "en", "pace": "quick", "over": False, "updated_at": created_at,
        "version": 2,
    } | more  # fmt: skip


async def test_a_join_carries_who_the_agent_is(platform: Any) -> None:
    _, key = platform.agent("Ada")
    await platform.send("PATCH", "/api/agents/me", json={"version": "2"}, headers=key)
    await platform.send("POST", "/api/games/join", json={"gameType": "ox"}, headers=key)
    assert platform.last().identity == Identity(handle="ada-00000", kind="bot", version="2", model=None)


@pytest.mark.parametrize(
    "path", ["/api/games/{game}/state", "/api/games/{game}/state?after=1&wait=1", "/api/games/{game}/events",
             "/api/games/{game}/log", "/api/agents/me/turn?wait=1"],
)  # fmt: skip
async def test_only_the_request_itself_shows_that_the_agent_is_there(platform: Any, game: str, path: str) -> None:
    _, key = platform.agent("Ada")
    state = {"turn": None, "games": [{"game_id": game, "version": 1}], "version": 1, "records": [], "more": False}
    platform.bus.engine = lambda _game, _call: (200, state | {"next_after": 0})
    response = await platform.send("GET", path.format(game=game), headers=key)
    assert response.status_code in (200, 204)
    op = platform.bus.calls[0][1].op
    present = [call.present for called, call in platform.bus.calls if call.op == op and called == "ox"]
    assert present[0] is True
    assert not any(present[1:])
    assert (len(present) > 1) is ("wait" in path)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [("POST", "actions", b"{", 400), ("POST", "actions", b"", 400), ("POST", "actions?x=1", b"{}", 400),
     ("POST", "actions", b'{"a":"' + b"a" * BODY_BYTES + b'"}', 413), ("POST", "forfeit", b"[", 400),
     ("GET", "state?after=-1", None, 400), ("GET", "stream?after=x", None, 400), ("HEAD", "state?x=1", None, 400)],
)  # fmt: skip
async def test_a_request_that_the_gateway_refuses_shows_that_the_agent_is_there(
    platform: Any, game: str, method: str, path: str, body: bytes | None, status: int
) -> None:
    agent, key = platform.agent("Ada")
    platform.bus.engine = lambda *_: BusUnavailable("the refusal does not wait for it")
    refused = await platform.send(method, f"/api/games/{game}/{path}", content=body, headers=key)
    assert refused.status_code == status
    assert [(call.op, call.target, call.agent, call.present) for _, call in platform.bus.calls] == [
        ("state", game, agent, True)
    ]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
async def test_a_refused_request_without_a_key_shows_no_agent(platform: Any, game: str, headers: Any) -> None:
    await platform.send("GET", f"/api/games/{game}/state?after=-1", headers=headers)
    await platform.send("GET", f"/api/games/{game}/state?after=-1", headers=platform.operator)
    await platform.send("POST", f"/api/games/{game}/actions", content=b"{", headers=headers)
    assert not platform.bus.calls


async def test_an_action_goes_to_its_engine_as_it_came(platform: Any, game: str) -> None:
    agent, key = platform.agent("Ada")
    answer = b'{"status":"accepted","version":7,"phase":"switch","hash":"ab"}'
    platform.bus.engine = lambda _game, _call: (200, answer)
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    body = b' {"type":"first_choice","choice":"O","comment":"\\ud800"} '
    response = await platform.send(
        "POST", f"/api/games/{game}/actions", content=body, headers=key | {"traceparent": trace}
    )
    assert (response.status_code, response.content) == (200, answer)
    assert response.headers["content-type"] == "application/json"
    ((kind, call),) = platform.bus.calls
    assert (kind, call.op, call.target, call.body, call.agent, call.name) == ("ox", "act", game, body, agent, "Ada")
    assert (call.trace, call.fingerprint, call.operator) == (trace, "", False)
    assert len(bytes.fromhex(call.command_id)) == 16


@pytest.mark.parametrize("body", [b"1", b"null", b'"x"', b"[]"])
async def test_any_json_value_is_the_engines_to_refuse(platform: Any, game: str, body: bytes) -> None:
    _, key = platform.agent()
    assert (await platform.send("POST", f"/api/games/{game}/actions", content=body, headers=key)).status_code == 200
    assert platform.last().body == body


async def test_an_engines_refusal_passes_unchanged(platform: Any, game: str) -> None:
    _, key = platform.agent()
    refusal = b'{"type":"about:blank","status":409,"code":"game_over","detail":"over"}'
    platform.bus.engine = lambda _game, _call: (409, refusal)
    for path in ("actions", "leave"):
        response = await platform.send("POST", f"/api/games/{game}/{path}", json={}, headers=key)
        assert (response.status_code, response.content) == (409, refusal)
        assert response.headers["content-type"] == "application/problem+json"


BOUNDED = st.floats(-1e99, 1e99).filter(lambda number: number == 0 or abs(number) >= 1e-99)
"""The floats that a long body may contain."""


class TestIdempotency:
    async def send(self, platform: Any, path: str, body: Any, headers: dict[str, str]) -> tuple[str, str]:
        await platform.send("POST", path, content=json.dumps(body), headers=headers)
        call = platform.last()
        return call.command_id, call.fingerprint

    async def test_the_same_key_is_the_same_command(self, platform: Any, game: str) -> None:
        _, ada = platform.agent()
        _, bob = platform.agent()
        path, once = f"/api/games/{game}/actions", {"Idempotency-Key": "move-1"}
        first = await self.send(platform, path, {"a": 1, "b": [1.0]}, ada | once)
        assert await self.send(platform, path, {"b": [1], "a": 1.0}, ada | once) == first
        other_body = await self.send(platform, path, {"a": 2}, ada | once)
        assert other_body[0] == first[0]
        assert other_body[1] != first[1]
        others = [
            await self.send(platform, path, {"a": 1}, bob | once),
            await self.send(platform, path, {"a": 1}, ada | {"Idempotency-Key": "move-2"}),
            await self.send(platform, f"/api/games/{game}/leave", {}, ada | once),
        ]
        assert len({first[0], *(command for command, _ in others)}) == 4

    async def test_without_a_key_every_request_is_another_command(self, platform: Any, game: str) -> None:
        _, key = platform.agent()
        path = f"/api/games/{game}/actions"
        first, second = await self.send(platform, path, {}, key), await self.send(platform, path, {}, key)
        assert first[0] != second[0]
        assert first[1] == second[1] == ""

    @pytest.mark.parametrize("path", ["/api/games/join", "/api/games/{game}/leave", "/api/admin/games/{game}/end"])
    async def test_every_other_post_takes_a_key(self, platform: Any, game: str, path: str) -> None:
        _, key = platform.agent()
        headers = (platform.operator if "admin" in path else key) | {"Idempotency-Key": "k"}
        body = {"gameType": "ox"} if "join" in path else {"reason": "r"} if "end" in path else {}
        first = await self.send(platform, path.format(game=game), body, headers)
        assert first[1]
        assert await self.send(platform, path.format(game=game), body, headers) == first

    async def test_a_key_that_joined_another_game_type_is_refused(self, platform: Any, problem: Any) -> None:
        _, key = platform.agent()
        headers = key | {"Idempotency-Key": "k"}

        async def join(game_type: str) -> Any:
            return await platform.send("POST", "/api/games/join", json={"gameType": game_type}, headers=headers)

        answers = await asyncio.gather(join("ox"), join("trial"), join("ox"))
        assert [answer.status_code for answer in answers] == [200, 422, 200]
        assert problem(answers[1]) == (422, "idempotency_mismatch")
        assert [(game, call.op) for game, call in platform.bus.calls] == [("ox", "join")] * 2
        assert (await join("ox")).status_code == 200, "the key stays good for the body it came with"

    async def test_a_dry_run_is_another_command_than_the_real_one(self, platform: Any) -> None:
        path, headers = "/api/agora/experiments", platform.operator | {"Idempotency-Key": "k"}
        for query in ("", "?dry=1", ""):
            assert (await platform.send("POST", path + query, json={}, headers=headers)).status_code == 200
        first, dry, again = (call.command_id for _, call in platform.bus.calls)
        assert first == again != dry

    async def test_without_a_key_every_join_stands_alone(self, platform: Any) -> None:
        _, key = platform.agent()
        for game_type in ("ox", "trial"):
            answer = await platform.send("POST", "/api/games/join", json={"gameType": game_type}, headers=key)
            assert answer.status_code == 200

    async def test_an_absent_engine_keeps_nobody_out_of_the_other_games(self, platform: Any) -> None:
        _, key = platform.agent()
        platform.bus.engine = lambda game, _call: (200, {"game_id": "ox-1"}) if game == "ox" else BusUnavailable("away")
        headers = key | {"Idempotency-Key": "k"}
        answer = await platform.send("POST", "/api/games/join", json={"gameType": "ox"}, headers=headers)
        assert answer.status_code == 200

    @pytest.mark.parametrize("bad", ["", " ", "a b", "a" * 201, "é"])
    async def test_a_malformed_key_is_refused(self, platform: Any, problem: Any, game: str, bad: str) -> None:
        _, key = platform.agent()
        for path in (f"/api/games/{game}/actions", f"/api/games/{game}/leave"):
            headers = [*key.items(), ("Idempotency-Key", bad.encode())]
            assert problem(await platform.send("POST", path, json={}, headers=headers)) == (400, "invalid_request")

    async def test_a_key_sent_twice_is_refused(self, platform: Any, problem: Any, game: str) -> None:
        _, key = platform.agent()
        headers = [*key.items(), ("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
        response = await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=headers)
        assert problem(response) == (400, "invalid_request")

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | BOUNDED | st.text(),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
            max_leaves=12,
        )
    )  # fmt: skip
    def test_a_fingerprint_does_not_see_order_and_spacing(self, value: Any) -> None:
        def turned(node: Any) -> Any:
            if isinstance(node, dict):
                return {key: turned(item) for key, item in reversed(node.items())}
            return [turned(item) for item in node] if isinstance(node, list) else node

        def told(text: str) -> str:
            return fingerprint(text.encode(), parse(text.encode()))

        assert told(json.dumps(value)) == told(json.dumps(turned(value), indent=3))
        assert told(json.dumps([value])) != told(json.dumps(value))

    @pytest.mark.parametrize("number", ["1.0", "1e0", "1E0", "1.0e+0", "10e-1", "0.1E1"])
    def test_a_fingerprint_knows_one_number(self, number: str) -> None:
        texts = [b'{"a":[%b]}' % number.encode(), b'{"a":[1]}', b'{"a":[2]}']
        first, same, other = (fingerprint(text, parse(text)) for text in texts)
        assert first == same != other


async def test_join_names_agent_and_type(platform: Any) -> None:
    agent, key = platform.agent("Ada")
    platform.bus.engine = lambda _game, _call: (200, {"game_id": "x"})
    assert (await platform.send("POST", "/api/games/join", json={"gameType": "trial"}, headers=key)).status_code == 200
    ((kind, call),) = platform.bus.calls
    assert (kind, call.op, call.target, call.agent, call.name) == ("trial", "join", "", agent, "Ada")


async def test_a_join_whose_seat_is_not_noted_is_sent_again(platform: Any) -> None:
    agent, key = platform.agent("Ada")

    def engine(_game: str, _call: Any) -> Any:
        platform.store.away = True
        return 200, {"game_id": "ox-1"}

    platform.bus.engine = engine
    asked = {"json": {"gameType": "ox"}, "headers": key}
    away = await platform.send("POST", "/api/games/join", **asked)
    assert (away.status_code, "retry-after" in away.headers) == (503, True)
    platform.store.away = False
    platform.bus.engine = lambda _game, _call: (200, {"game_id": "ox-1"})
    assert (await platform.send("POST", "/api/games/join", **asked)).status_code == 200
    assert await platform.store.seats(agent) == ["ox-1"]


async def test_a_seat_that_an_agent_is_told_it_has_already_is_noted(platform: Any) -> None:
    agent, key = platform.agent("Ada")
    seated = {"title": "Conflict", "status": 409, "code": "already_seated", "detail": "Sits.", "game_id": "ox-1"}
    platform.bus.engine = lambda _game, _call: (409, seated)
    opened = await platform.send("POST", "/api/games", json={"gameType": "ox"}, headers=key)
    assert (opened.status_code, opened.json()["code"]) == (409, "already_seated")
    assert await platform.store.seats(agent) == ["ox-1"]


@pytest.mark.parametrize("code", ["already_started", "game_over"])
async def test_another_refusal_gives_no_seat(platform: Any, code: str) -> None:
    agent, key = platform.agent("Ada")
    problem = {"title": "Conflict", "status": 409, "code": code, "detail": "No."}
    platform.bus.engine = lambda _game, _call: (409, problem)
    assert (await platform.send("POST", "/api/games", json={"gameType": "ox"}, headers=key)).status_code == 409
    assert await platform.store.seats(agent) == []


@pytest.mark.parametrize("body", [b"", b"{}", b" { } "])
async def test_leave_takes_an_empty_body(platform: Any, game: str, body: bytes) -> None:
    agent, key = platform.agent()
    assert (await platform.send("POST", f"/api/games/{game}/leave", content=body, headers=key)).status_code == 200
    assert (platform.last().op, platform.last().target, platform.last().agent) == ("leave", game, agent)


class TestList:
    def engines(self, platform: Any, rows: list[dict[str, Any]]) -> None:
        def engine(game: str, call: Any) -> Any:
            ask = json.loads(call.body)
            assert ask["limit"] <= 1000
            found = [row for row in rows if row["gameType"] == game]
            if "phase" in ask:
                found = [row for row in found if row["phase"] == ask["phase"]]
            found.sort(key=lambda row: (row["created_at"], row["game_id"]), reverse=True)
            if "before" in ask:
                found = [row for row in found if [row["created_at"], row["game_id"]] < ask["before"]]
            return 200, {"games": found[: ask["limit"]]}

        platform.bus.engine = engine

    async def test_types_are_merged_newest_first_over_pages(self, platform: Any) -> None:
        uuids = [f"0190c3f8-1111-7222-8333-{n:012d}" for n in range(12)]
        rows = [
            line(f"{'ox' if n % 3 else 'trial'}-{uuid}", f"2026-01-01T00:00:{n // 2:02d}.000000Z")
            for n, uuid in enumerate(uuids)
        ]
        self.engines(platform, rows)
        seen: list[str] = []
        path: str | None = "/api/games?limit=5"
        pages = 0
        while path:
            page = (await platform.send("GET", path)).json()
            seen += [game["game_id"] for game in page["games"]]
            assert set(page["games"][0]) == set(line("ox-1", "")) - {"over", "updated_at", "version"}
            path = page["next_cursor"] and f"/api/games?limit=5&cursor={page['next_cursor']}"
            pages += 1
        expected = sorted(rows, key=lambda row: (row["created_at"], row["game_id"]), reverse=True)
        assert seen == [row["game_id"] for row in expected]
        assert pages == 3

    async def test_filters_go_to_the_engines(self, platform: Any) -> None:
        self.engines(platform, [line("ox-1", "2026"), line("trial-1", "2026", phase="opening")])
        opening = (await platform.send("GET", "/api/games?phase=opening")).json()
        assert [game["game_id"] for game in opening["games"]] == ["trial-1"]
        await platform.send("GET", "/api/games?gameType=ox")
        assert [game for game, _ in platform.bus.calls[2:]] == ["ox"]

    async def test_one_absent_engine_is_not_an_empty_list(self, platform: Any, problem: Any) -> None:
        platform.bus.engine = lambda game, _: (200, {"games": []}) if game == "ox" else BusUnavailable("away")
        assert problem(await platform.send("GET", "/api/games")) == (503, "unavailable")
        assert (await platform.send("GET", "/api/games?gameType=ox")).json() == {"games": [], "next_cursor": None}


class TestState:
    async def test_who_looks_is_told_to_the_engine(self, platform: Any, game: str) -> None:
        agent, key = platform.agent()
        for headers, viewer, operator in ((key, agent, False), ({}, "", False), (platform.operator, "", True)):
            await platform.send("GET", f"/api/games/{game}/state", headers=headers)
            call = platform.last()
            assert (call.op, call.target, call.body, call.agent) == ("state", game, b"{}", viewer)
            assert call.operator is operator, "who may see a private game"

    async def test_looking_back_is_anybodys(self, platform: Any, game: str) -> None:
        _, key = platform.agent()
        await platform.send("GET", f"/api/games/{game}/state?at=3&seat=agent-1", headers=key)
        assert json.loads(platform.last().body) == {"at": 3, "seat": "agent-1"}
        await platform.send("GET", f"/api/games/{game}/state?at=-3", headers=key)
        assert json.loads(platform.last().body) == {"at": -3}

    async def test_a_long_poll_answers_as_soon_as_the_version_is_newer(self, platform: Any, game: str) -> None:
        version = 4
        platform.bus.engine = lambda _game, _call: (200, {"version": version})
        poll = asyncio.create_task(platform.send("GET", f"/api/games/{game}/state?after=4&wait=20"))
        await platform.bus.watched(game)
        asked = len(platform.bus.calls)
        platform.bus.notify(game, {"version": 4})
        await loop_turns()
        assert not poll.done()
        assert len(platform.bus.calls) == asked
        version = 5
        platform.bus.notify(game, {"version": 5})
        async with asyncio.timeout(10):
            assert (await poll).json() == {"version": 5}
        assert platform.bus.watches[game] == []

    async def test_a_long_poll_subscribes_before_it_reads(self, platform: Any, game: str) -> None:
        """What happens between the two must wake it: else it sleeps beside a state that is there."""
        versions = iter((4, 5))

        def engine(_game: str, _call: Any) -> Any:
            assert platform.bus.watches[game], "read before subscribed"
            version = next(versions)
            platform.bus.notify(game, {"version": 5})
            return 200, {"version": version}

        platform.bus.engine = engine
        async with asyncio.timeout(10):
            response = await platform.send("GET", f"/api/games/{game}/state?after=4&wait=20")
        assert response.json() == {"version": 5}

    async def test_a_gap_makes_it_read_again(self, platform: Any, game: str) -> None:
        version = 4
        platform.bus.engine = lambda _game, _call: (200, {"version": version})
        poll = asyncio.create_task(platform.send("GET", f"/api/games/{game}/state?after=4&wait=20"))
        await platform.bus.watched(game)
        version = 9
        platform.bus.notify(game, b"")
        async with asyncio.timeout(10):
            assert (await poll).json() == {"version": 9}

    async def test_time_is_up(self, platform: Any, game: str) -> None:
        platform.bus.engine = lambda _game, _call: (200, {"version": 4})
        started = asyncio.get_running_loop().time()
        response = await platform.send("GET", f"/api/games/{game}/state?after=4&wait=0.3")
        assert response.json() == {"version": 4}
        assert 0.25 < asyncio.get_running_loop().time() - started < 10

    async def test_a_longer_wait_counts_as_the_longest(self, platform: Any, game: str) -> None:
        assert platform.gateway.services.timeouts.wait == 30
        platform.gateway.services.timeouts.wait = 0.1
        platform.bus.engine = lambda _game, _call: (200, {"version": 4})
        async with asyncio.timeout(10):
            assert (await platform.send("GET", f"/api/games/{game}/state?after=4&wait=99999999")).status_code == 200

    async def test_an_unknown_game_is_reported_at_once(self, platform: Any, game: str) -> None:
        platform.bus.engine = lambda _game, _call: (404, {"code": "not_found"})
        async with asyncio.timeout(10):
            assert (await platform.send("GET", f"/api/games/{game}/state?after=4&wait=20")).status_code == 404

    async def test_waits_are_bounded_and_end_when_the_gateway_stops(
        self, platform: Any, problem: Any, game: str
    ) -> None:
        platform.bus.engine = lambda _game, _call: (200, {"version": 4, "turn": None, "games": []})
        _, key = platform.agent()
        polls = [
            asyncio.create_task(platform.send("GET", path, headers=key))
            for path in (f"/api/games/{game}/state?after=4&wait=20", "/api/agents/me/turn?wait=20")
        ]
        waits = platform.gateway.services.waits
        await wait_until(lambda: len(waits) == 2)
        fillers: list[asyncio.Future[None]] = [
            asyncio.get_running_loop().create_future() for _ in range(OPEN_WAITS - 2)
        ]
        for filler in fillers:
            waits.add(filler)
        for path in (f"/api/games/{game}/state?after=4&wait=1", f"/api/games/{game}/stream", "/api/agents/me/turn"):
            assert problem(await platform.send("GET", path, headers=key)) == (503, "unavailable")
        platform.gateway.close()
        async with asyncio.timeout(10):
            assert [(await poll).status_code for poll in polls] == [200, 204]


async def test_events_are_passed_byte_for_byte(platform: Any, game: str) -> None:
    stored = b'{"events":[{"type":"speak","text":"\\u00e9 \xc3\xa9","at":"t"}],"next_after":3}'
    platform.bus.engine = lambda _game, _call: (200, stored)
    _, key = platform.agent()
    response = await platform.send("GET", f"/api/games/{game}/events?after=2&limit=7", headers=key)
    assert response.content == stored
    assert json.loads(platform.last().body) == {"after": 2, "limit": 7}


async def test_a_number_above_the_declared_maximum_is_refused(platform: Any, game: str) -> None:
    assert (await platform.send("GET", f"/api/games/{game}/events?after={2**53}")).status_code == 200
    for after in (2**53 + 1, 10**40):
        refused = await platform.send("GET", f"/api/games/{game}/events?after={after}")
        assert refused.json()["errors"] == [
            {"field": "after", "message": "must be a whole number, at most 9007199254740992"}
        ]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("agents/me/turn?wait=abc", "must be a number of seconds"),
        ("agents/me/turn?wait=-1", "must be a number of seconds, at least 0"),
        ("games?limit=many", "must be a whole number"),
        ("games?limit=0", "must be a whole number, at least 1"),
        ("games?gameType=chess", "must be one of trial, ox"),
        ("games?agent=%20", "must be an agent's id"),
        ("agents?q=", "must be a string of at least 1 character"),
    ],
)
async def test_a_query_value_of_the_wrong_kind_is_reported_in_words(platform: Any, query: str, message: str) -> None:
    _, key = platform.agent()
    refused = (await platform.send("GET", f"/api/{query}", headers=key)).json()
    (fault,) = refused["errors"]
    assert fault["message"] == message
    assert refused["detail"] == f"{fault['field']} {message}. See /openapi.json."


@pytest.mark.parametrize("wait", ["9999999999999999999", "1e3", "30.5"])
async def test_a_wait_of_any_length_counts_as_the_longest(platform: Any, game: str, wait: str) -> None:
    platform.bus.engine = lambda _game, _call: (200, {"version": 2})
    assert (await platform.send("GET", f"/api/games/{game}/state?after=1&wait={wait}")).status_code == 200


async def test_a_value_that_does_not_go_with_another_is_named(platform: Any, game: str) -> None:
    for query, field in (("at=1&after=0", "after"), ("at=1&wait=1", "wait")):
        refused = await platform.send("GET", f"/api/games/{game}/state?{query}")
        assert [fault["field"] for fault in refused.json()["errors"]] == [field]
    refused = await platform.send("GET", "/api/games?cursor=junk")
    assert [fault["field"] for fault in refused.json()["errors"]] == ["cursor"]


@pytest.mark.parametrize(
    ("people", "kind", "public"), [(False, "person", False), (True, "person", True), (False, "bot", True)]
)
async def test_people_join_public_games_where_the_operator_allows_it(
    make_platform: Any, people: bool, kind: str, public: bool
) -> None:
    platform = make_platform(people=people)
    async with platform.client:
        made = (await platform.send("POST", "/api/agents", json={"name": "Ada", "kind": kind})).json()
        key = {"Authorization": f"Bearer {made['api_key']}"}
        await platform.send("POST", "/api/games/join", json={"gameType": "ox"}, headers=key)
        assert json.loads(platform.last().body).get("public", True) is public
        seat = {"game_id": "ox-1", "gameType": "ox", "phase": "waiting", "seated": 1, "needed": 5}
        platform.bus.engine = lambda *_: (200, seat)
        opened = await platform.send("POST", "/api/games", json={"gameType": "ox"}, headers=key)
        assert opened.status_code == 201
        joined = await platform.send("POST", f"/api/tournaments/{TOURNAMENT}/join", json={}, headers=key)
        assert (joined.json().get("code") == "people_closed") is not public


@pytest.mark.parametrize(("body", "paused"), [(b"", True), (b"{}", True), (b'{"paused": false}', False)])
async def test_a_pause_needs_no_body(platform: Any, body: bytes, paused: bool) -> None:
    _, key = platform.agent("Ada")
    platform.bus.engine = lambda *_: (200, {})
    answer = await platform.send("POST", f"/api/tournaments/{TOURNAMENT}/pause", content=body, headers=key)
    assert answer.status_code == 200
    ((_, call),) = ((kind, call) for kind, call in platform.bus.calls if call.op == "command")
    assert json.loads(call.body)["body"] == {"paused": paused}


async def test_a_turn_is_asked_for_in_one_game(platform: Any, game: str, problem: Any) -> None:
    _, key = platform.agent("Ada")
    platform.bus.engine = lambda *_: (200, {"turn": None, "games": []})
    assert (await platform.send("GET", f"/api/agents/me/turn?game_id={game}", headers=key)).status_code == 204
    assert {(kind, call.body) for kind, call in platform.bus.calls} == {
        ("ox", json.dumps({"game_id": game}, separators=(",", ":")).encode())
    }
    for unknown in ("x", "legal-0190c3f8-1111-7222-8333-444455556666"):
        refused = await platform.send("GET", f"/api/agents/me/turn?game_id={unknown}", headers=key)
        assert problem(refused) == (404, "not_found")
