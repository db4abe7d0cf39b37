"""The gateway against clients that say half of it, read nothing, or come in too great a number."""

import asyncio
import base64
import json
import re
import socket
from contextlib import suppress
from typing import Any

import pytest
from playmolt_core.ops.connections import Bounds
from playmolt_gateway.request.fair_slots import Capacity, FairSlots

from core.tests.waiting import wait_until
from services.gateway.tests.conftest import OPERATOR_KEY

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
Opened = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def opened(port: int, sent: bytes = b"") -> Opened:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await asyncio.sleep(0.01)
    return reader, writer


async def end_of(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(20):
        with suppress(ConnectionError):
            return await reader.read()
    return b""


@pytest.mark.parametrize("within", [Bounds(head=0.3, body=0.3, idle=0.3)])
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"G",
        b"GET /healthz HTTP/1.1\r\nA",
        HEALTH,
        HEALTH + b"GET",
        HEALTH.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\nab"),
    ],
)
async def test_what_does_not_become_whole_is_not_waited_for(platform: Any, port: int, sent: bytes) -> None:
    del platform
    reader, writer = await opened(port, sent)
    ended = asyncio.create_task(end_of(reader))
    async with asyncio.timeout(8):  # sooner than a gateway's own bounds
        while not ended.done():
            if sent not in (b"", HEALTH):  # a byte now and then is no request either
                writer.write(b"x" if sent.endswith(b"A") else b"")
            await asyncio.sleep(0.05)
    assert (await ended).count(b"HTTP/1.1 200") == sent.count(b"\r\n\r\n")
    writer.close()


@pytest.mark.parametrize("within", [Bounds(total=6, per_address=4, spare=2)])
async def test_at_the_bound_probes_and_operators_still_get_in(platform: Any, port: int, game: str) -> None:
    platform.bus.engine = lambda _game, _call: (200, {"version": 4})
    poll = f"GET /api/games/{game}/state?after=4&wait=30 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    polls = [await opened(port, poll) for _ in range(4)]
    waits = platform.gateway.services.waits
    await wait_until(lambda: len(waits) == 4)
    operators = f"GET /api/admin/agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {OPERATOR_KEY}\r\n\r\n".encode()
    for sent, status in (
        (HEALTH, b"200"),
        (operators, b"200"),
        (b"GET /api/games HTTP/1.1\r\nHost: x\r\n\r\n", b"503"),
    ):
        for _ in range(3):
            reader, writer = await opened(port, sent)
            answer = await end_of(reader)  # such a connection ends with its answer: the place is for the next one
            assert answer.startswith(b"HTTP/1.1 " + status)
            writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (json.loads(body)["code"], b"retry-after: " in head) == ("unavailable", True)
    assert len(waits) == 4
    for _, writer in polls:
        writer.close()


@pytest.mark.parametrize("within", [Bounds(total=6, per_address=4, spare=2)])
async def test_the_oldest_idle_connection_gives_way(platform: Any, port: int) -> None:
    del platform
    idle = [await opened(port) for _ in range(4)]
    idle[0][1].write(HEALTH)
    await idle[0][0].readuntil(b"alive")
    reader, writer = await opened(port, HEALTH)
    async with asyncio.timeout(20):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert await end_of(idle[1][0]) == b""
    idle[0][1].write(HEALTH)
    async with asyncio.timeout(20):
        await idle[0][0].readuntil(b"HTTP/1.1 200")
    for _, other in (*idle, (reader, writer)):
        other.close()


@pytest.mark.parametrize("path", ["/openapi.json", "/metrics"])
@pytest.mark.parametrize("within", [Bounds(unread=0.5)])
async def test_requests_of_a_client_that_reads_nothing_are_not_taken(platform: Any, port: int, path: str) -> None:
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setblocking(False)
    requests = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 400_000
    sent, loop = 0, asyncio.get_running_loop()
    async with asyncio.timeout(60):
        with suppress(ConnectionError):
            while sent < len(requests):
                await asyncio.wait_for(loop.sock_sendall(sock, requests[sent : sent + 65_536]), 20)
                sent += 65_536
    assert sent < len(requests)
    page = platform.gateway.services.metrics.render({})
    taken = re.findall(r'playmolt_gateway_requests_total\{route="\w+",status="200"\} (\d+)', page)
    size = len((await platform.send("GET", path)).content)
    assert sum(map(int, taken)) * size < 16_000_000  # what the kernel takes of answers, and 64 KiB
    sock.close()


async def test_a_reader_that_is_slow_gets_every_answer_in_order(platform: Any, port: int) -> None:
    del platform
    reader, writer = await opened(port)
    paths = ["/openapi.json", "/healthz", "/metrics", "/llms.txt"] * 100
    writer.write(b"".join(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for path in paths))
    kinds = []
    async with asyncio.timeout(30):
        for number in range(len(paths)):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            kinds.append(body[:12])
            if number % 50 == 0:
                await asyncio.sleep(0.05)
    assert len({kind[:4] for kind in kinds}) > 1
    assert [kind[:4] for kind in kinds] == [kind[:4] for kind in kinds[:4]] * 100
    writer.close()


