"""Actions served by the protocol: byte for byte the ASGI app's answers, and no way to be desynchronised."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from playmolt_core.ops.connections import Bounds
from playmolt_gateway.server.fast_http import ResponseHeads
from playmolt_schemas.envelopes import Answer
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from services.gateway.tests.fed_protocol import Connection, pieces_of

Reply = tuple[bytes, list[bytes], bytes]


class Wire:
    """A connection on which every byte is chosen."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    async def reply(self) -> Reply:
        async with asyncio.timeout(20):
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


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Connection]]:
    """Opens connections that are fed by hand."""
    made: list[Connection] = []

    def connect(platform: Any, *, asgi: bool = False) -> Connection:
        made.append(Connection(platform.gateway, asgi=asgi))
        return made[-1]

    yield connect
    for connection in made:
        await connection.lose()


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
    wire, end = await opened(port), len(raw) - len(body)
    fast, again = await wire.send(raw), await wire.send(raw)
    slow = await wire.send(raw[:30], raw[30:])
    assert fast == again == slow == await wire.send(raw[:end], raw[end:])
    wire.writer.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw,
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
async def test_whatever_is_changed_both_ways_answer_alike(connect: Any, platform: Any, game: str, change: Any) -> None:
    _, key = platform.agent()
    platform.bus.engine = lambda _game, call: (200, {"body": call.body.decode()})
    raw = change(request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")) + request(game, b"{}")
    await connect(platform).feed(request(game, b"{}", f"Authorization: {key['Authorization']}"))
    fast, asgi = connect(platform), connect(platform, asgi=True)
    assert await fast.feed(raw) == await asgi.feed(raw)
    assert fast.transport.closing == asgi.transport.closing


async def test_however_an_action_is_cut_it_needs_no_cycle_of_uvicorns(
    connect: Any, platform: Any, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = platform.agent()
    raw = request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")
    connection = connect(platform)
    answer = await connection.feed(raw)  # now the key is known
    started: list[Any] = []
    monkeypatch.setattr(HttpToolsProtocol, "_start_asgi_task", lambda *args: started.append(args))
    for size in (1, 7, 40, len(raw) - 7, len(raw)):
        connection.transport.written = b""
        assert await connection.feed(*pieces_of(raw, range(0, len(raw), size))) == answer
    assert started == []
    assert answer.startswith(b"HTTP/1.1 200 OK")


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


async def _cost(connect: Any, platform: Any, filling: bytes, size: int) -> float:
    """CPU seconds of reading a head with a long header that is none, the least of several."""
    head = b"POST /api/games/x/actions HTTP/1.1\r\na:" + (filling * size)[:size] + b"\x00\r\n\r\n"
    costs = []
    for _ in range(9):
        connection = connect(platform)
        started = time.process_time()
        connection.protocol.data_received(head)
        costs.append(time.process_time() - started)
        assert connection.transport.written.startswith(b"HTTP/1.1 4")
    return min(costs)


@pytest.mark.parametrize("filling", [b" ", b"\t", b"a ", b"\r\na"])
async def test_a_head_costs_what_its_length_says(connect: Any, platform: Any, filling: bytes) -> None:
    """One of four times the length that costs sixteen times as much would hold up everybody, without a key."""
    assert await _cost(connect, platform, filling, 7_900) < 10 * await _cost(connect, platform, filling, 1_975)


async def test_blanks_around_a_value_are_no_part_of_it(connect: Any, platform: Any, game: str) -> None:
    _, key = platform.agent()
    plain = ("Authorization: " + key["Authorization"], "Idempotency-Key: one")
    blank = ("AUTHORIZATION: \t " + key["Authorization"] + " \t", "idempotency-key: \tone ")
    for asgi in (False, True):
        for headers in (plain, blank):
            answer = await connect(platform, asgi=asgi).feed(request(game, b"{}", *headers))
            assert answer.startswith(b"HTTP/1.1 200 OK")
    assert len({call.command_id for _, call in platform.bus.calls}) == 1
    empty = request(game, b"{}", plain[0], "Idempotency-Key:")
    assert (await connect(platform).feed(empty)).startswith(b"HTTP/1.1 400 ")


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


short_rest = pytest.mark.parametrize("within", [Bounds(idle=1)])


@short_rest
async def test_a_connection_is_closed_when_it_has_rested_since_its_last_action(
    platform: Any, port: int, game: str
) -> None:
    _, key = platform.agent()
    wire, raw = await opened(port), request(game, b"{}", f"Authorization: {key['Authorization']}")
    for _ in range(4):
        last = time.monotonic()  # before it: a client may hear of its answer late
        await wire.send(raw)
        await asyncio.sleep(0.3)
    async with asyncio.timeout(30):
        assert await wire.rest() == b""
    assert time.monotonic() - last > 0.95
    wire.writer.close()


@short_rest
async def test_a_connection_is_not_closed_under_an_action(
    platform: Any, port: int, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = platform.agent()
    wire, raw = await opened(port), request(game, b"{}", f"Authorization: {key['Authorization']}")
    await wire.send(raw)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(platform.bus, "submit", lambda *_, **__: answer)
    wire.writer.write(raw)
    await asyncio.sleep(1.5)
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
async def test_what_is_not_http_is_refused_as_everything_else(platform: Any, port: int, sent: bytes) -> None:
    del platform
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    async with asyncio.timeout(20):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["code"] == "invalid_request"


def test_an_opening_is_made_again_when_the_date_changes() -> None:
    response_heads, before, after = ResponseHeads(), [(b"date", b"before")], [(b"date", b"after")]
    opening = response_heads.of(200, before)
    assert opening == b"HTTP/1.1 200 OK\r\ndate: before\r\ncontent-type: application/json\r\ncontent-length: "
    assert response_heads.of(200, before) is opening
    assert response_heads.of(200, after) == opening.replace(b"before", b"after")
    assert response_heads.of(404, after).startswith(
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


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n",
        b"GET /healthz HTTP/1.1\r\n" + (b"a: " + b"b" * 8000 + b"\r\n") * 3 + b"\r\n",
        b"GET /healthz?" + b"x" * 17_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: " + b"x" * 50_000,
        b"POST /api/agents HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: " + b"x" * 50_000,
    ],
)
@pytest.mark.parametrize("size", [1_000, 100_000])
async def test_a_head_beyond_its_bounds_is_refused(connect: Any, platform: Any, head: bytes, size: int) -> None:
    connection = connect(platform)
    piece = b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 99 + b"\r\n"
    assert (await connection.feed(piece)).startswith(b"HTTP/1.1 200 ")
    connection.transport.written = b""
    # The first piece is read whole, whatever its length; nothing is gathered beyond it.
    answer = await connection.feed(*pieces_of(head, range(0, len(head), size)), b"x" * 20_000)
    assert b"HTTP/1.1 431 Request Header Fields Too Large\r\n" in answer
    assert b'"code":"headers_too_large"' in answer
    assert connection.transport.closing


async def test_what_is_not_a_request_is_refused_behind_the_answer_to_the_action_before_it(
    connect: Any, platform: Any, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = platform.agent()
    raw = request(game, b"{}", f"Authorization: {key['Authorization']}")
    await connect(platform).feed(raw)
    for asgi in (False, True):
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        monkeypatch.setattr(platform.bus, "submit", lambda *_, answer=answer, **__: answer)
        connection = connect(platform, asgi=asgi)
        assert await connection.feed(raw + b"\x00", b"more") == b""
        answer.set_result(Answer(1, 200, b"{}"))
        statuses = re.findall(rb"HTTP/1.1 (\d+)", await connection.feed(b""))
        assert (statuses, connection.transport.closing) == ([b"200", b"400"], True)


async def test_an_upgrade_to_http_2_is_ignored(platform: Any, port: int, game: str) -> None:
    """As Java's client asks for it with its first request."""
    _, key = platform.agent()
    headers = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    raw = request(game, b"{}", f"Authorization: {key['Authorization']}", *headers)
    wire = await opened(port)
    for pieces in ([raw], pieces_of(raw, [len(raw) - 2]), pieces_of(raw, [50]), [raw + raw]):
        status, _, _ = await wire.send(*pieces)
        assert status == b"HTTP/1.1 200 OK"
    await wire.reply()
    assert [call.body for _, call in platform.bus.calls] == [b"{}"] * 5
    wire.writer.close()


async def test_a_trailer_is_not_a_header(connect: Any, platform: Any, game: str) -> None:
    _, key = platform.agent()
    chunked = request(game, b"", "Transfer-Encoding: chunked").replace(b"Content-Length: 0\r\n", b"")
    trailer = f"2\r\n{{}}\r\n0\r\nAuthorization: {key['Authorization']}\r\n\r\n".encode()
    assert (await connect(platform).feed(chunked + trailer)).startswith(b"HTTP/1.1 401 ")


async def test_a_body_that_does_not_come_is_not_waited_for(platform: Any, port: int, game: str) -> None:
    deadlines = platform.gateway.services.bodies.deadlines
    deadlines.seconds, deadlines.sweep = 0.3, 0.05
    _, key = platform.agent()
    wire, raw = await opened(port), request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")
    await wire.send(raw)
    for rest in (b"a", b"b", b"c"):  # a drop now and then does not count as a body
        wire.writer.write(raw[:-5] if rest == b"a" else rest)
        await asyncio.sleep(0.2)
    status, _, _ = await wire.reply()
    assert status == b"HTTP/1.1 400 Bad Request"
    wire.writer.write(b"xyz")  # the rest of that body is dropped, and the connection goes on
    status, _, _ = await wire.send(raw)
    assert status == b"HTTP/1.1 200 OK"
    assert (len(platform.bus.calls), platform.gateway.services.metrics.in_flight) == (2, 0)
    wire.writer.close()


async def test_a_connection_lost_within_a_body_is_not_an_action(connect: Any, platform: Any, game: str) -> None:
    _, key = platform.agent()
    raw = request(game, b'{"a":1}', f"Authorization: {key['Authorization']}")
    await connect(platform).feed(raw)
    connection = connect(platform)
    await connection.feed(raw[:-1])
    await connection.lose()
    assert (len(platform.bus.calls), platform.gateway.services.metrics.in_flight) == (1, 0)


@pytest.mark.parametrize("taken", [0, 10_000])
async def test_both_ways_take_the_same_rate(connect: Any, make_platform: Any, game: str, taken: int) -> None:
    platform = make_platform(action_rate_limit="10/1")
    agent, key = platform.agent()
    raw = request(game, b"{}", f"Authorization: {key['Authorization']}")
    await connect(platform).feed(raw)
    platform.store.buckets[f"actions:{agent}"] = taken
    fast, asgi = [await connect(platform, asgi=asgi).feed(raw) for asgi in (False, True)]
    assert fast == asgi
    assert fast.startswith(b"HTTP/1.1 429 " if taken else b"HTTP/1.1 200 ")
