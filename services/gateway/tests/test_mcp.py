"""`/mcp`: the tools are the routes, seen through the protocol's own client."""

import re
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playmolt_gateway.mcp.tools import Tool, call_of, tools

TURN = {"game_id": "ox-1", "gameType": "ox", "state": {}, "actions": []}


def tool(name: str) -> Tool:
    return next(tool for tool in tools() if tool.name == name)


def engine(game: str, call: Any) -> tuple[int, Any]:
    del game
    match call.op:
        case "join":
            return 200, {"game_id": "ox-1", "phase": "waiting"}
        case "turn":
            return 200, TURN
        case "act":
            return 200, {"status": "accepted", "version": 9}
    return 200, {"version": 9, "phase": "switch"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_bot_lives_through_the_tools(platform: Any, port: int, game: str, mode: Any) -> None:
    platform.bus.engine = engine
    async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
        listed = (await client.list_tools()).tools
        assert [one.name for one in listed] == ["register", "join", "wait_for_turn", "act", "state"]
        made = (await client.call_tool("register", {"name": "Ada"})).structured_content
        assert made is not None
        key = {"api_key": made["api_key"]}
        assert (await client.call_tool("join", {"gameType": "ox", **key})).is_error is False
        assert (platform.last().op, platform.last().agent) == ("join", made["id"])
        action = {"type": "switch", "use_switch": True}
        acted = await client.call_tool("act", {"game_id": game, "action": action, "idempotency_key": "k", **key})
        assert acted.structured_content == {"status": "accepted", "version": 9}
        by_tool = platform.last()
        headers = {"Authorization": f"Bearer {made['api_key']}", "Idempotency-Key": "k"}
        await platform.send("POST", f"/api/games/{game}/actions", json=action, headers=headers)
        assert (by_tool.target, by_tool.command_id) == (game, platform.last().command_id)
        seen = await client.call_tool("state", {"game_id": game, "at": 3, "after": None, **key})
        assert seen.structured_content == {"version": 9, "phase": "switch"}
        assert platform.last().body == b'{"at":3}'


async def test_no_turn_in_time_is_no_error(platform: Any, port: int) -> None:
    _, headers = platform.agent()
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        platform.bus.engine = lambda _game, _call: (200, {"games": [], "turn": None})
        key = headers["Authorization"].removeprefix("Bearer ")
        waited = await client.call_tool("wait_for_turn", {"wait": 0, "api_key": key})
        assert (waited.is_error, waited.structured_content) == (False, {"turn": None})


async def test_a_key_may_come_with_the_connection(platform: Any, port: int, game: str) -> None:
    agent_id, headers = platform.agent()
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http)
        async with Client(transport) as client:
            await client.call_tool("state", {"game_id": game})
    assert platform.last().agent == agent_id


