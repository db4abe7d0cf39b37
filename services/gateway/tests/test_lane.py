"""The fast lane: the same answer, byte for byte, as the ordinary way, and no way to be told apart or desynchronised."""

import asyncio
import json
import re
import time
from typing import Any

import pytest
from playmolt_gateway.http import serving
from playmolt_gateway.http.fast_http import Openings, read_action
from playmolt_schemas.envelopes import Answer
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Reply = tuple[bytes, list[bytes], bytes]


class Wire:
    """A connection on which every byte is chosen."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def reply(self) -> Reply:
        async with asyncio.timeout(5):
            head = await self._reader.readuntil(b"\r\n\r\n")
            status, *lines = head.rstrip().split(b"\r\n")
            length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length"))
            kept = sorted(line.lower() for line in lines if not line.lower().startswith(b"date"))
            return status, kept, await self._reader.readexactly(length)

    async def rest(self) -> bytes:
        return await self._reader.read()

    async def send(self, *pieces: bytes) -> Reply:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(0.01)
        return await self.reply()


async def opened(port: int) -> Wire:
    return Wire(*await asyncio.open_connection("127.0.0.1", port))


def request(game: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST /api/games/{game}/actions HTTP/1.1", "Host: x", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


BODIES = [b'{"type":"x"}', b"{", b"[]", b'"\\ud800"', b"[" * 200 + b"]" * 200, b""]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("keyed", [(), ("Idempotency-Key: one", "Connection: Keep-Alive"), ("Idempotency-Key: a b",)])
@pytest.mark.parametrize("caller", ["agent", "nobody", "unknown", "basic"])
async def test_both_ways_answer_alike(
    platform: Any, port: int, game: str, body: bytes, keyed: tuple[str, ...], caller: str
) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, call: (200, {"op": call.op, "agent": call.agent, "body": call.body.decode()})
    sent = {
        "agent": [f"Authorization: {key['Authorization']}"],
        "nobody": [],
        "unknown": ["Authorization: Bearer pm_x"],
    }
    headers = (*sent.get(caller, ["Authorization: Basic x"]), *keyed)
    raw = request(game, body, *headers)
    assert read_action(raw) is not None
    wire, end = await opened(port), len(raw) - len(body)
    fast, again = await wire.send(raw), await wire.send(raw)
    slow = await wire.send(raw[:30], raw[30:])
    assert fast == again == slow == await wire.send(raw[:end], raw[end:])
    wire.writer.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw + b"x",
        lambda raw: raw[:-1],
        lambda raw: raw.replace(b"HTTP/1.1", b"HTTP/1.0"),
        lambda raw: raw.replace(b"POST ", b"PUT "),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nTransfer-Encoding: chunked"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nContent-Length: 1"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nConnection: close"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nConnection: keep-alive, TE"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nConnection:"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nExpect: 100-continue"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\n folded"),
        lambda raw: raw.replace(b"Host: x", b"Host : x"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\ny"),
        lambda raw: raw.replace(b"Host: x", b"Host: \x00"),
        lambda raw: raw.replace(b"/actions", b"/actions?x=1"),
        lambda raw: raw.replace(b"/actions", b"/%61ctions"),
        lambda raw: raw.replace(b"/actions", b"/a/actions"),
        lambda raw: raw.replace(b"Content-Length: ", b"Content-Length: +"),
        lambda raw: raw.replace(b"Content-Length: ", b"Content-Length: 0"),
        lambda raw: raw.replace(b"Host: x", b"Host: x\r\nauthorization: a\r\nAuthorization: b"),
    ],
)
def test_only_a_plain_whole_action_takes_the_lane(game: str, change: Any) -> None:
    raw = request(game, b'{"a":1}', "Authorization: Bearer x")
    assert read_action(raw) is not None
    assert read_action(change(raw)) is None


def test_a_head_alone_may_take_the_lane_when_its_body_comes(game: str) -> None:
    raw = request(game, b'{"a":1}', "Authorization: Bearer x")
    head, whole = read_action(raw[:-7]), read_action(raw)
    assert head is not None
    assert whole is not None
    assert (head.body, head.head, head.path) == (None, whole.head, whole.path)
    for length in (b"07", b"+7", b"7 7", b"x", b"", b"65537", b"9" * 5000):
        assert read_action(raw[:-7].replace(b": 7\r\n", b": " + length + b"\r\n")) is None
    for size in range(1, 7):
        assert read_action(raw[:-size]) is None


async def test_head_and_body_one_after_the_other_take_the_lane(
    platform: Any, port: int, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = platform.agent()
    raw = request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")
    wire = await opened(port)
    await wire.send(raw)  # now the key is known
    ordinary: list[bytes] = []
    monkeypatch.setattr(HttpToolsProtocol, "data_received", lambda _, data: ordinary.append(data))
    status, _, _ = await wire.send(raw[:-7], raw[-7:])
    assert (status, ordinary) == (b"HTTP/1.1 200 OK", [])
    wire.writer.close()


async def test_a_head_without_a_body_is_answered_as_ever(platform: Any, port: int, game: str) -> None:
    """Who has no key is told before the body is there; others may take their time for it."""
    wire, raw = await opened(port), request(game, b'{"a":1}')
    status, _, _ = await wire.send(raw[:-7])
    assert status == b"HTTP/1.1 401 Unauthorized"
    wire.writer.close()
    _, key = platform.agent()
    platform.bus.engine = lambda _game, call: (200, {"body": call.body.decode()})
    wire, raw = await opened(port), request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")
    head, some, others = raw[:-7], raw[-7:-3], raw[-3:]
    for pieces in ((head, 0.2, some + others), (head, 0.01, some, 0.2, others), (head, 0.2, some, 0.2, others)):
        for piece in pieces:
            if isinstance(piece, bytes):
                wire.writer.write(piece)
            else:
                await asyncio.sleep(piece)
        status, _, body = await wire.reply()
        assert (status, body) == (b"HTTP/1.1 200 OK", b'{"body":"{\\"a\\":1}"}')
    wire.writer.write(raw[:-7])
    wire.writer.close()


async def test_what_comes_behind_the_body_of_a_head_alone_is_answered_behind_it(
    platform: Any, port: int, game: str
) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, call: (200, {"body": call.body.decode()})
    first, second = (request(game, body, f"Authorization: {key['Authorization']}") for body in (b'"1"', b'"2"'))
    wire = await opened(port)
    wire.writer.write(first[:-3])
    await asyncio.sleep(0.01)
    wire.writer.write(first[-3:] + second)
    assert [(await wire.reply())[2] for _ in range(2)] == [b'{"body":"\\"1\\""}', b'{"body":"\\"2\\""}']
    wire.writer.close()


def _cost(filling: bytes, size: int) -> float:
    """CPU seconds of reading a head with a long header that is none, the least of several."""
    head = b"POST /api/games/x/actions HTTP/1.1\r\na:" + (filling * size)[:size] + b"\x00\r\n\r\n"
    costs = []
    for _ in range(9):
        started = time.process_time()
        assert read_action(head) is None
        costs.append(time.process_time() - started)
    return min(costs)


@pytest.mark.parametrize("filling", [b" ", b"\t", b"a ", b"\r\na"])
def test_a_head_costs_what_its_length_says(filling: bytes) -> None:
    """One of four times the length that costs sixteen times as much would hold up everybody, without a key."""
    assert _cost(filling, 7_900) < 10 * _cost(filling, 1_975)


def test_blanks_around_a_value_are_no_part_of_it(game: str) -> None:
    action = read_action(request(game, b"{}", "AUTHORIZATION: \t Bearer x \t", "Idempotency-Key:"))
    assert action is not None
    assert (action.head.authorization, action.head.idempotency_key) == (b"Bearer x", b"")


async def test_an_action_inside_another_request_is_that_requests_text(platform: Any, port: int, game: str) -> None:
    """Else the sender of a body could speak in the name of whoever shares the connection."""
    _, key = platform.agent()
    asked: list[str] = []

    def engine(_game: str, call: Any) -> tuple[int, Any]:
        asked.append(call.op)
        return 200, {"status": "left"}

    platform.bus.engine = engine
    inner = request(game, b"{}", f"Authorization: {key['Authorization']}")
    wire = await opened(port)
    head = f"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Text: {'y' * 20}".encode()
    status, _, _ = await wire.send(head, inner[:20].replace(b"\r\n", b"") + b"\r\n\r\n")
    assert status == b"HTTP/1.1 200 OK"
    outer = f"POST /api/agents HTTP/1.1\r\nHost: x\r\nContent-Length: {len(inner)}\r\n\r\n".encode()
    status, _, _ = await wire.send(outer, inner)
    assert status.startswith(b"HTTP/1.1 400")
    assert asked == []
    wire.writer.close()


@pytest.fixture
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 4)


async def test_a_connection_is_closed_when_it_has_rested_since_its_last_action(
    short_rest: None, platform: Any, port: int, game: str
) -> None:
    _, key = platform.agent()
    wire, raw = await opened(port), request(game, b"{}", f"Authorization: {key['Authorization']}")
    for _ in range(4):
        await wire.send(raw)
        last = time.monotonic()
        await asyncio.sleep(1.1)
    async with asyncio.timeout(30):
        assert await wire.rest() == b""
    assert time.monotonic() - last > 3.95
    wire.writer.close()


async def test_a_connection_is_not_closed_under_an_action(
    short_rest: None, platform: Any, port: int, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = platform.agent()
    wire, raw = await opened(port), request(game, b"{}", f"Authorization: {key['Authorization']}")
    await wire.send(raw)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(platform.bus, "submit", lambda *_, **__: answer)
    wire.writer.write(raw)
    await asyncio.sleep(4.5)
    answer.set_result(Answer(1, 200, b"{}"))
    status, _, body = await wire.reply()
    assert (status, body) == (b"HTTP/1.1 200 OK", b"{}")
    async with asyncio.timeout(30):
        assert await wire.rest() == b""
    wire.writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
        b"GET /\xc3\xa9 x HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_refused_as_everything_else(platform: Any, port: int, sent: bytes) -> None:
    del platform
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(5):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["code"] == "invalid_request"


def test_an_opening_is_made_anew_when_the_date_changes() -> None:
    openings, before, after = Openings(), [(b"date", b"before")], [(b"date", b"after")]
    opening = openings.of(200, before)
    assert opening == b"HTTP/1.1 200 OK\r\ndate: before\r\ncontent-type: application/json\r\ncontent-length: "
    assert openings.of(200, before) is opening
    assert openings.of(200, after) == opening.replace(b"before", b"after")
    assert openings.of(404, after).startswith(
        b"HTTP/1.1 404 Not Found\r\ndate: after\r\ncontent-type: application/prob"
    )


async def test_what_comes_while_an_action_is_under_way_is_answered_behind_it(
    platform: Any, port: int, game: str
) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, call: (200, {"body": call.body.decode()})
    wire = await opened(port)
    authorization = f"Authorization: {key['Authorization']}"
    first, second = (request(game, body, authorization) for body in (b'"1"', b'"2"'))
    health = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    wire.writer.write(first)
    await asyncio.sleep(0)
    wire.writer.write(second + health + second[:25])
    await asyncio.sleep(0.05)
    wire.writer.write(second[25:])
    replies = [await wire.reply() for _ in range(4)]
    bodies = [re.sub(rb"\W+", b" ", body).strip() for _, _, body in replies]
    assert [bodies[0], bodies[1], bodies[3]] == [b"body 1", b"body 2", b"body 2"]
    wire.writer.close()
