"""Every refusal of the gateway itself: its status, its code, and the order in which it is found."""

import json
from typing import Any

import httpx
import pytest
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.errors import LogUnavailable, NotMigrated, ReadOnly
from playmolt_gateway.access.auth import hash_of
from playmolt_schemas.codes import NO_GAME, Code, problem_bytes
from playmolt_schemas.limits import BODY_BYTES, BODY_VALUES

ACTION = "/api/games/{game}/actions"


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/api/agents", b"{", (400, "invalid_request")),
        ("POST", "/api/agents", b"", (400, "invalid_request")),
        ("POST", "/api/agents", b"[]", (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":1}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":"a","x":1}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":""}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":"a\\u0000"}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":"\\ud800"}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"\\ud800":"a"}', (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":NaN}', (400, "invalid_request")),
        ("POST", "/api/agents", b"[" * 5000, (400, "invalid_request")),
        ("POST", "/api/agents", b'{"name":"' + b"a" * BODY_BYTES + b'"}', (413, "body_too_large")),
        ("POST", "/api/agents?x=1", b'{"name":"a"}', (400, "invalid_request")),
        ("GET", "/api/games?limit=0", None, (400, "invalid_request")),
        ("GET", "/api/games?limit=1001", None, (400, "invalid_request")),
        ("GET", "/api/games?limit=1_0", None, (400, "invalid_request")),
        ("GET", "/api/games?limit=%D9%A1", None, (400, "invalid_request")),
        ("GET", "/api/games?limit=5&limit=6", None, (400, "invalid_request")),
        ("GET", "/api/games?gameType=chess", None, (400, "invalid_request")),
        ("GET", "/api/games?phase=nap", None, (400, "invalid_request")),
        ("GET", "/api/games?cursor=junk", None, (400, "invalid_request")),
        ("GET", "/api/games?cursor=W10", None, (400, "invalid_request")),
        ("GET", "/api/games?cursor=%C3%A9", None, (400, "invalid_request")),
        ("GET", "/api/leaderboard?cursor=junk", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/state?after=-1", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/state?after=1&wait=nan", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/state?at=1&after=1", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/state?seat=a&wait=1", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/state?unknown=1", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/events?after=x", None, (400, "invalid_request")),
        ("GET", "/api/games/{game}/stream?after=x", None, (400, "invalid_request")),
        ("GET", "/api/agents/me", None, (401, "unauthorized")),
        ("POST", "/api/agents/me/keys", b"", (401, "unauthorized")),
        ("GET", "/api/agents/me/turn", None, (401, "unauthorized")),
        ("POST", "/api/games/join", b"{", (401, "unauthorized")),
        ("POST", "/api/games/{game}/leave", b"", (401, "unauthorized")),
        ("POST", "/api/games/{game}/actions", b"{", (401, "unauthorized")),
        ("GET", "/api/admin/games", None, (401, "unauthorized")),
        ("GET", "/api/games/chess-0190c3f8-1111-7222-8333-444455556666/state", None, (404, "not_found")),
        ("GET", "/api/games/ox-1/events", None, (404, "not_found")),
        ("GET", "/api/agora/runs/ox-0190c3f8-1111-7222-8333-444455556666/events", None, (404, "not_found")),
        ("GET", "/api/games/ox-0190c3f8-1111-7222-8333-44445555666%2e/log", None, (404, "not_found")),
        ("GET", "/nowhere", None, (404, "not_found")),
        ("GET", "/api/games/", None, (404, "not_found")),
        ("GET", "/skills/chess.md", None, (404, "not_found")),
        ("DELETE", "/api/games", None, (405, "method_not_allowed")),
        ("GET", "/api/games/{game}/actions", None, (405, "method_not_allowed")),
        ("OPTIONS", "/api/games", None, (405, "method_not_allowed")),
    ],
)
async def test_a_bad_request_is_refused_by_name(
    platform: Any, problem: Any, game: str, method: str, path: str, body: bytes | None, expected: tuple[int, str]
) -> None:
    response = await platform.send(method, path.format(game=game), content=body)
    assert problem(response) == expected
    assert platform.bus.calls == []


