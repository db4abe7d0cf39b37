"""Webhooks in Postgres: notices are stored once, delivered under leases within bounds, retried for a day, and end."""

import asyncio
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.owners import OwnerAccount, PgOwners
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.webhooks import (
    LEASE_SECONDS,
    ClaimedNotice,
    NewNotice,
    NewWebhook,
    PgNotices,
    PgWebhooks,
    pause_after,
)
from playmolt_core.log.ownership import PgOwnership
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.relay.notices import NoticeProjector
from playmolt_schemas.api import WebhookEvent
from playmolt_schemas.limits import (
    WEBHOOK_CALLS_AT_A_HOST,
    WEBHOOK_CALLS_IN_ALL,
    WEBHOOK_CALLS_OF_AN_OWNER,
    WEBHOOK_DELIVERIES_SHOWN,
    WEBHOOK_RETRIED_SECONDS,
    WEBHOOK_WAITING,
)

from core.tests.log.log_contract import Game, unit
from core.tests.waiting import wait_until

ALL: Sequence[WebhookEvent] = ("turn", "game_over", "tournament", "moderation")
DAY = float(WEBHOOK_RETRIED_SECONDS)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def notices(database_url: str) -> AsyncIterator[PgNotices]:
    pool = await open_pool(database_url, role="playmolt_relay", size=2)
    yield PgNotices(pool)
    await pool.close()


