"""The audit's requests that are no requests: too much, too slow, too many, or to be read in two ways."""

import os
import re
import resource
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from playmolt_core.ops.connections import bounds
from playmolt_core.settings import Settings

from tests.integration.gateway.audit.conftest import CONNECTIONS
from tests.integration.gateway.audit.wire import (
    HALF_A_BODY,
    SERVERS,
    SLOW,
    Slow,
    Wire,
    address,
    grows_by_less_than,
    process,
    request,
)
from tests.integration.gateway.audit.wire import statuses as statuses_of
from tests.integration.gateway.rows import OPERATOR_KEY, Platform, eventually, together

MEGABYTE = 1024 * 1024
POURED = 48 * MEGABYTE
KERNEL = 16 * MEGABYTE
"""What the kernel may take on both sides of a connection whose other end reads no more."""
HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
PIECES = {
    "header lines": (HEAD, b"a: bbbbbbbbbbbbbbbb\r\n" * 3_000),
    "one header": (HEAD + b"a: ", b"b" * 65_536),
    "a target": (b"GET /", b"b" * 65_536),
    "a body of a length": (HEAD + b"Content-Length: 999999999\r\n\r\n", b"b" * 65_536),
    "a body of chunks": (CHUNKED, b"1000\r\n" + b"b" * 0x1000 + b"\r\n"),
    "one chunk": (CHUNKED + b"3FFFFFFF\r\n", b"b" * 65_536),
    "an extension of a chunk": (CHUNKED + b"5;", b"b" * 65_536),
    "a trailer": (CHUNKED + b"0\r\na: ", b"b" * 65_536),
    "trailers": (CHUNKED + b"0\r\n", b"a: bbbbbbbbbbbbbbbb\r\n" * 3_000),
}


@pytest.mark.parametrize("server", SERVERS)
def test_what_never_ends_is_not_taken(audited: Platform, server: str) -> None:
    """Given a server, when 48 MB of one part of a request come, then it takes no more than a megabyte of them."""
    for what, (begins, piece) in PIECES.items():
        with grows_by_less_than(50 * MEGABYTE, process(audited, server)), Wire(address(audited, server)) as wire:
            wire.write(begins)
            assert wire.pour(piece, POURED) < KERNEL, what


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("lines", [["a: " + "b" * 17_000], [f"a{number}: b" for number in range(101)]])
def test_a_head_has_a_bound(audited: Platform, server: str, lines: list[str]) -> None:
    with Wire(address(audited, server), request("GET", "/healthz", *lines)) as wire:
        assert statuses_of(wire.rest()) == [431]


@pytest.mark.parametrize("what", SLOW)
def test_what_does_not_become_whole_is_not_waited_for(audited: Platform, slow: dict[str, Slow], what: str) -> None:
    """Given half of something, when its time is over, then it is told so or not, and its connection is gone."""
    del audited
    one = slow[what]
    assert statuses_of(one.wire.rest()) == ([400] if what == "half a body" else [])
    assert time.monotonic() - one.began > one.patience - 2


@pytest.mark.parametrize("server", ["gateway", "spectator"])
def test_answers_that_nobody_reads_are_not_made(audited: Platform, server: str) -> None:
    """Given 48 MB of requests and nobody who reads, then few are answered, and in ten seconds their sender is gone.

    The gateway's answers are long, the spectator's short: both have the same protocol, and it takes thousands of short
    ones until the kernel holds no more.
    """
    where, paths = address(audited, server), ["/healthz"]
    if server == "gateway":
        table = audited.table("ox")
        table.ox(*["OOOOX"] * 5)
        paths = [f"/api/games/{table.game_id}/events?limit=1000", "/metrics", "/openapi.json"]

    def asks(path: str) -> int:
        with Wire(where) as wire:
            return wire.pour(request("GET", path) * 2_000, 48 * MEGABYTE)

    with grows_by_less_than(50 * MEGABYTE, process(audited, server)):
        poured = together([lambda path=path: asks(path) for path in paths])  # type: ignore[misc]
    assert all(sent < 48 * MEGABYTE for sent in poured), dict(zip(paths, poured, strict=True))