async def test_an_id_that_cannot_be_a_run_is_named_as_one(platform: Any) -> None:
    refused = await platform.send("GET", "/api/agora/runs/nope/events")
    assert (refused.status_code, refused.json()["detail"]) == (
        404, "Run 'nope' does not exist. Run ids come from GET /api/agora/runs."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"), [("GET", "events", None), ("POST", "fork", {"at": 3, "set": "model=scripted"})]
)
async def test_a_run_that_does_not_exist_is_named_as_one(platform: Any, method: str, path: str, body: Any) -> None:
    run = "agora-0190c3f8-1111-7222-8333-444455556666"
    platform.bus.engine = lambda _game, _call: (404, problem_bytes(Code.NOT_FOUND, NO_GAME))
    refused = await platform.send(method, f"/api/agora/runs/{run}/{path}", json=body, headers=platform.operator)
    assert (refused.status_code, refused.json()["detail"]) == (
        404, f"Run {run!r} does not exist. Run ids come from GET /api/agora/runs."
    )  # fmt: skip


async def test_a_405_lists_every_method_of_the_path(platform: Any, game: str) -> None:
    assert (await platform.send("PUT", "/api/agents")).headers["allow"] == "GET, HEAD, POST"
    assert (await platform.send("GET", f"/api/games/{game}/actions")).headers["allow"] == "POST"


async def test_every_fault_of_a_body_is_reported_at_once(platform: Any) -> None:
    body = {"name": "n" * 41, "version": 3, "kind": "ghost", "\ud800": 1}
    answer = await platform.send("POST", "/api/agents", content=json.dumps(body))
    faults = [
        {"field": "?", "message": "is an unknown field"},
        {"field": "name", "message": "must be a string of at most 40 characters"},
        {"field": "version", "message": "must be a string or null"},
        {"field": "kind", "message": "must be one of bot, person, house"},
    ]
    assert answer.status_code == 400
    assert answer.json()["errors"] == faults
    assert answer.json()["detail"].startswith("; ".join(f"{fault['field']} {fault['message']}" for fault in faults))


async def test_faults_are_reported_by_field(platform: Any) -> None:
    _, key = platform.agent()
    response = await platform.send("POST", "/api/games/join", json={"gameType": "chess"}, headers=key)
    assert response.json()["errors"] == [{"field": "gameType", "message": "must be one of trial, ox"}]
    response = await platform.send("POST", "/api/games/join", json={}, headers=key)
    assert response.json()["errors"] == [{"field": "gameType", "message": "is missing"}]
    response = await platform.send("GET", "/api/games?colour=red")
    assert response.json()["errors"] == [{"field": "colour", "message": "is unknown"}]


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic abc", "Bearer nonsense", "Bearer pm_" + "a" * 43])
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/api/games"), ("POST", ACTION), ("GET", "/api/admin/lag"), ("POST", "/api/agents")]
)
async def test_a_key_that_is_sent_must_be_valid(
    platform: Any, problem: Any, game: str, header: str, method: str, path: str
) -> None:
    headers = {"Authorization": header}
    response = await platform.send(method, path.format(game=game), headers=headers, content=b'{"name":"a"}')
    assert problem(response) == (401, "unauthorized")
    assert response.headers["www-authenticate"] == "Bearer"


async def test_operator_calls_tell_an_agent_from_a_stranger(platform: Any, problem: Any) -> None:
    _, key = platform.agent()
    assert problem(await platform.send("GET", "/api/admin/games", headers=key)) == (403, "operator_only")
    assert problem(await platform.send("GET", "/api/admin/games")) == (401, "unauthorized")


async def test_without_an_operator_key_nobody_is_operator(make_platform: Any, problem: Any) -> None:
    platform = make_platform(operator_key="")
    response = await platform.send("GET", "/api/admin/games", headers={"Authorization": "Bearer "})
    assert problem(response) == (401, "unauthorized")


