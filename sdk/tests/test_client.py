"""The clients against a server that misbehaves: what is repeated, what is not, and what the caller hears."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from playmolt import AsyncClient, Client, RateLimited, Refused, Retry, Unavailable, UnexpectedAnswer, bots
from playmolt_ox.rules import Ox
from playmolt_schemas.codes import Code, problem_bytes
from sdk_arena import Arena, Fault, rate_limited

QUICK = Retry(attempts=4, seconds=60.0, base=0.01, cap=0.05)
Start = Callable[[Any], Arena]


@pytest.fixture
def ox(arena: Start) -> Arena:
    return arena(Ox())


def seated(arena: Arena) -> tuple[Client, str]:
    """Fill a game; the client given sits in it, and nobody acts."""
    client = Client(arena.url, retry=QUICK)
    client.register("me")
    game_id = client.join("ox").game_id
    for number in range(4):
        with Client(arena.url) as other:
            other.register(f"other {number}")
            other.join("ox")
    arena.seen.clear()
    return client, game_id


FIRST = {"type": "first_choice", "choice": "O", "comment": "O"}


def test_registering_gives_the_client_its_key_and_rotating_replaces_it(ox: Arena) -> None:
    with Client(ox.url, retry=QUICK) as client:
        registered = client.register("ada")
        assert client.key == registered.api_key
        assert client.me().name == "ada"
        rotated = client.rotate_key()
        assert client.key == rotated.api_key != registered.api_key
        assert client.me().id == registered.id
    with Client(ox.url, registered.api_key, retry=QUICK) as stale, pytest.raises(Refused) as refused:
        stale.me()
    assert refused.value.code == Code.UNAUTHORIZED.wire


def test_after_an_interrupt_a_client_continues_on_new_connections(ox: Arena) -> None:
    """An interrupt within a call can leave the lock of the connections held, so they are not even closed."""
    with Client(ox.url, retry=QUICK) as client:
        client.register("ada")
        interrupted = client._http
        with interrupted._transport._pool._optional_thread_lock:  # type: ignore[attr-defined] -- httpcore's
            client.reconnect()
            assert client.me().name == "ada"
        interrupted.close()


def test_a_key_never_shows_in_a_clients_repr() -> None:
    assert "secret" not in repr(Client("http://127.0.0.1:1", "secret"))


@pytest.mark.parametrize("url", ["localhost:8080", "http://", "http://host:port", "ftp://host"])
def test_what_names_no_server_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="http://127"):
        Client(url)


def test_a_key_that_no_header_holds_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="copy it again"):
        Client("http://127.0.0.1:1", "pm_ключ")


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        pytest.raises(Unavailable, match=r"http://127\.0\.0\.1:1"),
        Client("http://127.0.0.1:1", retry=QUICK) as client,
    ):
        client.games()


def test_a_server_that_was_met_is_waited_for_longer_than_one_that_never_answered(
    ox: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("playmolt.client.time.sleep", pauses.append)
    with Client("http://127.0.0.1:1") as stranger, pytest.raises(Unavailable):
        stranger.register("ada")
    assert len(pauses) == 4
    assert sum(pauses) < 1.5

    with Client(ox.url) as client:
        client.register("ada")
        ox.faults = [Fault("/agents/me", "status")] * 15
        assert client.me().name == "ada"


def test_a_503_is_repeated_with_the_same_idempotency_key(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/actions", "status"), Fault("/actions", "status", status=502, body=b"<html>")]
    with client:
        assert client.act(game_id, FIRST).status == "accepted"
    keys = [one.headers["idempotency-key"] for one in ox.sent("/actions")]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_429_is_repeated_after_retry_after(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/actions", "status", status=429, headers={"retry-after": "1"}, body=rate_limited(1))]
    began = time.monotonic()
    with client:
        assert client.act(game_id, FIRST).status == "accepted"
    assert time.monotonic() - began >= 1.0


def test_without_retry_after_the_problems_own_seconds_count(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/state", "status", status=429, body=rate_limited(0.5))]
    began = time.monotonic()
    with client:
        client.state(game_id)
    assert time.monotonic() - began >= 0.5


def test_a_429_that_outlasts_the_allowed_time_is_raised_without_waiting(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/state", "status", status=429, headers={"retry-after": "3600"}, body=rate_limited(3600))]
    began = time.monotonic()
    with client, pytest.raises(RateLimited) as limited:
        client.state(game_id)
    assert limited.value.retry_after == 3600
    assert limited.value.problem.ratelimit is not None
    assert time.monotonic() - began < 30


def test_an_answer_lost_on_the_way_is_asked_again_and_takes_effect_once(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/actions", "lost")]
    before = ox.version(game_id)
    with client:
        accepted = client.act(game_id, FIRST)
    assert accepted.version == before + 1 == ox.version(game_id)
    assert len(ox.sent("/actions")) == 2


def test_a_new_key_is_not_asked_for_again_when_its_answer_is_lost(ox: Arena) -> None:
    client, _ = seated(ox)
    ox.faults = [Fault("/keys", "lost")]
    with client, pytest.raises(Unavailable, match="may have been applied"):
        client.rotate_key()
    assert len(ox.sent("/keys")) == 1
    assert "idempotency-key" not in ox.sent("/keys")[0].headers


def test_a_registration_is_sent_again_when_its_answer_is_lost(ox: Arena) -> None:
    ox.faults = [Fault("/api/agents", "lost")]
    with Client(ox.url, retry=QUICK) as client:
        assert client.register("eve").api_key == client.key
        assert client.me().name == "eve"
    assert len(ox.sent("/api/agents")) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422])
def test_other_4xx_are_refusals_and_never_repeated(ox: Arena, status: int) -> None:
    client, game_id = seated(ox)
    code = next(code for code in Code if code.status == status)
    ox.faults = [Fault("/actions", "status", status=status, body=problem_bytes(code, "do this instead"))]
    with client, pytest.raises(Refused) as refused:
        client.act(game_id, FIRST)
    assert (refused.value.status, refused.value.code, refused.value.detail) == (status, code.wire, "do this instead")
    assert len(ox.sent("/actions")) == 1


def test_a_refusal_names_the_fields_at_fault(ox: Arena) -> None:
    client, game_id = seated(ox)
    with client, pytest.raises(Refused) as refused:
        client.act(game_id, FIRST | {"choice": "maybe"})
    assert [fault.field for fault in refused.value.errors] == ["choice"]
    assert "choice" in str(refused.value)


def test_a_server_that_stays_away_is_given_up_after_the_attempts(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/state", "status") for _ in range(9)]
    with client, pytest.raises(Unavailable, match="an engine is away"):
        client.state(game_id)
    assert len(ox.sent("/state")) == QUICK.attempts


def test_nobody_listening_is_unavailable() -> None:
    with Client("http://127.0.0.1:9", retry=QUICK) as client, pytest.raises(Unavailable):
        client.register("ada")


def test_a_fault_of_the_server_is_not_repeated(ox: Arena) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/actions", "status", status=500, body=b"oops")]
    with client, pytest.raises(Unavailable, match="500"):
        client.act(game_id, FIRST)
    assert len(ox.sent("/actions")) == 1


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>hello</html>"), (200, b'{"status":1}'), (404, b"<html>")])
def test_an_answer_of_another_product_is_named_as_such(ox: Arena, status: int, body: bytes) -> None:
    client, game_id = seated(ox)
    ox.faults = [Fault("/actions", "status", status=status, body=body)]
    with client, pytest.raises(UnexpectedAnswer, match=str(status)):
        client.act(game_id, FIRST)


def test_the_callers_own_idempotency_key_is_used(ox: Arena) -> None:
    client, game_id = seated(ox)
    with client:
        first = client.act(game_id, FIRST, idempotency_key="mine-1")
        assert client.act(game_id, FIRST, idempotency_key="mine-1") == first
    assert {one.headers["idempotency-key"] for one in ox.sent("/actions")} == {"mine-1"}


def test_a_long_poll_returns_when_the_version_moves(ox: Arena) -> None:
    client, game_id = seated(ox)
    with client:
        version = client.state(game_id)["version"]
        client.act(game_id, FIRST)
        began = time.monotonic()
        assert client.state(game_id, after=version, wait=20)["version"] == version + 1
        assert time.monotonic() - began < 15


def test_leaving_while_the_game_waits(ox: Arena) -> None:
    with Client(ox.url, retry=QUICK) as client:
        client.register("ada")
        game_id = client.join("ox").game_id
        assert client.leave(game_id).status == "left"
        assert client.games("ox").games[0].seated == 0
        assert client.turn() is None


async def played(arena: Arena) -> str:
    results = await bots.run_house_bots(arena.url, "ox", 5, seed="played")
    return results[0].game_id


async def test_events_come_page_by_page_and_whole(ox: Arena) -> None:
    game_id = await played(ox)
    async with AsyncClient(ox.url, retry=QUICK) as client:
        page = await client.events_page(game_id, limit=7)
        assert len(page.events) == page.next_after == 7
        versions = [event["version"] async for event in client.events(game_id)]
    assert versions == list(range(1, ox.version(game_id) + 1))
    with Client(ox.url, retry=QUICK) as sync:
        assert [e["version"] for e in await asyncio.to_thread(lambda: list(sync.events(game_id, after=4)))] == versions[
            4:
        ]


async def test_the_log_is_decoded_record_by_record(ox: Arena) -> None:
    game_id = await played(ox)
    async with AsyncClient(ox.url, retry=QUICK) as client:
        records = await client.log(game_id)
        assert [record.version for record in records] == list(range(1, ox.version(game_id) + 1))
        assert records[0].type == "game_created"
        assert (await client.state(game_id, at=1))["version"] == 1


def test_the_log_of_a_running_game_is_refused(ox: Arena) -> None:
    client, game_id = seated(ox)
    with client, pytest.raises(Refused) as refused:
        client.log(game_id)
    assert refused.value.code == Code.LOG_NOT_FINISHED.wire


def test_sync_and_async_clients_offer_the_same_calls() -> None:
    def offered(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert offered(Client) - {"close", "reconnect"} == offered(AsyncClient) - {"aclose"}
