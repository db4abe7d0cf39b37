"""Clients as they are (interop.md, HTTP): marks, encodings, old versions, numbers; on both ways through the gateway."""

import asyncio
import json
from typing import Any

import pytest

ACTION = "/api/games/{game}/actions"
PATHS = [ACTION, "/api/games/{game}/leave", "/api/agents"]


async def sent(port: int, raw: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send one request and read to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return int(first.split(" ")[1]), headers, body


def post(path: str, body: bytes, *headers: str, version: str = "1.1") -> bytes:
    lines = [
        f"POST {path} HTTP/{version}", "Host: x", "Connection: close", f"Content-Length: {len(body)}", *headers, "", "",
    ]  # fmt: skip
    return "\r\n".join(lines).encode() + body


@pytest.fixture(params=["a key that is known", "a key to look up"])
async def key(platform: Any, request: pytest.FixtureRequest) -> str:
    """An action of a known key takes the short way, and of another the long one."""
    _, headers = platform.agent()
    if request.param == "a key that is known":
        await platform.send("GET", "/api/agents/me", headers=headers)
    return f"Authorization: {headers['Authorization']}"


async def test_a_byte_order_mark_is_skipped(platform: Any, port: int, game: str, key: str) -> None:
    platform.bus.engine = lambda _game, call: (200, {"body": call.body.decode()})
    status, _, body = await sent(port, post(ACTION.format(game=game), b'\xef\xbb\xbf{"type":"x"}', key))
    assert (status, json.loads(body)) == (200, {"body": '{"type":"x"}'})
    status, _, _ = await sent(port, post("/api/agents", b'\xef\xbb\xbf{"name":"j"}'))
    assert status == 201


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "x"])
async def test_an_encoded_body_is_refused(port: int, game: str, key: str, path: str, encoding: str) -> None:
    raw = post(path.format(game=game), b"\x1f\x8b\x08", key, f"Content-Encoding: {encoding}")
    status, headers, body = await sent(port, raw)
    assert (status, json.loads(body)["code"]) == (415, "unsupported_encoding")
    assert headers["accept-encoding"] == "identity"


async def test_identity_is_no_encoding(platform: Any, port: int, game: str, key: str) -> None:
    platform.bus.engine = lambda _game, _call: (200, {})
    raw = post(ACTION.format(game=game), b"{}", key, "Content-Encoding: Identity")
    assert (await sent(port, raw))[0] == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"name":"\xff"}', "byte 10 is 0xFF"),
        (b'{"name":"\xc3(', "byte 10 is 0xC3"),
        (b"\xed\xa0\x80", "byte 1 is 0xED"),
    ],
)
async def test_what_is_not_utf8_is_reported_by_its_first_byte(
    port: int, game: str, key: str, path: str, body: bytes, told: str
) -> None:
    status, _, answer = await sent(port, post(path.format(game=game), body, key))
    problem = json.loads(answer)
    assert (status, problem["code"]) == (400, "invalid_request")
    assert told in problem["detail"]
    assert "codec" not in problem["detail"]


async def test_what_is_not_json_is_reported_by_its_place(port: int) -> None:
    _, _, answer = await sent(port, post("/api/agents", b'{\n  "name": j}'))
    assert "line 2, column 11" in json.loads(answer)["detail"]


async def test_http_1_0_gets_no_chunks(platform: Any, port: int, game: str) -> None:
    records = [{"stream": game, "version": version} for version in range(1, 30)]
    platform.bus.engine = lambda _game, _call: (200, {"records": records, "next_after": 29, "more": False})
    raw = f"GET /api/games/{game}/log HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode()
    status, headers, body = await sent(port, raw)
    assert (status, headers.get("transfer-encoding")) == (200, None)
    assert [json.loads(line) for line in body.splitlines()] == records
    status, headers, body = await sent(port, b"GET /healthz HTTP/1.0\r\n\r\n")
    assert (status, int(headers["content-length"])) == (200, len(body))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/games"), ("GET", ACTION), ("PATCH", "/healthz"), ("DELETE", "/mcp"), ("POST", "/api/leaderboard"),
        ("PUT", "/"), ("OPTIONS", "/api/games"), ("POST", "/metrics"), ("TRACE", "/openapi.json"),
    ],
)  # fmt: skip
async def test_what_may_be_sent_is_told(port: int, game: str, method: str, path: str) -> None:
    raw = f"{method} {path.format(game=game)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    status, headers, _ = await sent(port, raw.encode())
    assert status == 405
    assert headers["allow"]
    assert method not in headers["allow"].split(", ")


async def test_a_whole_number_may_be_written_as_a_float(platform: Any, port: int, game: str, key: str) -> None:
    platform.bus.engine = lambda _game, call: (200, {"body": json.loads(call.body)})
    body = b'{"name":"j","version":3.0}'
    assert (await sent(port, post("/api/agents", body)))[0] == 400  # a text is no number
    raw = f"GET /api/games?limit=5.0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{key}\r\n\r\n".encode()
    assert (await sent(port, raw))[0] == 400  # a query value is text