async def test_the_operator_is_not_an_agent(platform: Any, problem: Any, game: str) -> None:
    for path in ("/api/games/join", f"/api/games/{game}/actions"):
        response = await platform.send("POST", path, headers=platform.operator, json={"gameType": "ox"})
        assert problem(response) == (401, "unauthorized")


async def test_closed_registration(make_platform: Any, problem: Any) -> None:
    platform = make_platform(registration_open=False)
    assert problem(await platform.send("POST", "/api/agents", json={"name": "Ada"})) == (403, "registration_closed")


@pytest.mark.parametrize("path", ["/api/games/{game}/actions", "/api/games/{game}/leave"])
async def test_checks_of_a_post_come_in_order(make_platform: Any, problem: Any, game: str, path: str) -> None:
    """401, 429, 413, form, 404: a request with every fault shows them one after the other as they are mended."""
    platform = make_platform(rate_limit="1/60", action_rate_limit="1/60")
    agent, key = platform.agent()
    platform.store.buckets = {f"requests:{agent}": 1, f"actions:{agent}": 1}
    bad_game, large = path.format(game="ox-1"), b"x" * (BODY_BYTES + 1)

    async def refusal(headers: dict[str, str], body: bytes, where: str = bad_game) -> tuple[int, str]:
        found: tuple[int, str] = problem(await platform.send("POST", where, content=body, headers=headers))
        return found

    assert await refusal({}, large) == (401, "unauthorized")
    assert await refusal(key, large) == (429, "rate_limited")
    platform.store.buckets = {f"requests:{agent}": -9, f"actions:{agent}": -9}
    assert await refusal(key, large) == (413, "body_too_large")
    assert await refusal(key, b"{") == (400, "invalid_request")
    assert await refusal(key | {"Idempotency-Key": ""}, b"{}") == (400, "invalid_request")
    assert await refusal(key, b"{}", bad_game + "?x=1") == (400, "invalid_request")
    assert await refusal(key, b"{}") == (404, "not_found")
    assert platform.bus.calls == []


@pytest.mark.parametrize("path", ["/api/games/{game}/actions", "/api/games/{game}/leave", "/api/games/join"])
@pytest.mark.parametrize("depth", [101, 600, 950, 30_000])
async def test_a_deep_body_is_refused_before_anything_walks_through_it(
    platform: Any, problem: Any, game: str, path: str, depth: int
) -> None:
    _, key = platform.agent()
    body = b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"
    answer = await platform.send(
        "POST", path.format(game=game), content=body, headers=key | {"Idempotency-Key": "deep"}
    )
    assert problem(answer) == (400, "invalid_request")
    assert ("nested" if depth < BODY_VALUES else "values") in answer.json()["detail"]
    sent = [(call.op, call.body, call.present) for _, call in platform.bus.calls]
    assert sent == ([("state", b"{}", True)] if "{game}" in path else [])  # the agent is present; the body stays here


async def test_brackets_in_a_text_are_no_depth(platform: Any, game: str) -> None:
    _, key = platform.agent()
    sent = {"type": "speak", "text": "[{" * 90, "list": [[]] * 200}
    assert (await platform.send("POST", f"/api/games/{game}/actions", json=sent, headers=key)).status_code == 200


async def test_a_chunked_body_is_not_read_beyond_its_limit(platform: Any, problem: Any, game: str) -> None:
    _, key = platform.agent()
    sent = 0

    async def chunks() -> Any:
        nonlocal sent
        for _ in range(1000):
            sent += 16 * 1024
            yield b" " * 16 * 1024

    for path in (f"/api/games/{game}/actions", f"/api/games/{game}/leave"):
        sent = 0
        response = await platform.send("POST", path, content=chunks(), headers=key)
        assert problem(response) == (413, "body_too_large")
        assert response.headers["connection"] == "close"
        assert sent <= BODY_BYTES + 2 * 16 * 1024


async def test_a_body_of_exactly_the_limit_passes(platform: Any, game: str) -> None:
    _, key = platform.agent()
    body = b'{"type":"' + b"a" * (BODY_BYTES - 11) + b'"}'
    assert len(body) == BODY_BYTES
    response = await platform.send("POST", f"/api/games/{game}/actions", content=body, headers=key)
    assert response.status_code == 200
    assert platform.last().body == body