async def test_no_more_than_a_megabyte_of_a_body_is_taken(platform: Any, port: int) -> None:
    del platform
    for framing in (b"Content-Length: 100000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n5F5E100\r\n"):
        reader, writer = await opened(port, HEALTH[:-2] + framing)
        sent = 0
        async with asyncio.timeout(20):
            with suppress(ConnectionError):
                while sent < 50_000_000:
                    writer.write(b"x" * 65_536)
                    await writer.drain()
                    sent += 65_536
        assert sent < 20_000_000  # what the kernel holds comes on top
        await end_of(reader)
        writer.close()


async def test_a_route_with_a_longer_body_takes_it_and_no_more(platform: Any, port: int) -> None:
    """A file of evidence: 8 MiB are 11 MiB as base64."""
    platform.bus.engine = lambda _game, _call: (201, {"id": "E1"})
    _, key = platform.agent()
    path = "/api/sessions/legal-0190c3f8-1111-7222-8333-444455556666/evidence"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n".encode()
    text = base64.b64encode(b"The lease of 2024. " * 40_000 + b" " * 7 * 1024 * 1024)
    body = b'{"title":"a","kind":"evidence","pages":"1","content":"%b"}' % text
    assert len(body) > 10 * 1024 * 1024
    reader, writer = await opened(port, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    async with asyncio.timeout(30):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 201 ")
    writer.close()
    reader, writer = await opened(port, head + b"Content-Length: 100000000\r\n\r\n")
    async with asyncio.timeout(30):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 413 ")
        await end_of(reader)
    writer.close()


async def test_few_long_bodies_are_in_memory_at_once(platform: Any, port: int) -> None:
    platform.gateway.services.long_bodies = FairSlots(Capacity(1, 1), waiting=0)
    _, key = platform.agent()
    path = "/api/sessions/legal-0190c3f8-1111-7222-8333-444455556666/evidence"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n".encode()
    _, first = await opened(port, head + b"Content-Length: 100\r\n\r\n{")
    await wait_until(lambda: len(platform.gateway.services.long_bodies) == 1)
    reader, second = await opened(port, head + b"Content-Length: 2\r\n\r\n{}")
    async with asyncio.timeout(20):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 503 ")
    for writer in (first, second):
        writer.close()
    await wait_until(lambda: not len(platform.gateway.services.long_bodies))


async def test_a_late_body_is_still_told_of(platform: Any, port: int, game: str) -> None:
    deadlines = platform.gateway.services.bodies.deadlines
    deadlines.seconds, deadlines.sweep = 0.2, 0.05
    _, key = platform.agent()
    head = f"POST /api/games/{game}/leave HTTP/1.1\r\nHost: x\r\nAuthorization: {key['Authorization']}\r\n"
    reader, writer = await opened(port, head.encode() + b"Content-Length: 5\r\n\r\n{")
    async with asyncio.timeout(20):
        assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 400 ")
    writer.close()


HEALTHZ = "/healthz HTTP/1.1"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (f"GET {HEALTHZ}\r\n\r\n", 400),
        (f"GET {HEALTHZ}\r\nHost: x\r\nHost: x\r\n\r\n", 400),
        ("GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400),
        ("GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", 400),
        ("GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 400),
        ("GET /healthz\r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("G%45T /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /%6detrics HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /%6Detrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET http://x/metric%73 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /docs/%2e%2e/metrics HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (f"POST {HEALTHZ}\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (f"POST {HEALTHZ}\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
        (
            f"POST {HEALTHZ}\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (f"POST {HEALTHZ}\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nx", 501),
    ],
)
async def test_what_two_readers_may_read_in_two_ways_is_refused_before_it_is_routed(
    platform: Any, port: int, game: str, sent: str, status: int
) -> None:
    _, key = platform.agent()
    path = f"/api/games/{game}/actions"
    for asked in (sent, sent.replace("GET ", "POST ").replace("/healthz", path)):
        lines = asked.replace("\r\n\r\n", f"\r\nAuthorization: {key['Authorization']}\r\n\r\n", 1)
        reader, writer = await opened(port, lines.encode())
        answer = await end_of(reader)
        assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"%d" % status]
        assert b"application/problem+json" in answer
        writer.close()
    assert platform.bus.calls == []


async def test_what_needs_escapes_may_have_them_and_an_old_client_needs_no_host(platform: Any, port: int) -> None:
    del platform
    for sent, status in (
        ("GET /api/games/%C3%A9/state HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"404"),
        ("GET /healthz?%61=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"400"),
        ("GET /healthz HTTP/1.0\r\n\r\n", b"200"),
    ):
        reader, writer = await opened(port, sent.encode())
        assert (await end_of(reader)).startswith(b"HTTP/1.1 " + status)
        writer.close()
