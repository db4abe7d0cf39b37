"""`/mcp`: the tools are the routes, seen through the protocol's own client."""

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx2
import msgspec
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS
from playmolt_gateway.http.addresses import PublicAddress
from playmolt_gateway.mcp.tools import Tool, call_of, tools
from playmolt_gateway.settings import GatewaySettings

NAMES = (
    "register", "join", "wait_for_turn", "act", "state", "forfeit", "resign", "games", "leaderboard", "game_log",
    "tournaments", "join_tournament",
)  # fmt: skip
BOTH = "application/json, text/event-stream"
LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
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
        assert [one.name for one in listed] == [*NAMES]
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


async def test_games_leaderboards_and_logs_are_read_without_a_key(platform: Any, port: int, game: str) -> None:
    def finished(_game: str, call: Any) -> tuple[int, Any]:
        if call.op == "log":
            after = msgspec.json.decode(call.body)["after"]
            return 200, {
                "records": [{"version": after + 1, "at": "\u2028"}],
                "next_after": after + 1,
                "more": after < 2,
            }
        return 200, {"games": [], "next_cursor": None}

    platform.bus.engine = finished
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        read = await client.call_tool("game_log", {"game_id": game})
        assert read.structured_content == {"records": [{"version": version, "at": "\u2028"} for version in (1, 2, 3)]}
        listed = await client.call_tool("games", {"gameType": "ox", "phase": "end"})
        assert listed.structured_content == {"games": [], "next_cursor": None}
        ranked = await client.call_tool("leaderboard", {"by": "overall"})
        assert ranked.structured_content == {"leaderboard": [], "next_cursor": None, "as_of": None, "unconnected": 0}
        refused = await client.call_tool("leaderboard", {"by": "overall", "gameType": "ox"})
        assert refused.is_error is True
        platform.bus.engine = lambda _game, _call: (403, {"code": "log_not_finished", "detail": "The game runs."})
        refused = await client.call_tool("game_log", {"game_id": game})
        assert refused.is_error is True
        assert refused.structured_content is not None
        assert refused.structured_content["code"] == "log_not_finished"


async def test_no_turn_in_time_is_not_an_error(platform: Any, port: int) -> None:
    _, headers = platform.agent()
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        platform.bus.engine = lambda _game, _call: (200, {"games": [], "turn": None})
        key = headers["Authorization"].removeprefix("Bearer ")
        waited = await client.call_tool("wait_for_turn", {"wait": 0, "api_key": key})
        assert (waited.is_error, waited.structured_content) == (False, {"turn": None})


@pytest.mark.parametrize(("tool", "op"), [("wait_for_turn", "turn"), ("state", "state")])
async def test_an_agent_shows_by_a_tool_that_it_is_there(
    platform: Any, port: int, game: str, tool: str, op: str
) -> None:
    """An away seat comes back as by the HTTP call; the waiting alone shows nothing more."""
    agent_id, headers = platform.agent()
    seated = {"games": [{"game_id": game, "version": 1}], "turn": None, "version": 1, "phase": "switch"}
    platform.bus.engine = lambda _game, _call: (200, seated)
    arguments = {"wait": 1} if tool == "wait_for_turn" else {"game_id": game}
    key = headers["Authorization"].removeprefix("Bearer ")
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        await client.call_tool(tool, arguments | {"api_key": key})
    asked = [call for kind, call in platform.bus.calls if kind == "ox" and call.op == op]
    assert {call.agent for call in asked} == {agent_id}
    assert [call.present for call in asked] == [True, *([False] * (len(asked) - 1))]
    assert (len(asked) > 1) is (tool == "wait_for_turn")


async def test_a_key_may_come_with_the_connection(platform: Any, port: int, game: str) -> None:
    agent_id, headers = platform.agent()
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
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
        missing = await client.call_tool("castle", {})
        assert missing.is_error
    assert platform.bus.calls == []


async def sent(port: int, method: str = "POST", body: Any = LIST, **headers: str) -> httpx2.Response:
    common = {"Content-Type": "application/json", "Accept": BOTH}
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(timeout=60) as http:
        return await http.request(
            method, f"http://127.0.0.1:{port}/mcp", headers=common | named, content=content, timeout=60
        )


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://127.0.0.1:1", "file://", "http://"])
async def test_a_page_of_another_origin_is_refused(platform: Any, port: int, origin: str) -> None:
    refused = await sent(port, Origin=origin)
    assert (refused.status_code, refused.json()["code"]) == (403, "foreign_origin")
    assert (await sent(port, Origin=f"http://127.0.0.1:{port}")).status_code == 200
    assert 'route="mcp",status="403"' in (await platform.send("GET", "/metrics")).text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1:8080", "x"])
async def test_a_host_that_nobody_configured_is_refused(port: int, host: str) -> None:
    """A page may lead its own name to this machine; its browser then says that name."""
    refused = await sent(port, Host=host)
    assert (refused.status_code, refused.json()["code"]) == (421, "unknown_host")


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "127.0.0.1:{port}", "LOCALHOST:{port}", "[::1]:{port}", "127.0.0.1"]
)
async def test_this_machines_own_names_are_taken(port: int, host: str) -> None:
    assert (await sent(port, Host=host.format(port=port))).status_code == 200