async def test_rate_limit_names_the_bucket(make_platform: Any, problem: Any, game: str) -> None:
    platform = make_platform(rate_limit="2/10", action_rate_limit="1/5")
    agent, key = platform.agent()
    statuses = [(await platform.send("GET", f"/api/games/{game}/state", headers=key)).status_code for _ in range(2)]
    assert statuses == [200, 200]
    response = await platform.send("GET", f"/api/games/{game}/state", headers=key)
    assert problem(response) == (429, "rate_limited")
    assert response.headers["retry-after"] == "2"
    assert response.json()["ratelimit"] == {"key": f"requests:{agent}", "limit": 2, "seconds": 10.0}
    action = await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=key)
    assert action.status_code == 200, "actions have a bucket of their own"
    action = await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=key)
    assert action.json()["ratelimit"] == {"key": f"actions:{agent}", "limit": 1, "seconds": 5.0}


@pytest.mark.parametrize(
    ("peer", "settings", "held"),
    [
        ("192.0.2.1", {}, True),
        ("127.0.0.1", {}, False),
        ("::1", {}, False),
        ("127.0.0.1", {"limit_loopback": True}, True),
        ("127.0.0.1", {"rate_limit": "1200/60", "action_rate_limit": "600/60"}, True),
        ("192.0.2.1", {"rate_limit": "off", "action_rate_limit": "off"}, False),
    ],
)
async def test_there_are_rates_by_default_but_for_callers_on_this_machine(
    make_platform: Any, problem: Any, game: str, peer: str, settings: dict[str, Any], held: bool
) -> None:
    platform = make_platform(**settings)
    agent, key = platform.agent()
    transport = httpx.ASGITransport(platform.gateway, client=(peer, 1))
    platform.store.buckets = {f"requests:{agent}": 1200, f"actions:{agent}": 600}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=key) as client:
        for method, path in (("GET", f"/api/games/{game}/state"), ("POST", f"/api/games/{game}/actions")):
            response = await client.request(method, path, json={} if method == "POST" else None)
            assert (response.status_code == 429) is held, response.text
        # Another key is the same agent's: a full bucket stays full.
        if peer == "192.0.2.1" and held:
            key_hash = next(each for each, owner in platform.store.keys.items() if owner == agent)
            platform.store.keys[hash_of("pm_" + "k" * 43)] = platform.store.keys.pop(key_hash)
            response = await client.get(f"/api/games/{game}/state", headers={"Authorization": "Bearer pm_" + "k" * 43})
            assert problem(response) == (429, "rate_limited")


async def test_a_large_bucket_is_asked_for_several_at_once_and_never_gives_more(make_platform: Any, game: str) -> None:
    platform = make_platform(action_rate_limit="640/60")
    agent, key = platform.agent()
    platform.store.buckets = {f"actions:{agent}": 640 - 25}
    statuses = [
        (await platform.send("POST", f"/api/games/{game}/actions", json={}, headers=key)).status_code for _ in range(30)
    ]
    assert statuses == [200] * 25 + [429] * 5
    assert platform.store.takes == 2 + 2 * 5 + 2 * 5


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/games/{game}/actions", {}),
        ("POST", "/api/games/{game}/leave", {}),
        ("POST", "/api/games/join", {"gameType": "ox"}),
        ("GET", "/api/games/{game}/state", None),
        ("GET", "/api/games/{game}/events", None),
        ("GET", "/api/games/{game}/log", None),
        ("GET", "/api/games", None),
        ("GET", "/api/agents/me/turn", None),
    ],
)
async def test_absent_engines_are_a_503(
    platform: Any, problem: Any, game: str, method: str, path: str, body: Any
) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, _call: BusUnavailable("no engine answered in time")
    response = await platform.send(method, path.format(game=game), json=body, headers=key)
    assert problem(response) == (503, "unavailable")
    assert int(response.headers["retry-after"]) >= 1


