"""What is no feed: refusals before the upgrade, probes, metrics, and clients that do not finish."""

import asyncio

import pytest
from playmolt_core.ops.connections import Bounds, Pace
from playmolt_core.settings import parse_networks
from playmolt_schemas.codes import ARCHIVED
from playmolt_spectator.timeouts import Timeouts
from spectator_fakes import FakeBus, game
from spectator_loopback import Spectator, ended, running, take
from websockets.exceptions import InvalidStatus

GAME = game()


@pytest.mark.parametrize(
    "path",
    ["/", "/ws", "/ws/games", f"/ws/games/{GAME}/", "/sse/games/", "/metrics/x", "/ws/games/" + "ox-" * 50, "/%00"],
)
async def test_unknown_paths_are_404(spectator: Spectator, path: str) -> None:
    response = await spectator.get(path)
    assert response.status == 404
    assert (await response.problem())["code"] == "not_found"


@pytest.mark.parametrize("identifier", [GAME, "ox-1", "chess-00000000-0000-7000-8000-000000000001", "*", "ox.>"])
async def test_unknown_games_are_404_before_the_upgrade(spectator: Spectator, identifier: str) -> None:
    response = await spectator.get(f"/sse/games/{identifier}")
    assert (response.status, (await response.problem())["code"]) == (404, "not_found")
    with pytest.raises(InvalidStatus) as refused:
        await spectator.ws(f"/ws/games/{identifier}").__aenter__()
    assert refused.value.response.status_code == 404
    await spectator.until(lambda: not spectator.server.hub.watched)


async def test_an_archived_game_is_refused_with_where_its_log_is(spectator: Spectator, bus: FakeBus) -> None:
    bus.archived.add(GAME)
    response = await spectator.get(f"/sse/games/{GAME}")
    problem = await response.problem()
    assert (response.status, problem["code"], problem["detail"]) == (404, "archived", ARCHIVED)


@pytest.mark.parametrize("after", ["junk", "-1", "1.0", "", "1e3", "%31%00", "9" * 30, "１", "1&after=2", "+1"])
async def test_junk_as_a_version_is_refused(bus: FakeBus, spectator: Spectator, after: str) -> None:
    bus.start(GAME, 1)
    response = await spectator.send(f"GET /sse/games/{GAME}?after={after} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert (response.status, (await response.problem())["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("after", ["junk", "-1", "1.0", ""])
async def test_junk_closes_a_websocket_with_4400(bus: FakeBus, spectator: Spectator, after: str) -> None:
    bus.start(GAME, 1)
    async with spectator.ws(f"/ws/games/{GAME}?after={after}") as socket:
        assert await ended(socket) == 4400


async def test_junk_as_last_event_id_is_refused(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    assert (await spectator.get(f"/sse/games/{GAME}?after=1", Last_Event_ID="junk")).status == 400


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (f"/sse/games/{GAME}", "GET, HEAD, OPTIONS"),
        ("/ws/lobby", "GET, OPTIONS"),
        ("/healthz", "GET, HEAD"),
        ("/metrics", "GET, HEAD"),
    ],
)
async def test_other_methods_are_405(spectator: Spectator, path: str, allowed: str) -> None:
    response = await spectator.get(path, "POST")
    assert (response.status, response.headers["allow"]) == (405, allowed)
    assert (await response.problem())["code"] == "method_not_allowed"


async def test_the_head_of_a_page_can_be_asked_for(spectator: Spectator) -> None:
    response = await spectator.get("/healthz", "HEAD")
    assert (response.status, response.headers["content-length"]) == (200, str(len(b'{"status":"alive"}')))
    assert await response.rest() == b""


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404), ("/sse/games/ox-0", 404), (f"/sse/games/{GAME}?after=soon", 400),
        (f"/ws/games/{GAME}", 405), ("/favicon.ico", 404),
    ],
)  # fmt: skip
async def test_a_refusal_of_who_asks_for_a_head_has_no_body(spectator: Spectator, path: str, status: int) -> None:
    response = await spectator.get(path, "HEAD")
    assert response.status == status
    assert int(response.headers["content-length"]) > 0
    assert await response.rest() == b""


async def test_a_feed_for_websockets_tells_others_what_to_do(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 1)
    response = await spectator.get(f"/ws/games/{GAME}")
    assert response.status == 400
    assert "/sse/" in (await response.problem())["detail"]


