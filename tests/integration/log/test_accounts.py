"""The gateway's schemas: agents and keys, shared limits, the leaderboard. In the gateway's own role."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial

import asyncpg
import pytest
from msgspec import UNSET
from playmolt_core.db.accounts import Agent, NewAgent, PgAccounts, Profile, VersionLimit
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.ledger import Account, Amount, LedgerEntry, PgLedger
from playmolt_core.db.limits import DayUsage, PgLimits, SessionLimit
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.projections import Board, PgProjections, Score, add_scores, clear, move
from playmolt_core.db.shares import FileLink, PgShares
from playmolt_core.llm.day_budget import account_of
from playmolt_schemas import identity

from core.tests.waiting import wait_until

KINDS = ("legal", "jury")
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


def key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
def accounts(pool: Pool) -> PgAccounts:
    return PgAccounts(pool)


@pytest.fixture
async def relay_pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_relay")
    yield pool
    await pool.close()


async def test_an_agent_is_found_by_the_hash_of_its_key(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent('a "name" 🙂'), key("one"))
    agent = Agent("agent-1", 'a "name" 🙂', "a-name-gent-1")
    assert await accounts.callers([key("two"), key("one")]) == {key("one"): agent}
    assert await accounts.callers([]) == {}
    profile = await accounts.profile("agent-1")
    assert profile
    assert (profile.id, profile.name, profile.handle) == ("agent-1", 'a "name" 🙂', "a-name-gent-1")
    assert await accounts.profile("agent-2") is None


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Ada Lovelace", "ada-lovelace"), ("--Ünïcode!! ﬁ", "unicode-fi"), ("한국", "agent"), ("İstanbul", "istanbul"),
        ("a" * 40, "a" * 24), ("abcdefghij klmnopqrstuvw xyz", "abcdefghij-klmnopqrstuvw"), ("x" * 23 + " y", "x" * 23),
        ("K\u212a①", "kk1"),
    ],
)  # fmt: skip
async def test_a_handle_is_the_names_slug_and_the_end_of_the_id(accounts: PgAccounts, name: str, slug: str) -> None:
    assert identity.slug(name) == slug
    assert await accounts.create_agent("agent-0123456789", NewAgent(name), key("1")) == f"{slug}-456789"


async def test_a_handle_that_is_taken_shows_more_of_the_id(accounts: PgAccounts) -> None:
    made = [
        await accounts.create_agent(agent, NewAgent("Ada"), key(agent))
        for agent in ("agent-aa99456789", "agent-bb99456789", "agent-cc99456789", "agent-dddd456789")
    ]
    assert made == ["ada-456789", "ada-99456789", "ada-cc99456789", "ada-dd456789"]


async def test_an_agent_changes_what_it_says_of_itself(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent("one", "person", "1", "about"), key("one"))
    changed = await accounts.update_agent("agent-1", "2", UNSET)
    assert isinstance(changed, Profile)
    assert (changed.kind, changed.version, changed.about) == ("person", "2", "about")
    changed = await accounts.update_agent("agent-1", UNSET, None)
    assert isinstance(changed, Profile)
    assert (changed.version, changed.about) == ("2", None)
    assert (await accounts.callers([key("one")]))[key("one")].version == "2"
    assert await accounts.update_agent("agent-2", "2", UNSET) is None


@pytest.mark.usefixtures("one_day")
async def test_a_version_changes_ten_times_a_day(accounts: PgAccounts, pool: Pool) -> None:
    """Also when many changes arrive at once; a value that stays counts for nothing."""
    await accounts.create_agent("agent-1", NewAgent("one", version="0"), key("one"))
    at_once = await asyncio.gather(*(accounts.update_agent("agent-1", str(number), UNSET) for number in range(1, 16)))
    assert sum(isinstance(one, VersionLimit) for one in at_once) == 5
    present = await accounts.profile("agent-1")
    assert present
    refused = await accounts.update_agent("agent-1", None, "about")
    assert isinstance(refused, VersionLimit)
    assert 0 < refused.seconds <= 86_400
    assert await accounts.profile("agent-1") == present, "a refused change changes nothing"
    assert isinstance(await accounts.update_agent("agent-1", present.version, "about"), Profile)
    await pool.value("UPDATE account.agent SET version_day = version_day - 1")
    changed = await accounts.update_agent("agent-1", None, UNSET)
    assert isinstance(changed, Profile)
    assert changed.version is None
    again = [await accounts.update_agent("agent-1", str(number), UNSET) for number in range(10)]
    assert [isinstance(one, VersionLimit) for one in again] == [False] * 9 + [True]


async def test_agents_are_found_by_the_beginning_of_name_or_handle(accounts: PgAccounts) -> None:
    for number, name in enumerate(["Ada", "ADAM", "Bea", "\u1112\u1161\u11ab글", "Straße"]):
        await accounts.create_agent(f"agent-00000{number}", NewAgent(name), key(name))

    async def found(beginning: str) -> list[str]:
        return [agent.name for agent in (await accounts.agents(10, None, beginning))[0]]

    assert await found("ad") == ["ADAM", "Ada"]
    assert await found("한글") == ["\u1112\u1161\u11ab글"]
    assert await found("STRASS") == ["Straße"]
    assert await found("adam-0") == ["ADAM"]
    assert await found("%") == []
    assert len(await found("")) == 5


async def test_an_agent_and_its_key_are_stored_both_or_neither(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent("one"), key("one"))
    with pytest.raises(asyncpg.UniqueViolationError):
        await accounts.create_agent("agent-2", NewAgent("two"), key("one"))
    assert await accounts.profile("agent-2") is None


async def test_a_rotated_key_is_void(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent("one"), key("old"))
    assert await accounts.rotate_key("agent-1", key("old"), key("new"))
    assert await accounts.callers([key("old"), key("new")]) == {key("new"): Agent("agent-1", "one", "one-gent-1")}
    assert not await accounts.rotate_key("agent-1", key("old"), key("newer"))
    assert not await accounts.rotate_key("agent-9", key("new"), key("newer"))
    assert list(await accounts.callers([key("new"), key("newer")])) == [key("new")]


async def test_void_are_replaced_keys_and_those_of_agents_that_changed(accounts: PgAccounts, database_url: str) -> None:
    for number in ("1", "2", "3"):
        await accounts.create_agent(f"agent-{number}", NewAgent("one"), key(number))
    assert await accounts.void_keys(60) == [], "a new key replaces none"
    await accounts.rotate_key("agent-1", key("1"), key("new"))
    await accounts.update_agent("agent-2", "2", UNSET)
    await accounts.update_agent("agent-2", "3", UNSET)
    assert set(await accounts.void_keys(60)) == {key("1"), key("2")}
    assert await accounts.void_keys(0) == []
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE account.void_key SET at = at - interval '61 minutes'")
    await accounts.rotate_key("agent-3", key("3"), key("4"))
    assert await connection.fetchval("SELECT count(*) FROM account.void_key") == 1, "older ones are gone"
    await connection.close()


async def test_void_is_the_key_that_an_agent_has_when_its_change_is_stored(
    database_url: str, accounts: PgAccounts, pool: Pool
) -> None:
    connection = await asyncpg.connect(database_url)
    await accounts.create_agent("agent-1", NewAgent("one"), key("1"))
    async with pool.transaction() as rotation:
        await rotation.execute("UPDATE account.api_key SET hash = $1", bytes.fromhex(key("2")))
        change = asyncio.create_task(accounts.update_agent("agent-1", "2", UNSET))
        await wait_until(partial(connection.fetchval, WAITING))
    await connection.close()
    await change
    assert set(await accounts.void_keys(60)) == {key("1"), key("2")}


async def test_of_many_rotations_with_one_key_one_succeeds(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent("one"), key("0"))
    made = [key(str(number)) for number in range(1, 9)]
    done = await asyncio.gather(*(accounts.rotate_key("agent-1", key("0"), new) for new in made))
    assert sum(done) == 1
    assert list(await accounts.callers([key("0"), *made])) == [made[done.index(True)]]


async def test_a_joins_key_belongs_to_one_body(accounts: PgAccounts) -> None:
    await accounts.create_agent("agent-1", NewAgent("one"), key("1"))
    await accounts.create_agent("agent-2", NewAgent("two"), key("2"))
    command, another, ox, trial = "1" * 32, "2" * 32, "a" * 64, "b" * 64
    bodies = [ox, trial] * 4
    claimed = await asyncio.gather(*(accounts.claim_join("agent-1", command, body) for body in bodies))
    assert claimed in ([True, False] * 4, [False, True] * 4)
    won = bodies[claimed.index(True)]
    assert await accounts.claim_join("agent-1", command, won)
    assert await accounts.claim_join("agent-1", another, trial if won == ox else ox)
    assert await accounts.claim_join("agent-2", command, trial if won == ox else ox)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
async def test_a_cursor_with_a_time_that_nothing_can_hold_is_refused(accounts: PgAccounts, at: str) -> None:
    forged = base64.urlsafe_b64encode(b'{"created_at":"%b","id":"agent-1"}' % at.encode()).decode()
    with pytest.raises(BadCursor):
        await accounts.agents(2, forged)


async def test_agents_are_listed_newest_first_page_by_page(accounts: PgAccounts) -> None:
    for number in range(5):
        await accounts.create_agent(f"agent-{number}", NewAgent(f"name {number}"), key(str(number)))
    listed, cursor = [], None
    while True:
        page, cursor = await accounts.agents(2, cursor)
        listed.append([agent.id for agent in page])
        if cursor is None:
            break
    assert listed == [["agent-4", "agent-3"], ["agent-2", "agent-1"], ["agent-0"]]


def forged(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "e30", "!!!", "ä", "bnVsbA", "A" * 5000,
        forged('{"created_at":"2026-01-02T12:00:00","game_type":"","points":1e30,"id":"agent-1"}'),
        forged('{"created_at":"2026-01-02T12:00:00Z","game_type":"","points":1,"id":"\\u0000"}'),
        forged('{"created_at":"2026-01-02T12:00:00","game_type":"","points":9223372036854775808,"id":"agent-1"}'),
    ],
)  # fmt: skip
async def test_a_cursor_that_was_never_given_out_is_refused(pool: Pool, cursor: str) -> None:
    with pytest.raises(BadCursor, match="cursor"):
        await PgAccounts(pool).agents(2, cursor)
    with pytest.raises(BadCursor, match="cursor"):
        await PgProjections(pool).leaderboard(Board(), 2, cursor)


async def test_a_bucket_gives_its_capacity_and_then_asks_to_wait(pool: Pool) -> None:
    limits = PgLimits(pool)
    assert [await limits.take("k", 3, 600) for _ in range(3)] == [0, 0, 0]
    wait = await limits.take("k", 3, 600)
    assert 190 < wait <= 200
    assert 380 < await limits.take("k", 3, 600, 2) <= 400
    assert await limits.take("another", 3, 600, 3) == 0


async def test_a_bucket_fills_again(database_url: str, pool: Pool) -> None:
    limits = PgLimits(pool)
    assert await limits.take("k", 1, 600) == 0
    wait = await limits.take("k", 1, 600)
    assert 0 < wait <= 600
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE limits.bucket SET full_at = full_at - make_interval(secs => $1)", wait)
    await connection.close()
    assert await limits.take("k", 1, 600) == 0


@pytest.mark.parametrize("changed", [(1_000_000, 60), (3, 600.5), (2, 3600), (7, 1)])
async def test_a_changed_limit_applies_to_everyone_at_once(pool: Pool, changed: tuple[int, float]) -> None:
    limits = PgLimits(pool)
    assert [await limits.take("k", 3, 3600) for _ in range(3)] == [0, 0, 0]
    assert await limits.take("k", 3, 3600) > 1100
    capacity, seconds = changed
    assert await limits.take("k", capacity, seconds, capacity) == 0
    assert 0 < await limits.take("k", capacity, seconds, capacity) <= seconds


async def test_a_wait_takes_nothing(pool: Pool) -> None:
    limits = PgLimits(pool)
    assert await limits.wait("k", 2, 600) == 0
    assert await limits.take("k", 2, 600) == 0
    assert await limits.wait("k", 2, 600) == 0
    assert await limits.take("k", 2, 600) == 0
    assert 290 < await limits.wait("k", 2, 600) <= 300
    assert await limits.wait("k", 3, 600) == 0


async def test_a_code_admits_as_many_as_it_says_at_once(pool: Pool) -> None:
    accounts, code, soon = PgAccounts(pool), "c" * 64, datetime.now(UTC) + timedelta(hours=1)
    await accounts.create_invite("invite-1", code, 3, soon)

    async def admit(number: int) -> bool:
        key = f"{number:064x}"
        if number % 2:
            return await accounts.create_visitor(f"visitor-{number}", key, code)
        return await accounts.create_agent(f"agent-{number}", NewAgent("Ada"), key, code) is not None

    admitted = await asyncio.gather(*(admit(number) for number in range(12)))
    assert sum(admitted) == 3
    keys = [f"{number:064x}" for number in range(12)]
    assert len(await accounts.callers(keys)) == 3
    assert len((await accounts.agents(100))[0]) == sum(admitted[::2])
    await accounts.create_invite("invite-2", "d" * 64, 3, datetime.now(UTC) - timedelta(seconds=1))
    assert not await accounts.create_visitor("visitor-late", "e" * 64, "d" * 64)
    assert not await accounts.create_visitor("visitor-wrong", "e" * 64, "f" * 64)
    assert await accounts.delete_invite("invite-1")
    assert not await accounts.delete_invite("invite-1")


async def test_a_deleted_token_is_void(pool: Pool) -> None:
    accounts = PgAccounts(pool)
    assert await accounts.create_visitor("visitor-1", "a" * 64)
    assert (await accounts.callers(["a" * 64]))["a" * 64].id == "visitor-1"
    shares, link = PgShares(pool), FileLink("visitor-1", "/api/sessions/legal-1/report")
    address = await shares.link_file(link)
    assert await shares.linked_file(address) == link
    await accounts.delete_visitor("visitor-1")
    assert await shares.linked_file(address) is None, "the addresses of its files are void as well"
    assert await accounts.callers(["a" * 64]) == {}
    assert await accounts.void_keys(60) == ["a" * 64]


async def test_an_old_token_without_a_session_is_swept(
    accounts: PgAccounts, relay_pool: Pool, database_url: str
) -> None:
    owner, sweeper = await asyncpg.connect(database_url), PgAccounts(relay_pool)
    keys = {name: f"{number:064x}" for number, name in enumerate(("young", "unused", "erased", "opens", "late"))}
    for name, key in keys.items():
        assert await accounts.create_visitor(f"visitor-{name}", key)
    await owner.execute(
        "UPDATE account.visitor SET created_at = now() - interval '31 days' WHERE id <> 'visitor-young'"
    )

    async def opens(visitor: str, *, erased: bool = False) -> None:
        await owner.execute(
            "INSERT INTO vault.key (stream, owner, kek, wrapped, erased_at) VALUES ('legal-' || $1, $1, 'k', $2, $3)",
            visitor, None if erased else bytes(40), datetime.now(UTC) if erased else None,
        )  # fmt: skip

    async def accepted() -> set[str]:
        found = await accounts.callers(list(keys.values()))
        return {caller.id.removeprefix("visitor-") for caller in found.values()}

    await opens("visitor-opens")
    await opens("visitor-erased", erased=True)
    assert await sweeper.sweep_visitors() == 0
    assert await accepted() == {"young", "opens"}, "refused first, deleted later"
    assert {keys[name] for name in ("unused", "erased", "late")} <= set(await accounts.void_keys(60))
    await opens("visitor-late")
    assert await sweeper.sweep_visitors() == 0
    assert await accepted() == {"young", "opens", "late"}, "a session that was being opened keeps its token"
    await owner.execute("UPDATE account.visitor SET void_at = void_at - interval '1 hour'")
    assert await sweeper.sweep_visitors() == 2
    assert await sweeper.sweep_visitors() == 0
    left = await owner.fetch("SELECT id FROM account.visitor ORDER BY id")
    assert [row["id"] for row in left] == ["visitor-late", "visitor-opens", "visitor-young"]
    await owner.close()


async def test_many_takers_at_once_get_the_capacity_and_no_more(pool: Pool) -> None:
    limits = PgLimits(pool)
    waits = await asyncio.gather(*(limits.take("k", 10, 3600) for _ in range(40)))
    assert sum(wait == 0 for wait in waits) == 10


async def test_a_cost_that_no_bucket_holds_is_a_bug(pool: Pool) -> None:
    for capacity, seconds, cost in ((1, 1.0, 2), (0, 1.0, 1), (1, 0.0, 1), (1, 1.0, 0)):
        with pytest.raises(asyncpg.InvalidParameterValueError, match="can never be taken"):
            await PgLimits(pool).take("k", capacity, seconds, cost)


async def test_full_buckets_are_forgotten(pool: Pool, relay_pool: Pool) -> None:
    limits = PgLimits(pool)
    await limits.take("gone", 1, 0.05)
    await limits.take("kept", 1, 600)
    await asyncio.sleep(0.1)
    assert await PgLimits(relay_pool).sweep() == 1
    assert await limits.take("kept", 1, 600) > 0


async def stands(database_url: str, session: str, owner: str, *, over: bool = False, days: int = 0) -> None:
    """Put a session into the log as its engine would."""
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "INSERT INTO log.stream (stream, version, hash, phase, over, created_at, updated_at)"
        " VALUES ($1, 1, decode(repeat('00', 32), 'hex'), 'facts', $2, now(), now() - make_interval(days => $3))",
        session, over, days,
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO vault.key (stream, owner, kek, wrapped) VALUES ($1, $2, 'k', decode(repeat('00', 40), 'hex'))",
        session, owner,
    )  # fmt: skip
    await connection.close()


async def opens(limits: PgLimits, owner: str, session: str, most: int = 9, day_most: int = 0) -> SessionLimit | None:
    return await limits.open_session(owner, session.partition("-")[0], session, most, day_most)


async def test_an_owner_has_so_many_sessions_of_a_type(database_url: str, pool: Pool) -> None:
    limits = PgLimits(pool)
    for number in range(3):
        assert await opens(limits, "ada", f"legal-{number}", 3) is None
        await stands(database_url, f"legal-{number}", "ada", over=number == 0, days=8 if number == 1 else 0)
    for number in (3, 4):
        assert await opens(limits, "ada", f"legal-{number}", 3) is None, "one is over, one rests"
    assert await opens(limits, "ada", "legal-5", 3) == "running"
    assert await opens(limits, "ada", "legal-0", 3) is None, "a repeat finds its own"
    assert await opens(limits, "ada", "legal-4", 3) is None
    assert await opens(limits, "ada", "jury-1", 3) is None
    assert await opens(limits, "bob", "legal-6", 3) is None
    await limits.give_session_up("legal-4")
    assert await opens(limits, "ada", "legal-5", 3) is None


async def test_of_sessions_opened_at_once_no_two_take_one_place(pool: Pool) -> None:
    limits = PgLimits(pool)
    opened = await asyncio.gather(*(opens(limits, "ada", f"legal-{n}", 10) for n in range(40)))
    assert opened.count(None) == 10
    daily = await asyncio.gather(*(opens(limits, "bob", f"{kind}-b{n}", 99, 7) for n in range(9) for kind in KINDS))
    assert daily.count(None) == 7


async def test_a_place_that_nobody_took_up_is_free_after_a_minute(database_url: str, pool: Pool) -> None:
    limits = PgLimits(pool)
    assert await opens(limits, "ada", "legal-1", 1, 1) is None
    assert await opens(limits, "ada", "legal-2", 1) == "running"
    assert await opens(limits, "ada", "jury-2", 1, 1) == "day"
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE limits.opening SET at = at - interval '61 seconds'")
    await connection.close()
    assert await opens(limits, "ada", "legal-2", 1, 1) is None


@pytest.mark.usefixtures("one_day")
async def test_a_day_holds_so_many_sessions_of_both_kinds(database_url: str, pool: Pool) -> None:
    """Those that are over count as well, and those of yesterday do not."""
    limits = PgLimits(pool)
    for number, kind in enumerate(KINDS):
        assert await opens(limits, "ada", f"{kind}-{number}", 9, 2) is None
        await stands(database_url, f"{kind}-{number}", "ada", over=True)
    assert await opens(limits, "ada", "legal-5", 9, 2) == "day"
    assert await opens(limits, "ada", "legal-0", 9, 2) is None, "a repeat finds its own"
    assert await opens(limits, "bob", "legal-6", 9, 2) is None
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE log.stream SET created_at = created_at - interval '1 day' WHERE stream = 'jury-1'")
    await connection.close()
    assert await opens(limits, "ada", "legal-5", 9, 2) is None


@pytest.mark.usefixtures("one_day")
async def test_what_is_spent_of_a_day_is_told(database_url: str, relay_pool: Pool) -> None:
    engine_pool = await open_pool(database_url, role="playmolt_engine")
    ledger, today = PgLedger(engine_pool), datetime.now(UTC).date()
    for who, tokens, money in (("", 90, "1.5"), ("ada", 60, "1"), ("bob", 30, "0.5")):
        await ledger.reserve(
            [LedgerEntry(Account(name=account_of(today.isoformat(), who)), Amount(Decimal(money), tokens))]
        )
    await ledger.reserve([LedgerEntry(Account(name=account_of("2020-01-02", "ada")), Amount(Decimal(9), 999))])
    spent = await PgLimits(relay_pool).day_spent(today)
    assert spent == DayUsage(90, Decimal("1.5"), 60, Decimal(1), 0)
    await PgLimits(relay_pool).sweep()
    assert (await PgLimits(relay_pool).day_spent(date(2020, 1, 2))).key_tokens == 0
    assert await PgLimits(relay_pool).day_spent(today) == spent
    await engine_pool.close()


async def scored(relay_pool: Pool, *scores: tuple[str, str, int]) -> None:
    projections = PgProjections(relay_pool)
    held_to = await projections.places()
    seen = await begun(relay_pool) if held_to is None else held_to[0]
    rows = [Score(agent, game, points, 1) for agent, game, points in scores]
    assert await projections.advance(seen, seen + 1, partial(add_scores, scores=rows))


async def begun(relay_pool: Pool) -> int:
    """As after a rebuild of an empty log."""
    async with relay_pool.transaction() as connection:
        await clear(connection)
        await move(connection, 0)
    return 0


async def test_equal_points_share_a_rank_also_across_pages(pool: Pool, relay_pool: Pool, accounts: PgAccounts) -> None:
    points = {"agent-a": 5, "agent-b": 3, "agent-c": 3, "agent-d": 3, "agent-e": 1, "agent-f": 1, "agent-g": -2}
    await accounts.create_agent("agent-b", NewAgent("Bee"), key("b"))
    await scored(relay_pool, *((agent, "ox", count) for agent, count in points.items()))
    expected = [
        (1, "agent-a"),
        (2, "agent-b"),
        (2, "agent-c"),
        (2, "agent-d"),
        (5, "agent-e"),
        (5, "agent-f"),
        (7, "agent-g"),
    ]
    projections = PgProjections(pool)
    for size in (1, 2, 3, 7, 50):
        listed, cursor = [], None
        while True:
            page, cursor = await projections.leaderboard(Board("ox"), size, cursor)
            listed += [(line.rank, line.id) for line in page]
            if cursor is None:
                break
        assert listed == expected
    page, _ = await projections.leaderboard(Board(), 2)
    assert [(line.name, line.points, line.games) for line in page] == [("agent-a", 5, 1), ("Bee", 3, 1)]


async def test_points_are_kept_by_game_type_and_in_all(pool: Pool, relay_pool: Pool) -> None:
    await scored(relay_pool, ("agent-a", "ox", 5), ("agent-a", "ox", -1), ("agent-b", "ox", 7))
    await scored(relay_pool, ("agent-a", "trial", 10))
    projections = PgProjections(pool)
    found = await projections.points_of("agent-a")
    assert (found.points, found.points_by_type, found.games) == (14, {"ox": 4, "trial": 10}, {"ox": 2, "trial": 1})
    nothing = await projections.points_of("agent-z")
    assert (nothing.points, nothing.points_by_type, nothing.games) == (0, {}, {})
    in_all, _ = await projections.leaderboard(Board(), 10)
    assert [(line.id, line.points, line.games) for line in in_all] == [("agent-a", 14, 3), ("agent-b", 7, 1)]
    in_trial, _ = await projections.leaderboard(Board("trial"), 10)
    assert [(line.id, line.points) for line in in_trial] == [("agent-a", 10)]


async def test_a_cursor_belongs_to_one_leaderboard(pool: Pool, relay_pool: Pool) -> None:
    await scored(relay_pool, ("agent-a", "ox", 5), ("agent-b", "ox", 4))
    _, cursor = await PgProjections(pool).leaderboard(Board("ox"), 1)
    with pytest.raises(BadCursor, match="another leaderboard"):
        await PgProjections(pool).leaderboard(Board("trial"), 1, cursor)


async def test_the_projection_moves_on_only_from_where_it_was_seen(relay_pool: Pool) -> None:
    projections, apply = PgProjections(relay_pool), partial(add_scores, scores=[Score("agent-a", "ox", 1, 1)])
    assert await projections.places() is None
    await begun(relay_pool)
    assert not await projections.advance(3, 9, apply)
    assert (await projections.points_of("agent-a")).points == 0
    assert await projections.advance(0, 9, apply)
    assert await projections.places() == (9,)