class Clock:
    """Seconds added to the database's clock."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def webhook(host: str = "bot.example:443", events: Sequence[WebhookEvent] = ALL) -> NewWebhook:
    url = f"https://{host}/hook"
    return NewWebhook(id=uuid.uuid4(), url=url, host=host, origin="https://arena.example", events=events)


async def owner(pool: Pool, host: str = "bot.example:443", events: Sequence[WebhookEvent] = ALL) -> tuple[str, str]:
    """An owner with a webhook and an agent."""
    owner_id, agent_id = f"owner-{uuid.uuid4()}", f"agent-{uuid.uuid4()}"
    await PgOwners(pool).create(OwnerAccount(owner_id, "Ada", contact=None), uuid.uuid4().hex * 2, [])
    await PgOwnership(pool).create_agent(agent_id, NewAgent("Bot"), uuid.uuid4().hex * 2, owner_id, uuid.uuid4().hex)
    await PgWebhooks(pool).put(owner_id, webhook(host, events))
    return owner_id, agent_id


def notice(agent_id: str, place: int = 0, kind: WebhookEvent = "turn", position: int = 10**6) -> NewNotice:
    return NewNotice(
        id=f"msg_{uuid.uuid4().hex}", agent_id=agent_id, type=kind, at="2026-01-02T12:00:00Z",
        data={"game_id": f"ox-{place}"}, position=position, place=place,
    )  # fmt: skip


async def note(notices: PgNotices, *new: NewNotice) -> None:
    seen = (await notices.noted())[0]
    assert await notices.note(0, seen, seen + 1, new)


async def statuses(webhooks: PgWebhooks, owner_id: str) -> list[tuple[str, int]]:
    return [(row.status, row.tries) for row in await webhooks.deliveries(owner_id)]


async def test_a_notice_is_stored_once_and_only_for_events_after_the_webhook(pool: Pool, notices: PgNotices) -> None:
    owner_id, agent_id = await owner(pool, events=("turn",))
    webhooks = PgWebhooks(pool)
    (seen,) = (await notices.noted()).values()
    first = notice(agent_id)
    stranger, other, early = (
        notice(f"agent-{uuid.uuid4()}"),
        notice(agent_id, 1, "game_over"),
        notice(agent_id, 2, "turn", 0),
    )
    assert await notices.note(0, seen, seen + 5, [first, stranger, other, early])
    assert not await notices.note(0, seen, seen + 5, [notice(agent_id)])
    assert await notices.note(0, seen + 5, seen + 6, [first])
    assert [row.id for row in await webhooks.deliveries(owner_id)] == [first.id]


@pytest.mark.parametrize("most", [1, 3, 1_000])
async def test_every_event_becomes_a_notice_on_each_shard_also_where_a_statement_takes_few(
    sharded_url: str, most: int
) -> None:
    pool = await open_pool(sharded_url, role="playmolt_gateway")
    relay = await open_pool(sharded_url, role="playmolt_relay")
    owner_id, agent_id = await owner(pool)
    games = [Game(f"ox-{uuid.uuid4()}") for _ in range(6)]
    admin = await open_pool(sharded_url)
    log = PostgresLog(admin, 3)
    for game in games:
        await log.append([unit(game.adds(1, kind="agent_joined", data=json.dumps({"agent_id": agent_id}).encode()))])
        await log.append([unit(game.adds(4, kind="question_open", data=b'{"round":1}'))])
        await log.append([unit(game.adds(1, kind="game_aborted", data=b'{"reason":"x"}'))])
    running = asyncio.create_task(NoticeProjector(log, PgNotices(relay), most=most).run())
    webhooks = PgWebhooks(pool)

    async def all_stored() -> bool:
        return len(await webhooks.deliveries(owner_id)) == 5 * len(games)

    await wait_until(all_stored)
    running.cancel()
    found = Counter(row.type for row in await webhooks.deliveries(owner_id))
    assert found == {"turn": 4 * len(games), "game_over": len(games)}
    for one in (pool, relay, admin):
        await one.close()


async def test_without_a_webhook_no_event_is_read_and_the_first_begins_at_the_end(
    pool: Pool, notices: PgNotices, database_url: str
) -> None:
    admin = await open_pool(database_url)
    log = PostgresLog(admin)
    await log.append([unit(Game("ox-1").adds(7))])
    assert await notices.noted() == {}
    owner_id, _ = await owner(pool)
    end = await log.position()
    assert await notices.noted() == {0: end}
    await PgWebhooks(pool).end(owner_id)
    assert await notices.noted() == {}
    await admin.close()


async def test_what_a_killed_gateway_was_delivering_is_due_again_under_the_same_id(
    pool: Pool, notices: PgNotices
) -> None:
    owner_id, agent_id = await owner(pool)
    clock = Clock()
    killed, other = PgWebhooks(pool), PgWebhooks(pool, clock)
    await note(notices, notice(agent_id))
    (claimed,) = await killed.claim(9)
    assert (claimed.tries, claimed.type, json.loads(claimed.data)) == (1, "turn", {"game_id": "ox-0"})
    assert await other.claim(9) == []
    clock.seconds = LEASE_SECONDS + 1
    (again,) = await other.claim(9)
    assert (again.id, again.tries) == (claimed.id, 2)
    await killed.record(claimed, None)
    assert await statuses(other, owner_id) == [("waiting", 2)], "a lost lease has no say about a failure"
    await other.record(again, "delivered")
    assert await statuses(other, owner_id) == [("delivered", 2)]
    assert await other.claim(9) == []


async def test_a_failed_call_is_repeated_with_growing_pauses_for_a_day_and_then_the_webhook_is_off(
    pool: Pool, notices: PgNotices
) -> None:
    owner_id, agent_id = await owner(pool)
    clock = Clock()
    webhooks = PgWebhooks(pool, clock)
    await note(notices, notice(agent_id))
    pauses, ids = [], set()
    while True:
        (claimed,) = await webhooks.claim(9)
        ids.add(claimed.id)
        await webhooks.record(claimed, None)
        if (await statuses(webhooks, owner_id))[0][0] != "waiting":
            break
        assert await webhooks.claim(9) == [], "not before its pause"
        pause = min(pause_after(claimed.tries), DAY - clock.seconds)
        clock.seconds += pause + 0.5
        pauses.append(pause)
    assert pauses[0] <= 60
    assert pauses[:-1] == sorted(pauses[:-1])
    assert DAY <= clock.seconds <= DAY + 60
    assert len(ids) == 1
    assert await statuses(webhooks, owner_id) == [("failed", len(pauses) + 1)]
    found = await webhooks.webhook(owner_id)
    assert found is not None
    assert found.off == "failing"
    assert not await webhooks.any_on()
    assert await notices.noted() == {}
    await webhooks.put(owner_id, webhook())
    again = await webhooks.webhook(owner_id)
    assert again is not None
    assert again.off is None


async def test_a_webhook_that_works_in_between_stays_on_when_one_notice_fails_for_a_day(
    pool: Pool, notices: PgNotices
) -> None:
    owner_id, agent_id = await owner(pool)
    clock = Clock()
    webhooks = PgWebhooks(pool, clock)
    await note(notices, notice(agent_id))
    (claimed,) = await webhooks.claim(9)
    await webhooks.record(claimed, None)
    clock.seconds = 1
    await note(notices, notice(agent_id, 1))
    (other,) = await webhooks.claim(9)
    await webhooks.record(other, "delivered")
    clock.seconds = DAY + 1
    (last,) = await webhooks.claim(9)
    await webhooks.record(last, None)
    assert last.id == claimed.id
    assert sorted(await statuses(webhooks, owner_id)) == [("delivered", 1), ("failed", 2)]
    found = await webhooks.webhook(owner_id)
    assert found is not None
    assert found.off is None


async def test_what_waits_goes_to_a_new_address_at_once(pool: Pool, notices: PgNotices) -> None:
    owner_id, agent_id = await owner(pool)
    webhooks = PgWebhooks(pool)
    await note(notices, notice(agent_id))
    (claimed,) = await webhooks.claim(9)
    await webhooks.record(claimed, None)
    assert await webhooks.claim(9) == []
    await webhooks.put(owner_id, webhook("new.example:443"))
    (again,) = await webhooks.claim(9)
    assert (again.id, again.tries, again.url) == (claimed.id, 2, "https://new.example:443/hook")
    assert again.webhook != claimed.webhook, "another secret signs it"


async def test_410_switches_the_webhook_off_and_drops_what_waits(pool: Pool, notices: PgNotices) -> None:
    owner_id, agent_id = await owner(pool)
    webhooks = PgWebhooks(pool)
    await note(notices, *(notice(agent_id, place) for place in range(4)))
    first, second = [*await webhooks.claim(9), *await webhooks.claim(9)]
    await webhooks.record(first, "gone")
    await webhooks.record(second, None)
    assert sorted(status for status, _ in await statuses(webhooks, owner_id)) == ["dropped"] * 3 + ["failed"]
    found = await webhooks.webhook(owner_id)
    assert found is not None
    assert (found.off, found.off_at is not None) == ("gone", True)


async def test_of_more_than_a_thousand_that_wait_the_oldest_are_dropped_and_shown(
    pool: Pool, notices: PgNotices, database_url: str
) -> None:
    owner_id, agent_id = await owner(pool)
    new = [notice(agent_id, place) for place in range(WEBHOOK_WAITING + 3)]
    await note(notices, *new[:WEBHOOK_WAITING])
    await note(notices, *new[WEBHOOK_WAITING:])
    shown = await PgWebhooks(pool).deliveries(owner_id)
    assert len(shown) == WEBHOOK_DELIVERIES_SHOWN
    assert {row.id for row in shown if row.status == "dropped"} == {one.id for one in new[:3]}
    connection = await asyncpg.connect(database_url)
    waiting = await connection.fetchval("SELECT count(*) FROM account.delivery WHERE status = 'waiting'")
    await note(notices, *(notice(agent_id, place) for place in range(500)))
    ended = await connection.fetchval("SELECT count(*) FROM account.delivery WHERE status <> 'waiting'")
    await connection.close()
    assert (waiting, ended) == (WEBHOOK_WAITING, WEBHOOK_DELIVERIES_SHOWN)


async def working(pool: Pool, notices: PgNotices, host: str) -> tuple[str, str]:
    """An owner whose last notice was delivered."""
    owner_id, agent_id = await owner(pool, host)
    webhooks = PgWebhooks(pool)
    await note(notices, notice(agent_id))
    (claimed,) = await webhooks.claim(9)
    await webhooks.record(claimed, "delivered")
    return owner_id, agent_id


async def test_calls_have_room_of_an_owner_of_a_host_and_in_all(pool: Pool, notices: PgNotices) -> None:
    here = [await working(pool, notices, "same.example:443") for _ in range(40)]
    await note(notices, *(notice(agent, place) for _, agent in here for place in range(4)))
    one, other = PgWebhooks(pool), PgWebhooks(pool)
    claimed = [*await one.claim(40), *await other.claim(100), *await one.claim(100)]
    assert len(claimed) == WEBHOOK_CALLS_IN_ALL
    assert max(Counter(notice.webhook for notice in claimed).values()) == WEBHOOK_CALLS_OF_AN_OWNER
    assert await one.claim(100) == []
    for notice_ in claimed[:6]:
        await one.record(notice_, "delivered")
        await other.record(notice_, "delivered")
    assert len(await other.claim(100)) == 6


async def test_addresses_that_hang_leave_room_for_the_others(pool: Pool, notices: PgNotices) -> None:
    _, works = await working(pool, notices, "hangs.example:443")
    hanging = [await owner(pool, "hangs.example:443") for _ in range(30)]
    spread = [await owner(pool, f"{number}.example:443") for number in range(60)]
    webhooks = PgWebhooks(pool)
    await note(notices, *(notice(agent, place) for _, agent in hanging for place in range(2)))
    held = list(await webhooks.claim(100))
    assert len(held) == WEBHOOK_CALLS_AT_A_HOST
    assert await webhooks.claim(100) == []
    await note(notices, *(notice(agent, place) for _, agent in spread for place in range(2)))
    held += await webhooks.claim(100)
    assert len(held) == WEBHOOK_CALLS_IN_ALL // 2
    assert await webhooks.claim(100) == []
    await note(notices, notice(works))
    (mine,) = await webhooks.claim(100)
    for one in (*held, mine):
        await webhooks.record(one, None)
    clock = Clock()
    clock.seconds = 10.0
    failing = await PgWebhooks(pool, clock).claim(100)
    assert len(failing) > WEBHOOK_CALLS_IN_ALL // 2
    assert _again(failing, held) <= WEBHOOK_CALLS_IN_ALL // 4


def _again(claimed: Sequence[ClaimedNotice], before: Sequence[ClaimedNotice]) -> int:
    return len({one.webhook for one in claimed} & {one.webhook for one in before})


async def test_an_agent_that_was_let_go_and_an_erased_owner_get_no_more_notices(
    pool: Pool, notices: PgNotices, database_url: str
) -> None:
    owner_id, agent_id = await owner(pool)
    webhooks, ownership = PgWebhooks(pool), PgOwnership(pool)
    await note(notices, notice(agent_id))
    await ownership.release(owner_id, agent_id, uuid.uuid4().hex)
    await note(notices, notice(agent_id, 1))
    assert await statuses(webhooks, owner_id) == [("dropped", 0)]
    assert await webhooks.claim(9) == []
    assert await PgOwners(pool).erase(owner_id) is not None
    assert await webhooks.webhook(owner_id) is None
    assert not await webhooks.put(owner_id, webhook())
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT count(*) FROM account.delivery") == 0
    await connection.close()


async def test_a_recovered_owner_and_a_new_key_of_an_agent_keep_the_webhook(pool: Pool, notices: PgNotices) -> None:
    owner_id, agent_id = await owner(pool)
    owners, webhooks = PgOwners(pool), PgWebhooks(pool)
    code = uuid.uuid4().hex * 2
    await owners.replace_codes(owner_id, [code])
    assert await owners.recover(owner_id, code, uuid.uuid4().hex * 2) is not None
    assert await owners.replace_agent_key(owner_id, agent_id, uuid.uuid4().hex * 2) is not None
    await note(notices, notice(agent_id))
    assert len(await webhooks.claim(9)) == 1


async def test_no_secret_of_a_webhook_is_stored(pool: Pool, database_url: str) -> None:
    await owner(pool)
    connection = await asyncpg.connect(database_url)
    columns = await connection.fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'account.webhook'::regclass AND attnum > 0"
    )
    await connection.close()
    assert not [name for (name,) in columns if "secret" in name]
    assert await PgAccounts(pool).secret("webhooks") == await PgAccounts(pool).secret("webhooks")