async def test_probes_and_metrics(bus: FakeBus, spectator: Spectator) -> None:
    bus.start(GAME, 3)
    async with spectator.ws(f"/ws/games/{GAME}") as socket:
        await take(socket, 3)
        assert (await spectator.get("/healthz")).status == 200
        assert (await spectator.get("/readyz")).status == 200
        page = (await (await spectator.get("/metrics")).rest()).decode().splitlines()
        assert 'playmolt_spectator_readers{transport="websocket"} 1' in page
        assert "playmolt_spectator_games_watched 1" in page
        assert "playmolt_spectator_messages_sent_total 3" in page
        assert "# TYPE playmolt_spectator_bytes_sent_total counter" in page
        bus.up = False
        assert (await spectator.get("/readyz")).status == 503
        assert (await spectator.get("/healthz")).status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"junk\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_not_a_request_is_400(spectator: Spectator, head: bytes) -> None:
    response = await spectator.send(head)
    assert (response.status, (await response.problem())["code"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "lines", [b"X: " + b"x" * 20_000, b"X: " + b"x" * 20_000 + b"\r\n\r\n", b"X: x\r\n" * 100 + b"\r\n"]
)
async def test_a_head_has_a_bound_whether_or_not_it_comes_whole(spectator: Spectator, lines: bytes) -> None:
    response = await spectator.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + lines)
    assert (response.status, (await response.problem())["code"]) == (431, "headers_too_large")


async def test_a_fault_of_our_own_ends_the_connection(bus: FakeBus, spectator: Spectator) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    bus.submit = broken  # type: ignore[assignment, method-assign]
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await spectator.get(f"/sse/games/{GAME}")
    await spectator.until(lambda: not spectator.server.connections and not spectator.server.hub.watched)


async def test_half_a_request_is_not_waited_for(bus: FakeBus) -> None:
    async with running(bus, Timeouts(), Bounds(head=0.1)) as spectator:
        reader, writer = await asyncio.open_connection("127.0.0.1", spectator.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1), 8)
        writer.close()
        await spectator.until(lambda: not spectator.server.connections)


async def test_a_client_that_goes_while_the_engine_thinks_leaves_nothing_behind(
    bus: FakeBus, timeouts: Timeouts
) -> None:
    async with running(bus, timeouts) as spectator:
        bus.start(GAME, 1)
        bus.submit = lambda *_, **__: asyncio.get_running_loop().create_future()  # type: ignore[method-assign]
        _, writer = await asyncio.open_connection("127.0.0.1", spectator.port)
        writer.write(f"GET /sse/games/{GAME} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await spectator.until(lambda: spectator.server.hub.watched)
        writer.transport.abort()
        await spectator.until(lambda: not spectator.server.hub.watched and not spectator.server.connections)
        await spectator.until(lambda: not bus.watches[GAME][0].open)


async def test_an_address_opens_so_many_feeds_a_minute(bus: FakeBus) -> None:
    async with running(bus, Timeouts(), Bounds(opened=3, trusted=parse_networks("127.0.0.1"))) as spectator:
        one = [await spectator.get("/sse/lobby", "HEAD", X_Forwarded_For="192.0.2.1") for _ in range(4)]
        assert [answer.status for answer in one] == [200, 200, 200, 429]
        assert 1 <= int(one[3].headers["retry-after"]) <= 20
        other = await spectator.get("/sse/lobby", "HEAD", X_Forwarded_For="192.0.2.2")
        assert other.status == 200
        near = [await spectator.get("/sse/lobby", "HEAD") for _ in range(5)]
        assert {answer.status for answer in near} == {200}, "loopback is not counted"


def test_a_pace_comes_back_evenly_and_forgets() -> None:
    now = 0.0
    pace = Pace(60, lambda: now)
    assert [pace.wait("a") for _ in range(61)] == [0] * 60 + [1]
    now = 1.0
    assert (pace.wait("a"), pace.wait("a")) == (0, 1)
    now = 30.0
    assert [pace.wait("b") for _ in range(60)] == [0] * 60
    now = 100.0
    assert (pace.wait("c"), len(pace)) == (0, 1)


async def test_an_address_keeps_so_many_event_streams_and_any_socket(bus: FakeBus) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(), Bounds(streams=3, trusted=parse_networks("127.0.0.1"))) as spectator:
        feeds = [f"/sse/games/{GAME}", "/sse/lobby", f"/sse/games/{GAME}"]
        streams = [await spectator.get(path) for path in feeds]
        assert [stream.status for stream in streams] == [200, 200, 200]
        refused = await spectator.get("/sse/lobby")
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        assert (await refused.problem())["code"] == "rate_limited"
        assert (await spectator.get("/sse/lobby", X_Forwarded_For="203.0.113.1")).status == 200
        async with spectator.ws(f"/ws/games/{GAME}") as socket:
            assert await take(socket, 1)
        streams[0].writer.close()
        await spectator.until(lambda: len(spectator.server.watchers) == 3)
        assert (await spectator.get("/sse/lobby")).status == 200
    assert not len(spectator.server.streams)


async def test_an_event_stream_that_is_refused_holds_nothing(bus: FakeBus) -> None:
    bus.start(GAME, 1)
    async with running(bus, Timeouts(), Bounds(streams=1)) as spectator:
        for _ in range(3):
            assert (await spectator.get(f"/sse/games/{game(9)}")).status == 404
            await spectator.until(lambda: not len(spectator.server.streams))
        assert (await spectator.get(f"/sse/games/{GAME}", "HEAD")).status == 200
        await spectator.until(lambda: not len(spectator.server.streams))
