"""Sign-ins and browser sessions in Postgres, in the gateway's own role."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import asyncpg
import pytest
from playmolt_core.db.owners import OwnerAccount, PgOwners
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.sign_ins import NewSession, PgSignIns, SignInAccount, SignInAttempt

from services.gateway.tests.signin.sign_ins_contract import ADA, CONTRACT, AgeingSignIns, key, session


class AgeingPgSignIns(PgSignIns):
    def __init__(self, pool: Pool, url: str) -> None:
        super().__init__(pool)
        self._url = url

    async def age(self, seconds: float) -> None:
        connection = await asyncpg.connect(self._url)
        past = f"make_interval(secs => {float(seconds)})"
        await connection.execute(f"UPDATE account.sign_in_attempt SET at = at - {past}")
        await connection.execute(
            f"UPDATE account.browser_session SET created_at = created_at - {past}, used_at = used_at - {past}"
        )
        await connection.close()

    async def make_owner(self, owner_id: str, name: str) -> None:
        owner = OwnerAccount(owner_id, name, contact=None)
        await PgOwners(self._pool).create(owner, key(owner_id), [key(f"code of {owner_id}")])


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
def store(pool: Pool, database_url: str) -> AgeingPgSignIns:
    return AgeingPgSignIns(pool, database_url)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_contract(store: AgeingPgSignIns, promise: object) -> None:
    assert promise in CONTRACT
    as_contract: AgeingSignIns = store
    await promise(as_contract)  # type: ignore[operator]


async def test_a_recovery_ends_sessions_and_sign_ins_under_way(store: AgeingPgSignIns, pool: Pool) -> None:
    await store.make_owner("owner-1", "First")
    await store.join(ADA, "owner-1", session("one"))
    await store.sign_in(SignInAccount("https://a.example", "eve"), "Eve", session("of another"))
    await store.begin(key("state"), key("browser"), SignInAttempt("/me", "owner-1"))
    await store.begin(key("sign-in"), key("browser"), SignInAttempt("/me", None))
    assert await PgOwners(pool).recover("owner-1", key("code of owner-1"), key("new key"))
    assert await store.session(key("one")) is None
    assert await store.use(key("state"), key("browser")) is None
    assert await store.use(key("sign-in"), key("browser")) is not None
    assert await store.session(key("of another")) is not None
    assert await store.owner_of(ADA) == "owner-1"


async def test_an_erasure_takes_the_sign_in_along(store: AgeingPgSignIns, pool: Pool) -> None:
    owner = await store.sign_in(ADA, "Ada", session("one"))
    await store.begin(key("state"), key("browser"), SignInAttempt("/me", owner))
    assert await PgOwners(pool).erase(owner) is not None
    assert await store.session(key("one")) is None
    assert await store.use(key("state"), key("browser")) is None
    assert await store.owner_of(ADA) is None
    assert await store.sign_in(ADA, "Ada again", session("two")) != owner


async def test_what_has_ended_is_deleted_on_the_way(store: AgeingPgSignIns, database_url: str) -> None:
    await store.begin(key("state"), key("browser"), SignInAttempt("/me", None))
    await store.sign_in(ADA, "Ada", session("one"))
    await store.age(40 * 86_400)
    await store.begin(key("new"), key("browser"), SignInAttempt("/me", None))
    await store.sign_in(SignInAccount("https://a.example", "eve"), "Eve", session("two"))
    connection = await asyncpg.connect(database_url)
    counts = "SELECT (SELECT count(*) FROM account.sign_in_attempt), (SELECT count(*) FROM account.browser_session)"
    assert tuple(await connection.fetchrow(counts) or ()) == (1, 1)
    await connection.close()


async def test_no_cookie_or_state_is_stored(store: AgeingPgSignIns, database_url: str) -> None:
    hashed = hashlib.sha256(b"cookie").hexdigest()
    await store.sign_in(ADA, "Ada", NewSession(hashed, "csrf"))
    connection = await asyncpg.connect(database_url)
    stored = await connection.fetchval("SELECT encode(hash, 'hex') FROM account.browser_session")
    await connection.close()
    assert stored == hashed


async def test_an_erased_owner_has_no_session_opened_meanwhile(store: AgeingPgSignIns, pool: Pool) -> None:
    owner = await store.sign_in(ADA, "Ada", session("one"))
    await asyncio.gather(
        PgOwners(pool).erase(owner),
        *(store.join(ADA, owner, session(f"s{n}")) for n in range(5)),
        return_exceptions=True,
    )
    assert [await store.session(key(f"s{n}")) for n in range(5)] == [None] * 5


async def test_a_sign_in_during_an_erasure_makes_a_new_owner_or_ends_with_the_old(
    store: AgeingPgSignIns, pool: Pool
) -> None:
    for n in range(5):
        old = await store.sign_in(ADA, "Ada", session(f"old {n}"))
        _, *owners = await asyncio.gather(
            PgOwners(pool).erase(old), *(store.sign_in(ADA, "Ada", session(f"{n} {m}")) for m in range(4))
        )
        assert len({*owners} - {old}) <= 1
        await store.begin(key(f"state {n}"), key("browser"), SignInAttempt("/me", old))
        assert await store.use(key(f"state {n}"), key("browser")) is None
