"""Readers as they are (interop.md, Feeds): an EventSource that never stops by itself, polyfills, readers of lines."""

import asyncio
from typing import Any

import msgspec
import pytest
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game
from spectator_loopback import Spectator, ended, running, take
from websockets.exceptions import InvalidStatus

GAME = game()
LINE_ENDS = "a\u0085b\u2028c\u2029d"


@pytest.fixture
def over(bus: FakeBus) -> FakeBus:
    bus.start(GAME, 4)
    bus.store(GAME, "game_end", closes=True)
    return bus


@pytest.mark.parametrize("query", ["after=5", "lastEventId=5", "Last-Event-ID=9", "lastEventId=5&after=0"])
async def test_who_has_the_closing_message_is_told_to_stop(over: FakeBus, spectator: Spectator, query: str) -> None:
    response = await spectator.get(f"/sse/games/{GAME}?{query}")
    assert (response.status, await response.rest()) == (204, b"")
    async with spectator.ws(f"/ws/games/{GAME}?{query}") as socket:
        assert await take(socket, 0) == []
        assert await ended(socket) == 1000
    assert over.over == {GAME}


async def test_the_header_tells_it_too_and_a_first_open_gets_the_whole_game(
    over: FakeBus, spectator: Spectator
) -> None:
    assert (await spectator.get(f"/sse/games/{GAME}", Last_Event_ID="5")).status == 204
    response = await spectator.get(f"/sse/games/{GAME}")
    assert response.status == 200
    assert (await response.rest()).count(b"id: ") == len(over.games[GAME])


async def test_who_has_more_than_there_is_of_a_game_that_goes_on_waits(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 2)
    response = await spectator.get(f"/sse/games/{GAME}?lastEventId=3")
    assert response.status == 200
    bus.happen(GAME)
    fourth = bus.happen(GAME)
    assert await response.event() == b"id: 4\ndata: " + fourth


@pytest.mark.parametrize(
    ("query", "header", "first"),
    [
        ("lastEventId=3", "", 4),
        ("Last-Event-ID=3", "", 4),
        ("lastEventId=3&after=1", "", 4),
        ("Last-Event-ID=1&lastEventId=3", "", 4),
        ("lastEventId=1&after=1", "3", 4),
    ],
)
async def test_a_position_may_appear_in_the_query(
    bus: FakeBus, spectator: Spectator, query: str, header: str, first: int
) -> None:
    bus.start(GAME, 5)
    response = await spectator.get(f"/sse/games/{GAME}?{query}", **({"Last_Event_ID": header} if header else {}))
    assert (await response.event()).startswith(b"id: %d\n" % first)
    headers = {"Last-Event-ID": header} if header else {}
    async with spectator.ws(f"/ws/games/{GAME}?{query}", additional_headers=headers) as socket:
        assert await take(socket, 1) == [bus.games[GAME][first - 1]]


@pytest.mark.parametrize("path", [f"/sse/games/{GAME}", "/sse/lobby", f"/ws/games/{GAME}"])
async def test_pages_of_other_origins_may_ask(spectator: Spectator, path: str) -> None:
    response = await spectator.get(path, "OPTIONS", Origin="https://elsewhere.example")
    assert (response.status, await response.rest()) == (204, b"")
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-allow-methods"] == "GET, HEAD"
    wanted = "authorization, cache-control, last-event-id, traceparent"
    assert response.headers["access-control-allow-headers"] == wanted


async def test_the_head_of_a_feed_is_that_of_its_get(over: FakeBus, spectator: Spectator) -> None:
    asked = await spectator.get(f"/sse/games/{GAME}", "HEAD")
    given = await spectator.get(f"/sse/games/{GAME}")
    assert (asked.status, asked.headers) == (given.status, given.headers)
    assert await asked.rest() == b""
    assert (await spectator.get(f"/sse/games/{GAME}?after=5", "HEAD")).status == 204
    assert (await spectator.get(f"/sse/games/{game(2)}", "HEAD")).status == 404
    await spectator.until(lambda: not spectator.server.hub.watched)
    assert over.over


