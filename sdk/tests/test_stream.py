"""A game's stream stays one sequence 1, 2, 3 … to its end, whatever happens to connections."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt import AsyncClient, Client, Refused, Retry, Unavailable, UnexpectedAnswer, bots
from playmolt.feed import MESSAGE_BYTES, SILENCE_SECONDS, Feed, SseReader
from playmolt_ox.rules import Ox
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.routes.platform import STREAM_EVENTS
from sdk_arena import Arena, Fault, serving

QUICK = Retry(attempts=4, seconds=60.0, base=0.01, cap=0.05)
BREAKS = [
    ("cut", {"events": 0}),
    ("cut", {"events": 5}),
    ("repeat", {}),
    ("hole", {"events": 4}),
    ("status", {"status": 503}),
    ("status", {"status": 429, "headers": {"retry-after": "0"}}),
]


Played = tuple[Arena, str]


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with serving(Arena(Ox())) as server:
        results = asyncio.run(bots.run_house_bots(server.url, "ox", 5, seed="stream"))
        yield server, results[0].game_id


@pytest.fixture
def finished(played: Played) -> Played:
    server, _ = played
    server.faults, server.seen = [], []
    return played


@pytest.mark.parametrize(("kind", "more"), BREAKS)
async def test_every_event_once_and_in_order_over_a_broken_connection(
    finished: Played, kind: str, more: dict[str, Any]
) -> None:
    server, game_id = finished
    whole = list(range(1, server.version(game_id) + 1))
    server.faults = [Fault("/stream", kind, **more)]
    async with AsyncClient(server.url, retry=QUICK) as client:
        assert [event["version"] async for event in client.stream(game_id)] == whole
    server.faults = [Fault("/stream", kind, **more)]
    with Client(server.url, retry=QUICK) as sync:
        events = await asyncio.to_thread(lambda: list(sync.stream(game_id)))
    assert [event["version"] for event in events] == whole
    assert events[-1]["type"] == "game_end"


async def test_a_reconnect_asks_for_what_comes_after_the_last_event(finished: Played) -> None:
    server, game_id = finished
    server.faults = [Fault("/stream", "cut", events=5)]
    server.seen.clear()
    async with AsyncClient(server.url, retry=QUICK) as client:
        assert [event["version"] async for event in client.stream(game_id, after=2)] == list(
            range(3, server.version(game_id) + 1)
        )
    first, second = server.sent("/stream")
    assert (first.query["after"], first.headers["last-event-id"]) == ("2", "2")
    assert second.headers["last-event-id"] == "7"


async def test_a_stream_opened_at_its_very_end_ends(finished: Played) -> None:
    server, game_id = finished
    async with AsyncClient(server.url, retry=QUICK) as client:
        assert [event async for event in client.stream(game_id, after=server.version(game_id))] == []
    with Client(server.url, retry=QUICK) as sync:
        assert await asyncio.to_thread(lambda: list(sync.stream(game_id, after=server.version(game_id)))) == []


async def test_a_stream_that_only_breaks_is_given_up(finished: Played) -> None:
    server, game_id = finished
    server.faults = [Fault("/stream", "cut", events=0) for _ in range(50)]
    async with AsyncClient(server.url, retry=QUICK) as client:
        with pytest.raises(Unavailable, match="after event 0"):
            [event async for event in client.stream(game_id)]
    assert len(server.faults) == 50 - QUICK.attempts


async def test_what_a_repeat_cannot_fix_is_raised_at_once(finished: Played) -> None:
    server, game_id = finished
    server.faults = [
        Fault("/stream", "status", status=404, body=problem_bytes(Code.NOT_FOUND, "there is no such game"))
    ]
    async with AsyncClient(server.url, retry=QUICK) as client:
        with pytest.raises(Refused) as refused:
            [event async for event in client.stream(game_id)]
    assert refused.value.code == Code.NOT_FOUND.wire


async def test_a_player_sees_its_own_secret_in_its_stream_and_nobody_elses(arena: Callable[[Any], Arena]) -> None:
    server = arena(Ox())
    async with AsyncClient(server.url, retry=QUICK) as client:
        me = await client.register("me")
        game_id = (await client.join("ox")).game_id
        others = asyncio.create_task(bots.run_house_bots(server.url, "ox", 4, seed="others"))
        await client.play(bots.seats("ox", 1, seed="me")[0], "ox", game_id=game_id)
        await others
        submitted = [e async for e in client.stream(game_id) if e["type"] == "first_choice_submitted"]
    assert {event["agent_id"] == me.id for event in submitted} == {True, False}
    assert all(("choice" in event) == (event["agent_id"] == me.id) for event in submitted)


def repeat(do: Callable[[], object], times: int) -> None:
    for _ in range(times):
        do()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_quiet_game_may_lose_its_connection_for_ever() -> None:
    clock = Clock()
    feed = Feed(STREAM_EVENTS, "ox-1", 0, QUICK, clock)
    for _ in range(100):
        feed.request()
        assert list(feed.take(b": heartbeat\n\n")) == []
        clock.now += 60
        assert feed.lost(None) <= QUICK.cap


def test_a_server_that_accepts_and_stays_silent_is_given_up() -> None:
    clock = Clock()
    feed = Feed(STREAM_EVENTS, "ox-1", 0, QUICK, clock)

    def silence() -> None:
        feed.request()
        clock.now += SILENCE_SECONDS
        feed.lost(TimeoutError())

    with pytest.raises(Unavailable):
        repeat(silence, QUICK.attempts)


def test_a_message_without_an_end_does_not_fill_memory() -> None:
    reader = SseReader()
    with pytest.raises(UnexpectedAnswer):
        repeat(lambda: reader.feed(b"x" * 65536), MESSAGE_BYTES // 65536 + 2)


def test_a_message_that_is_not_an_event_is_named() -> None:
    with pytest.raises(UnexpectedAnswer):
        list(Feed(STREAM_EVENTS, "ox-1", 0, QUICK).take(b"data: [1]\n\n"))


def test_what_came_before_a_hole_is_given_and_what_came_behind_it_is_asked_for_again() -> None:
    feed = Feed(STREAM_EVENTS, "ox-1", 0, QUICK)
    events = feed.take(b'data: {"version":1}\n\ndata: {"version":3}\n\n')
    assert next(events) == {"version": 1}
    with pytest.raises(ConnectionError, match="event 2 is missing"):
        next(events)
    request, headers = feed.request()
    assert (request.query["after"], headers["Last-Event-ID"]) == (1, "1")


@given(
    messages=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1), max_size=5),
    cuts=st.lists(st.integers(0, 300), max_size=8),
    ending=st.sampled_from([b"\n", b"\r\n"]),
)
def test_chunks_may_be_cut_anywhere(messages: list[str], cuts: list[int], ending: bytes) -> None:
    lines = [b": comment", b""]
    for number, message in enumerate(messages):
        lines += [f"id: {number}".encode(), b"data: " + message.encode(), b"retry: 1", b""]
    whole = b"".join(line + ending for line in lines)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    reader = SseReader()
    got = [one for left, right in itertools.pairwise(edges) for one in reader.feed(whole[left:right])]
    assert got == [message.encode() for message in messages]