def test_the_oldest_idle_connection_of_an_address_goes_first(audited: Platform) -> None:
    """Given as many silent connections as an address may have, when another comes, then the first makes room."""
    where = address(audited, "gateway")
    silent = [Wire(where, source="127.0.0.31") for _ in range(CONNECTIONS)]
    with Wire(where, request("GET", "/api/games"), source="127.0.0.31") as another:
        assert statuses_of(another.answer()) == [200]
    assert not silent[0].is_open()
    assert silent[-1].is_open()
    for wire in silent:
        wire.close()


def test_at_the_bound_probes_and_operators_get_in(audited: Platform) -> None:
    """Given an address all of whose connections are at work, then nobody from there gets in but who must."""
    where = address(audited, "gateway")
    operator = request("GET", "/api/admin/agents", f"Authorization: Bearer {OPERATOR_KEY}")
    with ExitStack() as at_work:
        for _ in range(CONNECTIONS):
            at_work.enter_context(Wire(where, HALF_A_BODY, "127.0.0.32"))
        # Until a request has begun, its connection is idle and makes room for another.
        eventually(lambda: in_flight(audited) >= CONNECTIONS, "all are at work")
        for asked, status in ((request("GET", "/healthz"), 200), (operator, 200), (request("GET", "/api/games"), 503)):
            with Wire(where, asked, "127.0.0.32") as another:
                assert statuses_of(another.answer()) == [status]


def in_flight(audited: Platform) -> int:
    found = re.search(r"^playmolt_gateway_in_flight (\d+)", audited.anonymous.get("/metrics").text, re.MULTILINE)
    assert found
    return int(found[1])


def test_the_bounds_leave_descriptors_to_the_process(audited: Platform) -> None:
    limits = Path(f"/proc/{process(audited, 'gateway')}/limits").read_text("ascii")
    found = re.search(r"^Max open files\s+(\d+|unlimited)", limits, re.MULTILINE)
    assert found
    files = int(found[1]) if found[1] != "unlimited" else resource.RLIM_INFINITY
    within = bounds(Settings(), files)
    assert within.total + within.spare <= files - 100
    assert within.per_address <= within.total / 2
    assert (within.head, within.idle) == (10, 75)


TWO_WAYS = [
    ("GET /healthz HTTP/1.1\r\n\r\n", 400),
    ("GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
    ("GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", 400),
    ("GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 400),
    ("GET  /healthz  HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 200),
    ("GET /%6detrics  HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("G%45T /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("GET /%6detrics HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
]


@pytest.mark.parametrize(("sent", "status"), TWO_WAYS)
def test_what_may_be_read_in_two_ways_is_refused_or_made_one(audited: Platform, sent: str, status: int) -> None:
    with Wire(address(audited, "gateway"), sent.encode()) as wire:
        assert statuses_of(wire.rest()) == [status]


def test_the_body_of_an_upgrade_is_no_second_request(audited: Platform) -> None:
    """Given a request in the body of an upgrade, then it is answered once, or not at all."""
    inner = request("GET", "/api/games")
    with Wire(address(audited, "gateway")) as wire:
        wire.write(request("POST", "/api/agents", "Connection: upgrade, close", "Upgrade: websocket", body=inner))
        assert statuses_of(wire.rest()) in ([400], [415], [501])


@pytest.mark.parametrize("path", ["/api/admin/agents", "/api/games/join", "/api/agents/me/keys"])
def test_a_key_in_a_trailer_opens_nothing(audited: Platform, path: str) -> None:
    key = audited.guest().key if "admin" not in path else OPERATOR_KEY
    method = "GET" if "admin" in path else "POST"
    head = request(method, path, "Connection: close", "Transfer-Encoding: chunked", "Trailer: Authorization")
    with Wire(address(audited, "gateway")) as wire:
        wire.write(head + b"2\r\n{}\r\n0\r\n" + f"Authorization: Bearer {key}\r\n\r\n".encode())
        assert statuses_of(wire.rest()) == [401]


def test_others_are_served_as_before(audited: Platform) -> None:
    assert audited.anonymous.get("/readyz").status_code == 200
    for server in SERVERS:
        os.kill(process(audited, server), 0)
