"""Feeds, sentence by sentence: order, resuming, heartbeats, ends, refusals, lobby."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.integration.gateway.rows import (
    SECONDS,
    Json,
    Platform,
    Sse,
    Table,
    accepted,
    next_event,
    refused,
    unknown_game,
)

LOBBY = ["type", "game_id", "gameType", "phase", "seated", "needed", "at", "language", "pace"]


@pytest.fixture(scope="module")
def finished(shared_platform: Platform) -> Table:
    """A game that has ended."""
    shared_platform.clear()
    table = shared_platform.table("ox")
    table.ox(*["OOOOX"] * 5)
    return table


def test_every_feed_says_the_same_byte_for_byte(platform: Platform, finished: Table) -> None:
    events = platform.raw_events(finished.game_id)
    assert [json.loads(event)["version"] for event in events] == list(range(1, len(events) + 1))
    assert platform.watched(f"/ws/games/{finished.game_id}") == (events, 1000)
    for url in (f"{platform.spectator}/sse/games/{finished.game_id}", f"/api/games/{finished.game_id}/stream"):
        with Sse(platform.http, url) as feed:
            assert feed.answer.headers["content-type"].startswith("text/event-stream")
            assert list(feed) == list(enumerate(events, 1))


def test_who_is_there_early_hears_all_of_it(platform: Platform) -> None:
    guest = platform.guest()
    game = guest.join("ox")
    with ThreadPoolExecutor(2) as pool, Sse(platform.http, f"{platform.spectator}/sse/games/{game}") as sse:
        socket = pool.submit(platform.watched, f"/ws/games/{game}?after=0")
        events = pool.submit(list, sse)
        others = [platform.guest() for _ in range(4)]
        for other in others:
            other.join("ox")
        Table(game, [guest, *others]).ox(*["OOOOX"] * 5)
        raw = platform.raw_events(game)
        assert socket.result(SECONDS) == (raw, 1000)
        assert events.result(SECONDS) == list(enumerate(raw, 1))


@pytest.mark.parametrize("after", [0, 1, 7, 30])
def test_a_feed_goes_on_after_a_version(platform: Platform, finished: Table, after: int) -> None:
    raw = platform.raw_events(finished.game_id)
    assert platform.watched(f"/ws/games/{finished.game_id}?after={after}") == (raw[after:], 1000)
    rest = list(enumerate(raw, 1))[after:]
    for path, headers in ((f"?after={after}", {}), ("?after=3", {"Last-Event-ID": str(after)})):
        with Sse(platform.http, f"{platform.spectator}/sse/games/{finished.game_id}{path}", **headers) as feed:
            assert list(feed) == rest


def test_after_beyond_the_end_waits(platform: Platform) -> None:
    table = platform.table("ox")
    head = table[0].state(table.game_id)["version"]
    with platform.socket(f"/ws/games/{table.game_id}?after={head + 1}") as socket:
        with pytest.raises(TimeoutError):
            next_event(socket, 0.3)
        table.does(table[0], {"type": "first_choice", "choice": "O", "comment": "one"})
        table.does(table[1], {"type": "first_choice", "choice": "O", "comment": "two"})
        assert json.loads(next_event(socket))["version"] == head + 2


@pytest.mark.parametrize("after", ["junk", "-1", "1.5", "", "+1", "1e3", "0x1", "%20"])
def test_junk_is_refused(platform: Platform, finished: Table, after: str) -> None:
    with platform.socket(f"/ws/games/{finished.game_id}?after={after}") as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=SECONDS)
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 4400
    url = f"{platform.spectator}/sse/games/{finished.game_id}"
    refused(platform.http.get(f"{url}?after={after}"), 400, "invalid_request")
    if after not in ("", "%20"):
        refused(platform.http.get(url, headers={"Last-Event-ID": after}), 400, "invalid_request")


@pytest.mark.parametrize("game", [unknown_game(), unknown_game("trial"), "nope", "ox-1", "chess-1", "*", ">"])
def test_an_unknown_game_is_told_before_the_upgrade(platform: Platform, game: str) -> None:
    with pytest.raises(InvalidStatus) as refusal, platform.socket(f"/ws/games/{game}"):
        pass
    answer = refusal.value.response
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.body
    assert json.loads(answer.body)["code"] == "not_found"
    refused(platform.http.get(f"{platform.spectator}/sse/games/{game}"), 404, "not_found")


def test_what_is_no_feed_is_told_so(platform: Platform) -> None:
    for path in ("/", "/ws", "/sse/games", "/api/games"):
        refused(platform.http.get(platform.spectator + path), 404, "not_found")
    refused(platform.http.post(f"{platform.spectator}/sse/lobby"), 405, "method_not_allowed")
    assert platform.http.get(f"{platform.spectator}/ws/lobby").status_code == 400


def test_the_lobby_shows_the_present_and_then_what_changes(platform: Platform) -> None:
    guest = platform.guest()
    game = guest.join("trial")
    with platform.socket("/ws/lobby") as socket, Sse(platform.http, f"{platform.spectator}/sse/lobby") as sse:
        told_by_sse = iter(sse)

        def until(kind: str, seated: int) -> tuple[Json, Json]:
            found = []
            for receive in (lambda: socket.recv(timeout=SECONDS), lambda: next(told_by_sse)[1]):
                while True:
                    message = json.loads(receive())
                    if message["type"] == "heartbeat":
                        continue
                    assert list(message) == LOBBY
                    if message["game_id"] == game and message["seated"]:
                        assert (message["type"], message["seated"]) == (kind, seated)
                        found.append(message)
                        break
            return found[0], found[1]

        first, second = until("game_waiting", 1)
        assert (first["gameType"], first["phase"], first["needed"]) == ("trial", "waiting", 6)
        assert {**first, "at": ""} == {**second, "at": ""}
        others = [platform.guest() for _ in range(5)]
        others[0].join("trial")
        until("game_waiting", 2)
        accepted(others[0].post(f"/api/games/{game}/leave"))
        until("game_waiting", 1)
        for seated, other in enumerate(others, 2):
            other.join("trial")
            if seated < 6:
                until("game_waiting", seated)
        assert until("game_started", 6)[0]["phase"] == "opening"
        Table(game, [guest, *others]).trial("GUILTY", "GUILTY", "GUILTY")
        assert until("game_end", 6)[0]["phase"] == "end"
        game = platform.guest().join("ox")
        until("game_waiting", 1)
        accepted(platform.operator.post(f"/api/admin/games/{game}/end", {"reason": "over"}))
        assert until("game_aborted", 1)[0]["phase"] == "aborted"


def test_an_aborted_game_closes_its_feeds(platform: Platform) -> None:
    table = platform.table("ox")
    with (
        ThreadPoolExecutor(3) as pool,
        Sse(platform.http, f"{platform.spectator}/sse/games/{table.game_id}") as sse,
        Sse(platform.http, f"/api/games/{table.game_id}/stream") as stream,
    ):
        reading = [pool.submit(list, sse), pool.submit(list, stream)]
        socket = pool.submit(platform.watched, f"/ws/games/{table.game_id}")
        accepted(platform.operator.post(f"/api/admin/games/{table.game_id}/end", {"reason": "storm"}))
        seen, code = socket.result(SECONDS)
        assert code == 1000
        assert json.loads(seen[-1])["type"] == "game_aborted"
        assert [[data for _, data in read.result(SECONDS)] for read in reading] == [seen, seen]


def test_a_quiet_feed_has_a_heartbeat_with_its_head(platform: Platform) -> None:
    table = platform.table("ox")
    head = table[0].state(table.game_id)["version"]
    with (
        ThreadPoolExecutor(3) as pool,
        Sse(platform.http, f"{platform.spectator}/sse/games/{table.game_id}?after={head}") as sse,
        Sse(platform.http, f"/api/games/{table.game_id}/stream?after={head}") as stream,
        platform.socket(f"/ws/games/{table.game_id}?after={head}") as socket,
    ):
        comments = [pool.submit(sse.comment), pool.submit(stream.comment)]
        assert json.loads(socket.recv(timeout=SECONDS)) == {"type": "heartbeat", "version": head}
        assert [str(head) in comment.result(SECONDS) for comment in comments] == [True, True]