async def test_absent_postgres_is_a_503(platform: Any, problem: Any, game: str) -> None:
    _, key = platform.agent()
    platform.store.away = True
    for method, path in (("POST", f"/api/games/{game}/actions"), ("GET", "/api/agents/me")):
        assert problem(await platform.send(method, path, json={}, headers=key)) == (503, "unavailable")
    assert problem(await platform.send("POST", "/api/agents", json={"name": "Ada"})) == (503, "unavailable")


async def test_an_engines_503_carries_retry_after(platform: Any, game: str) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, _call: (503, {"code": "unavailable"})
    for method, path in (("POST", f"/api/games/{game}/actions"), ("GET", f"/api/games/{game}/state")):
        response = await platform.send(method, path, json={}, headers=key)
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert response.headers["content-type"] == "application/problem+json"


async def test_a_bug_is_a_503_that_tells_nothing(platform: Any, problem: Any, game: str) -> None:
    _, key = platform.agent()

    def broken(_game: str, _call: Any) -> Any:
        raise LookupError("secret inside")

    platform.bus.engine = broken
    for method, path in (("POST", f"/api/games/{game}/actions"), ("GET", f"/api/games/{game}/state")):
        response = await platform.send(method, path, json={}, headers=key)
        assert problem(response) == (503, "internal_error")
        assert "secret" not in response.text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        *((kind("gone"), "unavailable") for kind in (
            ConnectionError, ConnectionResetError, ConnectionRefusedError, ConnectionAbortedError, BrokenPipeError,
            TimeoutError, BusUnavailable, LogUnavailable, NotMigrated, ReadOnly,
        )),
        *((kind(2, "no such thing", "/a/file"), "internal_error") for kind in (
            FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError,
        )),
        (OSError(28, "No space left on device"), "internal_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)  # fmt: skip
async def test_a_lost_connection_is_unavailability_and_a_missing_file_is_a_bug(
    platform: Any, problem: Any, game: str, error: OSError, code: str
) -> None:
    _, key = platform.agent()

    def failing(_game: str, _call: Any) -> Any:
        raise error

    platform.bus.engine = failing
    for method, path in (
        ("POST", f"/api/games/{game}/actions"), ("GET", f"/api/games/{game}/state"), ("POST", "/api/games/join"),
    ):  # fmt: skip
        body = {"gameType": game.partition("-")[0]} if path.endswith("join") else {}
        response = await platform.send(method, path, json=body, headers=key)
        assert problem(response) == (503, code), path
        assert "/a/file" not in response.text


async def test_hot_route_and_framework_give_equal_documents(make_platform: Any, game: str) -> None:
    """The same fault on the hot route and on a route of FastAPI: status, headers and bytes are equal."""
    platform = make_platform()
    _, key = platform.agent()
    large = b"x" * (BODY_BYTES + 1)
    faults: list[tuple[dict[str, str], bytes, str]] = [
        ({}, b"{}", ""),
        ({"Authorization": "Bearer x"}, b"{}", ""),
        (key, large, ""),
        (key, b"{", ""),
        (key, b"{}", "?x=1"),
        (key | {"Idempotency-Key": "a b"}, b"{}", ""),
    ]
    for headers, body, query in faults:
        hot = await platform.send("POST", f"/api/games/{game}/actions{query}", content=body, headers=headers)
        framework = await platform.send("POST", f"/api/games/{game}/leave{query}", content=body, headers=headers)
        assert hot.status_code >= 400
        assert (hot.status_code, dict(hot.headers), json.loads(hot.content)) == (
            framework.status_code, dict(framework.headers), json.loads(framework.content),
        )  # fmt: skip


@pytest.mark.parametrize("path", ["/api/admin/invites/%00", "/api/admin/invites/a%ED%A0%80", "/api/jury/cases/a%00"])
async def test_an_id_that_postgres_cannot_store_does_not_exist(platform: Any, problem: Any, path: str) -> None:
    refused = await platform.send("DELETE", path, headers=platform.operator)
    assert problem(refused) == (404, "not_found")
    assert not platform.bus.calls
