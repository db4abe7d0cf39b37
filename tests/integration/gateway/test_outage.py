"""What callers read while a part is away: 503 with Retry-After, never a 500, never a lost action."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import asyncpg
import httpx
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.pool import unavailable

from tests.integration.gateway.rows import Platform, eventually, refused, told

HAMMER_SECONDS = 1.5


@pytest.mark.parametrize("server", ["postgres", "nats"])
def test_a_lost_server_means_503_and_no_lost_action(platform: Platform, server: str) -> None:
    table = platform.table("ox")
    game = f"/api/games/{table.game_id}"
    calls: list[Callable[[], httpx.Response]] = [
        lambda: platform.nobody.get("/readyz"), lambda: table[0].get("/api/agents/me"),
        lambda: platform.nobody.get("/api/leaderboard"), lambda: platform.nobody.get("/api/games"),
        lambda: table[1].get(f"{game}/state"), lambda: platform.nobody.get(f"{game}/events"),
        lambda: platform.nobody.post("/api/agents", {"name": "late"}),
        lambda: platform.operator.get("/api/admin/agents"),
        lambda: table[2].act(table.game_id, {"type": "first_choice", "choice": "O", "comment": "kept"}, idem="kept"),
    ]  # fmt: skip
    over = threading.Event()

    def hammer(call: Callable[[], httpx.Response]) -> Counter[int]:
        seen: Counter[int] = Counter()
        while not over.is_set():
            answer = call()
            seen[answer.status_code] += 1
            if answer.status_code == 503:
                refused(answer, 503, "unavailable")
                assert int(answer.headers["retry-after"]) >= 1
        return seen

    with ThreadPoolExecutor(len(calls)) as pool:
        hammering = [pool.submit(hammer, call) for call in calls]
        time.sleep(0.2)
        platform.stack.kill(server)
        time.sleep(HAMMER_SECONDS)
        over.set()
        seen = [done.result() for done in hammering]
    assert set().union(*seen) <= {200, 201, 503}, seen
    eventually(lambda: platform.nobody.get("/readyz").status_code == 200, "not ready again")
    kinds = [event["type"] for event in platform.events(table.game_id)]
    assert kinds.count("first_choice_submitted") == 1
    told(table[0].act(table.game_id, {"type": "first_choice", "choice": "O", "comment": "after"}))


def test_a_connection_lost_in_the_middle_of_a_query_counts_as_an_absent_database() -> None:
    with pytest.raises(LogUnavailable), unavailable():
        raise asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is in progress")