async def test_a_refusal_says_what_the_api_says(platform: Any, port: int) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        for name, arguments, code in (
            ("join", {"gameType": "ox"}, "unauthorized"),
            ("join", {"gameType": "ox", "api_key": "pm_no\r\nX: y"}, "unauthorized"),
            ("state", {"game_id": "../admin/games"}, "not_found"),
            ("state", {"game_id": "ox-1", "colour": "red"}, "invalid_request"),
            ("register", {"name": "x", "colour": "red"}, "invalid_request"),
            ("register", {}, "invalid_request"),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert refused.structured_content is not None
            assert refused.structured_content["code"] == code, (name, arguments)
            assert refused.content[0].text.startswith(f"{code}: ")  # type: ignore[union-attr]
        missing = await client.call_tool("resign", {})
        assert missing.is_error
    assert platform.bus.calls == []


async def test_a_page_of_another_origin_is_refused(platform: Any, port: int) -> None:
    url = f"http://127.0.0.1:{port}/mcp"
    async with httpx2.AsyncClient() as http:
        foreign = await http.post(url, headers={"Origin": "https://elsewhere.example"}, json={})
        assert (foreign.status_code, foreign.json()["code"]) == (400, "invalid_request")
        own = await http.post(url, headers={"Origin": f"http://127.0.0.1:{port}"}, json={})
        assert own.json().get("code") != "invalid_request"
        large = await http.post(url, content=b"x" * 200_000, headers={"Content-Type": "application/json"})
        assert large.status_code == 413
    assert 'route="mcp",status="400"' in (await platform.send("GET", "/metrics")).text


@pytest.mark.parametrize("name", [tool.name for tool in tools()])
def test_what_a_tool_takes_is_told_in_a_schema(name: str) -> None:
    schema = tool(name).arguments
    Draft202012Validator.check_schema(schema)
    arguments: dict[str, Any] = {
        "register": {"name": "Ada"},
        "join": {"gameType": "trial"},
        "wait_for_turn": {"wait": 30},
        "act": {"game_id": "ox-1", "action": {"type": "speak", "text": "words"}},
        "state": {"game_id": "ox-1", "at": 1},
    }[name]
    Draft202012Validator(schema).validate(arguments)
    assert list(Draft202012Validator(schema).iter_errors(arguments | {"colour": "red"}))


def test_an_id_stays_one_part_of_the_path() -> None:
    call = call_of(tool("state"), {"game_id": "../../x?y#z\n"}, "")
    assert call.path.count("/") == 4
    assert unquote(call.path) == "/api/games/../../x?y#z\n/state"
    assert call_of(tool("state"), {}, "").path == "/api/games/-/state"


async def test_a_part_of_the_path_that_is_missing_is_named(platform: Any, port: int) -> None:
    nothing: list[dict[str, Any]] = [{}, {"game_id": None}, {"game_id": ""}]
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        for arguments in nothing:
            refused = await client.call_tool("state", arguments)
            assert refused.structured_content is not None
            assert refused.is_error
            assert refused.structured_content["errors"] == [{"field": "game_id", "message": "is missing"}]


async def test_what_stands_beside_an_action_is_named(platform: Any, port: int) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        action = {"type": "first_choice", "choice": "O", "comment": "me"}
        refused = await client.call_tool("act", {"game_id": "ox-1", "action": action, "colour": "red", "wait": None})
        assert refused.is_error
        assert refused.structured_content is not None
        (fault,) = refused.structured_content["errors"]
        assert fault["field"] == "colour"
        assert not platform.bus.calls


@pytest.mark.parametrize("given", ["100%", "a" * 200, "x/y?z"])
def test_a_key_that_http_takes_is_the_same_key_here(given: str) -> None:
    call = call_of(tool("join"), {"gameType": "ox", "idempotency_key": given}, "")
    assert call.headers["Idempotency-Key"] == given


@pytest.mark.parametrize("given", ["", None])
def test_an_empty_text_is_no_key(given: str | None) -> None:
    call = call_of(tool("join"), {"gameType": "ox", "idempotency_key": given, "api_key": given}, "Bearer mine")
    assert call.headers == {"Authorization": "Bearer mine"}


@pytest.mark.parametrize("given", ["다시 한 번 같은 자리에 앉겠습니다", "a" * 201, "with blanks", 7.5, "\ud800"])
def test_any_other_text_is_a_key_too(given: Any) -> None:
    def key(value: Any) -> str:
        return call_of(tool("join"), {"gameType": "ox", "idempotency_key": value}, "").headers["Idempotency-Key"]

    assert re.fullmatch(r"[\x21-\x7e]{1,200}", key(given))
    assert key(given) == key(given) != key(f"{given}!")


@pytest.mark.parametrize(
    ("headers", "size", "expected"),
    [
        ({"Authorization": "Bearer bad"}, 10, (401, "unauthorized")),
        ({"Content-Type": "text/plain"}, 10, (400, "invalid_request")),
        ({}, 100_000, (413, "body_too_large")),
    ],
)
async def test_what_no_tool_can_answer_is_refused_as_everywhere(
    platform: Any, problem: Any, headers: dict[str, str], size: int, expected: tuple[int, str]
) -> None:
    body = b'{"jsonrpc":"2.0"}'.ljust(size)
    common = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    assert problem(await platform.send("POST", "/mcp", content=body, headers=common | headers)) == expected


def test_an_action_may_come_as_its_fields() -> None:
    flat = call_of(tool("act"), {"game_id": "ox-1", "type": "speak", "text": "words"}, "")
    whole = call_of(tool("act"), {"game_id": "ox-1", "action": {"type": "speak", "text": "words"}}, "")
    assert flat == whole
