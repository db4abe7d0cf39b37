"""What callers read while a part is away: 503 with Retry-After, never a 500, never a lost action."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import unavailable

from core.tests.waiting import suspend
from tests.integration.conftest import complete
from tests.integration.gateway.rows import Game, Json, Platform, Sse, accepted, eventually, refused

HAMMER_SECONDS = 1.5
ANSWER_SECONDS = 30
"""A call waits for its part for 8 s at most; a busy machine needs time of its own."""
ACTIONS: dict[Game, Json] = {
    "ox": {"type": "first_choice", "choice": "O", "comment": "kept"},
    "trial": {"type": "speak", "text": "kept"},
}
STORED = {"ox": "first_choice_submitted", "trial": "speak"}


@contextmanager
def standing_still(platform: Platform, name: str) -> Iterator[None]:
    """A part that holds its connections and answers none of them, with all its processes."""
    first = platform.stack.run.processes[name]
    processes = [first]
    try:
        suspend(first)  # it starts no further process, and one that ends stays a zombie
        for process in map(int, Path(f"/proc/{first}/task/{first}/children").read_text("ascii").split()):
            processes.append(process)
            suspend(process)
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize(("part", "game", "other"), [("postgres", "ox", None), ("trial-engine-1", "trial", "ox")])
def test_what_is_answered_while_a_part_stands_still_and_what_returns(
    platform: Platform, part: str, game: Game, other: Game | None
) -> None:
    table, sound = platform.table(game), platform.table(other) if other else None
    address = f"/api/games/{table.game_id}"
    with standing_still(platform, part):
        asked = time.monotonic()
        answer = table[0].act(table.game_id, ACTIONS[game], idem="kept")
        refused(answer, 503, "unavailable")
        assert int(answer.headers["retry-after"]) >= 1
        assert time.monotonic() - asked < ANSWER_SECONDS
        eventually(lambda: platform.anonymous.get("/readyz").status_code == 503, "still ready")
        assert platform.anonymous.get("/healthz").status_code == 200
        for feed in (f"{platform.gateway}{address}/stream", f"{platform.spectator}/sse/games/{table.game_id}"):
            with Sse(platform.http, feed) as stream:
                assert stream.answer.status_code == 200, "an EventSource never comes back after a 503"
        if sound and other:
            accepted(sound[0].act(sound.game_id, ACTIONS[other]))
    complete(platform.stack)
    accepted(table[0].act(table.game_id, ACTIONS[game], idem="kept"))
    assert [event["type"] for event in platform.events(table.game_id)].count(STORED[game]) == 1
    with Sse(platform.http, f"{platform.spectator}/sse/games/{table.game_id}") as stream:
        assert any(f'"{STORED[game]}"' in data for _, data in stream)


@pytest.mark.parametrize(("server", "game"), [("postgres", "ox"), ("nats", "ox"), ("trial-engine-1", "trial")])
def test_a_lost_server_means_503_and_no_lost_action(platform: Platform, server: str, game: Game) -> None:
    table = platform.table(game)
    address = f"/api/games/{table.game_id}"
    calls: list[Callable[[], httpx.Response]] = [
        lambda: platform.anonymous.get("/readyz"), lambda: table[0].get("/api/agents/me"),
        lambda: platform.anonymous.get("/api/leaderboard"), lambda: platform.anonymous.get("/api/games"),
        lambda: table[1].get(f"{address}/state"), lambda: platform.anonymous.get(f"{address}/events"),
        lambda: platform.anonymous.post("/api/agents", {"name": "late"}),
        lambda: platform.operator.get("/api/admin/agents"),
        lambda: table[2].act(table.game_id, ACTIONS[game], idem="kept"),
    ]  # fmt: skip
    over = threading.Event()

    def hammer(call: Callable[[], httpx.Response], seen: Counter[int]) -> None:
        while not over.is_set():
            answer = call()
            seen[answer.status_code] += 1
            if answer.status_code == 503:
                refused(answer, 503, "unavailable")
                assert int(answer.headers["retry-after"]) >= 1

    seen = [Counter[int]() for _ in calls]
    with ThreadPoolExecutor(len(calls)) as pool:
        hammering = [pool.submit(hammer, call, counter) for call, counter in zip(calls, seen, strict=True)]
        try:
            time.sleep(0.2)
            platform.stack.kill(server)
            time.sleep(HAMMER_SECONDS)
            eventually(lambda: all(counter[200] + counter[201] for counter in seen), "a call was never taken")
        finally:
            over.set()
        for done in hammering:
            done.result()
    assert set().union(*seen) <= {200, 201, 503}, seen
    complete(platform.stack)
    kinds = [event["type"] for event in platform.events(table.game_id)]
    assert kinds.count(STORED[game]) == 1
    accepted(table[0].act(table.game_id, ACTIONS[game]))


def test_a_connection_lost_in_the_middle_of_a_query_counts_as_an_absent_database() -> None:
    with pytest.raises(LogUnavailable), unavailable():
        raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
