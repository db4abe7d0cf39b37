"""Any bytes, cut in any way: an action served by the protocol is answered as the ASGI app answers it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.gateway.tests.fed_protocol import Connection, pieces_of, settle

GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
KNOWN, UNKNOWN = "KNOWN", "Bearer pm_unknown"


def mostly(usual: Any, *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([usual] * 4 * len(others) + list(others))


paths = mostly(
    f"/api/games/{GAME}/actions",
    f"/api/games/{GAME}/actions?x=1",
    f"/api/games/{GAME}/%61ctions",
    f"http://x/api/games/{GAME}/actions",
    f"/api/games/{GAME}/leave",
    "/api/games/none-1/actions",
    "/api/games//actions",
    "/healthz",
)
methods = mostly("POST", "GET", "PUT", "HEAD", "OPTIONS", "NONE")
versions = mostly("HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "http/1.1")
keys = mostly([("Authorization", KNOWN)], [], [("authorization", UNKNOWN)])
further = st.lists(
    st.sampled_from(
        [
            ("Idempotency-Key", "one"),
            ("IDEMPOTENCY-KEY", "two "),
            ("Idempotency-Key", "a b"),
            ("Idempotency-Key", ""),
            ("Connection", "keep-alive"),
            ("Connection", "close"),
            ("Connection", "Upgrade"),
            ("Upgrade", "h2c"),
            ("Upgrade", "websocket"),
            ("Expect", "100-continue"),
            ("TE", "trailers"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("Authorization", KNOWN),
            ("X-Long", "y" * 17_000),
            ("X Bad", "z"),
        ]
    ),
    max_size=2,
)
contents = st.one_of(
    st.sampled_from([b'{"type":"x"}', b"{", b"[]", b"", b'"\xff"', b"[" * 200 + b"]" * 200, b" " * 65_537]),
    st.binary(max_size=40),
)
framings = mostly("length", "chunked", "trailer", "short", "long", "none", "two", "padded")


@st.composite
def requests(draw: Any) -> bytes:
    body, framing = draw(contents), draw(framings)
    headers = [("Host", "x"), *draw(keys), *draw(further)]
    length = {"short": len(body) - 1, "long": len(body) + 1}.get(framing, len(body))
    if framing in ("chunked", "trailer"):
        headers.append(("Transfer-Encoding", "chunked"))
        trailer = b"Idempotency-Key: three\r\n" if framing == "trailer" else b""
        body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n" + trailer + b"\r\n"
    elif framing != "none":
        headers.append(("Content-Length", f"{length:08}" if framing == "padded" else str(length)))
    if framing == "two":
        headers.append(("content-length", str(length)))
    lines = [
        f"{draw(methods)} {draw(paths)} {draw(versions)}",
        *(f"{name}: {value}" for name, value in headers),
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


async def _answered(platform: Any, pieces: list[bytes], *, asgi: bool) -> tuple[Any, ...]:
    platform.bus.calls.clear()
    connection = Connection(platform.gateway, asgi=asgi)
    written = await connection.feed(*pieces)
    closing = connection.transport.closing
    calls = [
        (call.op, call.target, call.body, call.agent, call.fingerprint, call.fingerprint and call.command_id)
        for _, call in platform.bus.calls
    ]
    await connection.lose()
    assert platform.gateway.services.metrics.in_flight == 0
    return written, closing, calls


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.lists(requests(), min_size=1, max_size=3), cuts=st.lists(st.integers(0, 20_000), max_size=4))
def test_both_ways_answer_alike(make_platform: Any, runner: asyncio.Runner, sent: list[bytes], cuts: list[int]) -> None:
    platform = runner.run(_platform(make_platform))
    raw = b"".join(sent).replace(KNOWN.encode(), platform.known.encode())
    pieces = pieces_of(raw, cuts)
    fast = runner.run(_answered(platform, pieces, asgi=False))
    assert fast == runner.run(_answered(platform, pieces, asgi=True))


_platforms: list[Any] = []


async def _platform(make_platform: Any) -> Any:
    """One for all examples: to build it costs more than to answer a hundred requests."""
    if not _platforms:
        platform = make_platform(rate_limit="off", action_rate_limit="off")
        _, headers = platform.agent()
        platform.known = headers["Authorization"]
        platform.bus.engine = lambda _game, call: (200, {"op": call.op, "body": call.body.decode("latin-1")})
        await platform.send("GET", "/api/agents/me", headers=headers)  # now the key is known
        await settle()
        _platforms.append(platform)
    return _platforms[0]