def test_configured_names_are_taken() -> None:
    address = PublicAddress(
        GatewaySettings(public_url="https://arena.example/play", mcp_hosts="gateway, bots.example:8443")
    )
    taken = ("arena.example", "gateway", "gateway:8080", "bots.example:8443", "localhost:1")
    assert all(address.expects(host) for host in taken)
    assert not any(address.expects(host) for host in ("bots.example", "arena.example.evil", "", "evil:8443"))
    assert address.is_own("https://arena.example", "10.0.0.7:8080")
    assert address.is_own("http://gateway", "gateway:80")
    assert not address.is_own("https://evil.example", "arena.example")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "HEAD"])
async def test_nothing_but_a_post_is_served(port: int, method: str) -> None:
    refused = await sent(port, method, b"", Accept="text/event-stream", Last_Event_ID="5", Mcp_Session_Id="x")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("accept", ["*/*", "application/*", "application/json", BOTH, "application/json;q=0.5", ""])
async def test_an_answer_is_json_wherever_that_is_taken(port: int, accept: str) -> None:
    answer = await sent(port, Accept=accept)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert len(answer.json()["result"]["tools"]) == len(NAMES)


async def test_an_answer_is_one_event_for_who_takes_nothing_else(port: int) -> None:
    answer = await sent(port, Accept="text/event-stream")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream")
    event, data, *end = answer.text.split("\n")
    assert (event, end) == ("event: message", ["", ""])
    assert msgspec.json.decode(data.removeprefix("data: "))["id"] == LIST["id"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ([LIST], "one message per request"),
        ([], "one message per request"),
        (b"{nope", "not valid JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', "not valid JSON"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', "not valid JSON"),
        (b"[" * 3000, "not valid JSON"),
        (5, "jsonrpc"),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, "jsonrpc"),
        ({"jsonrpc": "2.0", "id": 1}, "method must be a string"),
        (LIST | {"params": [1]}, "params must be a JSON object"),
        (LIST | {"id": [1]}, "id must be a string"),
        (LIST | {"id": 1.5}, "id must be a string"),
        (LIST | {"id": True}, "id must be a string"),
        (LIST | {"id": 1e300}, "id must be a string"),
        (LIST | {"extra": 1}, "Unknown member"),
    ],
)
async def test_what_is_not_a_message_is_reported_in_one_line(port: int, body: Any, reason: str) -> None:
    """Seen: four paragraphs of the validation errors of a Python library, with links."""
    answer = await sent(port, body=body)
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert reason in error["message"]
    assert len(error["message"]) < 100


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (None, "params.name must be the name of a tool"),
        ({"name": 5}, "params.name must be the name of a tool"),
        ({"name": "games", "arguments": []}, "params.arguments must be a JSON object"),
        ({"name": "games", "arguments": "{}"}, "params.arguments must be a JSON object"),
    ],
)
async def test_a_call_of_no_tool_is_refused_with_its_id_and_what_is_wrong(port: int, params: Any, reason: str) -> None:
    """Seen: "Invalid request parameters", a text of the library."""
    answer = (await sent(port, body={"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})).json()
    assert (answer["id"], answer["error"]["code"]) == (7, -32602)
    assert answer["error"]["message"].startswith(reason)


async def test_an_unknown_version_of_the_protocol_is_refused_with_those_that_are_known(port: int) -> None:
    """Seen: a text of the library about envelope keys, for `1999-01-01`."""
    for version in ("1999-01-01", "2031-01-01", "latest"):
        answer = await sent(port, **{"MCP-Protocol-Version": version})
        error = answer.json()["error"]
        assert (answer.status_code, answer.json()["id"], error["code"]) == (400, LIST["id"], -32022)
        assert error["data"] == {"supported": list(KNOWN_PROTOCOL_VERSIONS), "requested": version}
        assert version in error["message"]
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        assert (await sent(port, **{"MCP-Protocol-Version": version})).status_code == 200


async def test_params_that_are_null_are_none(port: int) -> None:
    answer = await sent(port, body=LIST | {"params": None})
    assert len(answer.json()["result"]["tools"]) == len(NAMES)


@pytest.mark.parametrize(("written", "read"), [("7.0", 7), ("-0.0", 0), ("1e3", 1000), ('"1.0"', "1.0"), ("0", 0)])
async def test_an_id_is_whole_however_it_is_written(port: int, written: str, read: Any) -> None:
    answer = await sent(port, body=f'{{"jsonrpc":"2.0","id":{written},"method":"tools/list"}}'.encode())
    assert (answer.status_code, answer.json()["id"]) == (200, read)
    assert len(answer.json()["result"]["tools"]) == len(NAMES)


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
        "forfeit": {"game_id": "ox-1", "what": "no_idea"},
        "resign": {"game_id": "ox-1"},
        "games": {"gameType": "ox", "phase": "end", "limit": 5},
        "leaderboard": {"by": "overall", "kind": "all"},
        "game_log": {"game_id": "ox-1"},
        "tournaments": {"state": "open", "limit": 5},
        "join_tournament": {"tournament_id": "tournament-1"},
    }[name]
    Draft202012Validator(schema).validate(arguments)
    plain(schema)


def plain(schema: dict[str, Any], *, outside: bool = True) -> None:
    """No reader of tools has to know more than kinds, words, choices and bounds."""
    known = {"type", "description", "enum", "default", "minimum", "maximum", "minLength", "maxLength"}
    assert schema.keys() <= known | {"properties", "required"}
    assert isinstance(schema["type"], str)
    assert outside or schema["description"]
    for inner in schema.get("properties", {}).values():
        plain(inner, outside=False)


async def test_an_action_may_come_as_the_text_of_an_object(platform: Any, port: int, game: str) -> None:
    platform.bus.engine = engine
    _, headers = platform.agent()
    key = headers["Authorization"].removeprefix("Bearer ")
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        action = '{"type": "switch", "use_switch": true}'
        acted = await client.call_tool("act", {"game_id": game, "action": action, "api_key": key})
        assert not acted.is_error
        assert msgspec.json.decode(platform.last().body) == {"type": "switch", "use_switch": True}
        await client.call_tool("act", {"game_id": game, "action": "no object", "api_key": key})
        assert msgspec.json.decode(platform.last().body) == "no object"


@pytest.mark.parametrize(
    ("name", "arguments", "op"), [("forfeit", {"what": "no_idea"}, "forfeit"), ("resign", {}, "resign")]
)
async def test_a_seat_can_be_given_up_by_tool(
    platform: Any, port: int, game: str, name: str, arguments: dict[str, Any], op: str
) -> None:
    agent_id, headers = platform.agent()
    key = headers["Authorization"].removeprefix("Bearer ")
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        await client.call_tool(name, {"game_id": game, "api_key": key, **arguments})
    assert (platform.last().op, platform.last().agent, platform.last().target) == (op, agent_id, game)


def test_an_id_stays_one_part_of_the_path() -> None:
    call = call_of(tool("state"), {"game_id": "../../x?y#z\n"}, "")
    assert call.path.count("/") == 4
    assert unquote(call.path) == "/api/games/../../x?y#z\n/state"
    assert call_of(tool("state"), {}, "").path == "/api/games/-/state"


@pytest.mark.parametrize("text", ['say "hi"', "back\\slash", '"', "two\nlines", "한글 & more"])
def test_a_text_of_a_query_arrives_as_it_is(text: str) -> None:
    call = call_of(tool("games"), {"q": text, "limit": 5}, "")
    assert parse_qs(urlsplit(call.path).query) == {"q": [text], "limit": ["5"]}


async def test_a_part_of_the_path_that_is_missing_is_named(platform: Any, port: int) -> None:
    nothing: list[dict[str, Any]] = [{}, {"game_id": None}, {"game_id": ""}]
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        for arguments in nothing:
            refused = await client.call_tool("state", arguments)
            assert refused.structured_content is not None
            assert refused.is_error
            assert refused.structured_content["errors"] == [{"field": "game_id", "message": "is missing"}]


async def test_what_appears_beside_an_action_is_named(platform: Any, port: int, game: str) -> None:
    """Nothing is played, and the agent has shown that it is present."""
    agent_id, headers = platform.agent()
    key = headers["Authorization"].removeprefix("Bearer ")
    action = {"type": "first_choice", "choice": "O", "comment": "me"}
    arguments = {"game_id": game, "action": action, "colour": "red", "wait": None}
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        keyless = await client.call_tool("act", arguments)
        assert keyless.structured_content is not None
        assert keyless.structured_content["code"] == "unauthorized"
        assert not platform.bus.calls
        refused = await client.call_tool("act", arguments | {"api_key": key})
    assert refused.is_error
    assert refused.structured_content is not None
    (fault,) = refused.structured_content["errors"]
    assert fault["field"] == "colour"
    assert [(call.op, call.agent, call.present) for _, call in platform.bus.calls] == [("state", agent_id, True)]


@pytest.mark.parametrize("given", ["100%", "a" * 200, "x/y?z"])
def test_a_key_that_http_takes_is_the_same_key_here(given: str) -> None:
    call = call_of(tool("join"), {"gameType": "ox", "idempotency_key": given}, "")
    assert call.headers["Idempotency-Key"] == given


@pytest.mark.parametrize("given", ["", None])
def test_an_empty_text_is_not_a_key(given: str | None) -> None:
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
    common = {"Content-Type": "application/json", "Accept": BOTH, "Host": "localhost"}
    assert problem(await platform.send("POST", "/mcp", content=body, headers=common | headers)) == expected


def test_an_action_may_come_as_its_fields() -> None:
    flat = call_of(tool("act"), {"game_id": "ox-1", "type": "speak", "text": "words"}, "")
    whole = call_of(tool("act"), {"game_id": "ox-1", "action": {"type": "speak", "text": "words"}}, "")
    assert flat == whole