async def test_ends_of_lines_leave_escaped(bus: FakeBus, spectator: Spectator) -> None:
    bus.games[GAME] = [f'{{"type":"speak","text":"{LINE_ENDS}","game_id":"{GAME}","version":1}}'.encode()]
    response = await spectator.get(f"/sse/games/{GAME}")
    data = (await response.event()).decode().partition("data: ")[2]
    assert data.splitlines() == [data]
    assert msgspec.json.decode(data)["text"] == LINE_ENDS
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        (text,) = await take(socket, 1)
    assert text.decode() == data


async def test_while_the_source_is_away_a_reader_is_told_to_come_back(bus: FakeBus, spectator: Spectator) -> None:
    bus.engines = False
    response = await spectator.get(f"/sse/games/{GAME}")
    assert (response.status, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (await response.event()).startswith(b"retry: 2000\n: ")
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        assert await ended(socket) == 1013
    bus.engines = True
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 1)


@pytest.mark.parametrize("version", ["7", "14", "8", "x"])
async def test_a_version_that_is_not_spoken_is_named(bus: FakeBus, spectator: Spectator, version: str) -> None:
    bus.start(GAME, 1)
    response = await spectator.get(
        f"/ws/games/{GAME}", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version=version,
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    assert (response.status, response.headers["sec-websocket-version"]) == (426, "13")
    assert (await response.problem())["code"] == "unsupported_version"


async def raw_socket(spectator: Spectator) -> Any:
    response = await spectator.get(
        f"/ws/games/{GAME}", Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13",
        Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==",
    )  # fmt: skip
    assert response.status == 101
    return response


def masked(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    return bytes([0x80 * fin | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload


@pytest.mark.parametrize(
    "frames",
    [
        masked(1, b"\xff"),
        masked(1, b"\xed\xa0\x80"),
        masked(1, b"\xe2\x80"),
        masked(1, b"ok \xe2", fin=False) + masked(0, b"\x41"),
        masked(1, b"ok", fin=False) + masked(9, b"") + masked(0, b"\xc3"),
    ],
)
async def test_a_text_that_is_not_utf8_ends_the_connection(bus: FakeBus, spectator: Spectator, frames: bytes) -> None:
    bus.start(GAME)
    response = await raw_socket(spectator)
    response.writer.write(frames)
    closed = await asyncio.wait_for(response.reader.readuntil(b"\x03\xef"), 20)  # 1007
    assert b"\x88" in closed


async def test_texts_in_pieces_are_taken(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME)
    response = await raw_socket(spectator)
    letter = "\u2028".encode()
    response.writer.write(
        masked(1, letter[:1], fin=False) + masked(9, b"?") + masked(0, letter[1:]) + masked(2, b"\xff")
    )
    assert await response.reader.readexactly(3) == b"\x8a\x01?"
    sent = bus.happen(GAME)
    assert sent in await response.reader.readuntil(b"}")


async def test_a_peer_that_answers_no_ping_is_gone(bus: FakeBus) -> None:
    async with running(bus, Timeouts(heartbeat=0.3)) as spectator:
        bus.start(GAME)
        async with spectator.ws(f"/ws/games/{GAME}") as answering:
            silent = await raw_socket(spectator)
            with pytest.raises(asyncio.IncompleteReadError) as gone:
                await asyncio.wait_for(silent.reader.readexactly(10_000), 20)
            assert gone.value.partial.count(b"\x89\x00") == 2
            sent = bus.happen(GAME)
            while await take(answering, 1) != [sent]:
                pass


async def test_an_unknown_game_stays_unknown(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    assert (await spectator.get(f"/sse/games/{game(2)}")).status == 404
    with pytest.raises(InvalidStatus) as refused:
        await spectator.ws(f"/ws/games/{game(2)}").__aenter__()
    assert refused.value.response.status_code == 404
