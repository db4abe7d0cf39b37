"""What each role may do, generated: every role tries every operation on every table and function."""

import itertools
import json
from collections.abc import AsyncIterator

import asyncpg
import pytest
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog

from core.tests.log.log_contract import Game, outcome, unit

ROLES = ("playmolt_engine", "playmolt_relay", "playmolt_gateway", "playmolt_reader", "playmolt_vault")
TABLES = {
    "log.head": "position",
    "log.stream": "version",
    "log.event": "version",
    "log.event_type": "name",
    "log.listed": "version",
    "log.record": "version",
    "log.record_0": "version",
    **{f"log.record_0_{kind}_0": "version" for kind in ("standing", "game", "session", "kept")},
    "log.outcome": "body",
    "log.archived": "file",
    "log.hidden": "hidden",
    "log.decision": "data",
    "account.renamed": "handle",
    "account.ban": "until",
    "account.notice": "note",
    "account.agent": "name",
    "account.api_key": "hash",
    "account.void_key": "hash",
    "account.join_key": "fingerprint",
    "account.visitor": "hash",
    "account.invite": "used",
    "account.seat": "game_id",
    "account.callback": "url",
    "account.called_seat": "refusals",
    "account.webhook": "url",
    "account.delivery": "tries",
    "account.notice_progress": "position",
    "account.secret": "value",
    "account.share": "owner",
    "account.share_key": "fingerprint",
    "account.file_link": "path",
    "account.owner": "name",
    "account.owner_key": "hash",
    "account.recovery_code": "hash",
    "account.claim_key": "agent_id",
    "account.report": "note",
    "account.report_key": "report_id",
    "account.house_bot": "agent_id",
    "account.sign_in": "subject",
    "account.browser_session": "used_at",
    "account.sign_in_attempt": "next",
    "limits.bucket": "full_at",
    "limits.opening": "at",
    "limits.guess": "tries",
    "limits.model_call": "tokens",
    "limits.provider": "allowed",
    "limits.budget": "calls",
    "lease.effect": "attempt",
    "lease.in_flight": "requests",
    "lease.batch_call": "tokens",
    "lease.job": "status",
    "lease.snapshot": "state",
    "lease.fault": "reported",
    "lease.heartbeat": "at",
    "lease.outage": "began",
    "blob.text": "body",
    "blob.reply": "body",
    "vault.key": "wrapped",
    "pack.files": "files",
    "pack.offer": "about",
    "pack.played": "digest",
    "pack.missing": "at",
    "projection.score": "points",
    "projection.result": "points",
    "projection.rating": "points",
    "projection.role_game": "wins",
    "projection.role_rate": "wins",
    "projection.progress": "position",
    "projection.score_fit": "unconnected",
    "projection.fitted_score": "games",
    "migration.applied": "checksum",
}
OPERATIONS = {
    "SELECT": "SELECT 1 FROM {table} LIMIT 1",
    "INSERT": "INSERT INTO {table} ({column}) SELECT NULL WHERE false",
    "UPDATE": "UPDATE {table} SET {column} = DEFAULT WHERE false",
    "DELETE": "DELETE FROM {table} WHERE false",
    "TRUNCATE": "TRUNCATE {table}",
    "ALTER": "ALTER TABLE {table} ADD COLUMN more integer",
    "TRIGGERS": "ALTER TABLE {table} DISABLE TRIGGER ALL",
    "DROP": "DROP TABLE {table}",
}
FUNCTIONS = {
    "log.append": "SELECT log.append('{}', '{}', '{}', '{}', '{}', '{}')",
    "log.enter_types": "SELECT log.enter_types('{game_end}')",
    "log.prune": "SELECT log.prune('[]', 'a file', '')",
    "log.joined_by": "SELECT log.joined_by('agent-a')",
    "log.opened_by": "SELECT log.opened_by('agent-a')",
    "limits.wait": "SELECT limits.wait('k', 1, 1)",
    "limits.take": "SELECT limits.take('k', 1, 1, 1)",
    "limits.guess": "SELECT limits.guess('k', 1, 1)",
    "limits.forgive": "SELECT limits.forgive('k')",
    "limits.open_session": "SELECT limits.open_session('a', 'legal', 'legal-1', 1, 7, 0)",
    "limits.give_session_up": "SELECT limits.give_session_up('legal-1')",
    "limits.sweep": "SELECT limits.sweep()",
    "limits.day_spent": "SELECT limits.day_spent(current_date)",
    "limits.sessions_of": "SELECT limits.sessions_of('a')",
    "log.drop_parts": "SELECT log.drop_parts()",
    "limits.admit": "SELECT limits.admit(gen_random_uuid(), 'm', 1, 1, 1, 1, 1, 1, NULL)",
    "limits.hold": "SELECT limits.hold(gen_random_uuid(), 1)",
    "limits.give_back": "SELECT limits.give_back(gen_random_uuid(), 1, NULL, NULL, NULL, NULL, NULL)",
    "limits.reserve": "SELECT limits.reserve(ARRAY['a'], ARRAY[1], ARRAY[1], ARRAY[1], ARRAY[1], ARRAY[1])",
    "limits.settle": "SELECT limits.settle(ARRAY['a'], ARRAY[0], ARRAY[0], ARRAY[0])",
    "log.last_owner": "SELECT log.last_owner('agent-a')",
    "log.change_owner": "SELECT log.change_owner('agent-a', NULL, '', '{}')",
    "log.owners": "SELECT log.owners()",
    "log.rebuild_owners": "SELECT log.rebuild_owners()",
    "log.begin_moderation": "SELECT log.begin_moderation('moderation-1')",
    "log.said": "SELECT log.said('ox-1', 1, NULL, '{}', '{}', '{}', '{}', false)",
    "log.naming": "SELECT log.naming('agent-a')",
    "log.announcing": "SELECT log.announcing('tournament-a')",
    "log.moderate": (
        """SELECT log.moderate('moderation-1', '', '{"type": "banned", "data": {"subject": "agent-a"}}', '', '')"""
    ),
    "log.rebuild_moderation": "SELECT log.rebuild_moderation()",
    "account.neutral_handle": "SELECT account.neutral_handle('agent-a')",
    "account.one_address": "SELECT account.one_address('{}')",
    "account.models": "SELECT account.models()",
    "account.entrants": "SELECT account.entrants('{}')",
    "account.house_bots": "SELECT account.house_bots('tournament-1', '{}')",
    "account.note_table": "SELECT account.note_table('ox-1', '{}')",
    "account.sweep_reports": "SELECT account.sweep_reports(90)",
    "account.sweep_visitors": "SELECT account.sweep_visitors(30)",
    "account.begin_call": "SELECT account.begin_call('a', 'g', 'h', 1, 1, 1)",
    "account.put_webhook": "SELECT account.put_webhook('a', gen_random_uuid(), 'u', 'h', 'o', '{}')",
    "account.drop_notices": "SELECT account.drop_notices('a', 'b')",
    "account.trim_notices": "SELECT account.trim_notices('a')",
    "account.note_events": "SELECT account.note_events(0::smallint, 1, 2, '[]', 1)",
    "account.noted": "SELECT account.noted()",
    "account.claim_notices": "SELECT account.claim_notices(gen_random_uuid(), 0, 1, 1, 1, 1, 1)",
    "account.set_due": "SELECT account.set_due('a')",
    "account.record_call": "SELECT account.record_call('a', gen_random_uuid(), 0, NULL, 1, 1)",
    "projection.finished": "SELECT projection.finished(1)",
    "lease.take": "SELECT lease.take('w', 'h', 1)",
    "lease.extend": "SELECT lease.extend('w', 'h', 1, 1)",
    "lease.release": "SELECT lease.release('w', 'h', 1, true)",
    "lease.note_fault": "SELECT lease.note_fault('ox-1', 'a', 'bot', 'w')",
    "lease.report_faults": "SELECT lease.report_faults('ox-1')",
    "vault.make": "SELECT vault.make('{}', '{}', '{}', '{}')",
    "vault.read": "SELECT vault.read('{}')",
    "vault.outdated": "SELECT vault.outdated('k', 1)",
    "vault.needed": "SELECT vault.needed()",
    "pack.bring": f"SELECT pack.bring('{'a' * 64}', '')",
    "pack.read": "SELECT pack.read('a')",
    "pack.offer": "SELECT pack.offer('a', 'b', 'c', '{}', 0)",
    "pack.offers": "SELECT pack.offers('a')",
    "pack.withdraw": "SELECT pack.withdraw('a', 'b')",
    "pack.play": "SELECT pack.play('jury-1', 'a', NULL)",
    "pack.miss": "SELECT pack.miss('a')",
    "pack.sweep": "SELECT pack.sweep('')",
    "CREATE": "CREATE TABLE log.mine (a integer)",
    "SCHEMA": "CREATE SCHEMA mine",
    "OWNER": "SET ROLE playmolt_owner",
}
_NO_VIEW = (asyncpg.WrongObjectTypeError, asyncpg.ObjectNotInPrerequisiteStateError)
"""What does not even go with a view."""
_DERIVED = (
    "projection.score", "projection.result", "projection.rating", "projection.role_game", "projection.role_rate",
    "projection.score_fit", "projection.fitted_score",
)  # fmt: skip
_BLOBS = (("SELECT", "blob.text"), ("SELECT", "blob.reply"))
_BENEATH = (("SELECT", "log.listed"), ("SELECT", "log.record"), ("SELECT", "log.event_type"))
_DECISIONS = (("SELECT", "log.hidden"), ("SELECT", "account.renamed"), ("SELECT", "account.ban"))
_ANYBODY = {("SELECT", "migration.applied")}
"""A service looks whether what it needs is applied."""
ALLOWED: dict[str, set[object]] = {
    "playmolt_engine": {
        ("SELECT", "log.head"), ("SELECT", "log.stream"), ("SELECT", "log.event"), *_BENEATH, ("SELECT", "log.outcome"),
        "log.append", "log.enter_types", "log.joined_by", "log.opened_by",
        "limits.admit", "limits.hold", "limits.give_back",
        "lease.take", "lease.extend", "lease.release", "lease.report_faults",
        "limits.open_session", "limits.reserve", "limits.settle",
        *_BLOBS, ("INSERT", "blob.text"), ("INSERT", "blob.reply"),
        *(
            (verb, table)
            for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")
            for table in ("lease.in_flight", "lease.batch_call", "lease.job")
        ),
        *((verb, "lease.snapshot") for verb in ("SELECT", "INSERT", "UPDATE")), "account.one_address",
        "account.entrants", "account.house_bots", "account.note_table", *_DECISIONS,
    },
    "playmolt_relay": {
        ("SELECT", "log.head"), ("SELECT", "log.stream"), ("SELECT", "log.event"), *_BENEATH,
        ("SELECT", "log.archived"),
        *((verb, table) for verb in ("SELECT", "INSERT", "UPDATE", "DELETE") for table in _DERIVED),
        ("SELECT", "projection.progress"), ("UPDATE", "projection.progress"), "limits.sweep", "limits.day_spent",
        "account.models", "account.sweep_reports", "account.sweep_visitors", *_DECISIONS, "log.rebuild_moderation",
        "log.naming", "log.announcing", "log.rebuild_owners", "account.note_events", "account.noted",
    },
    "playmolt_gateway": {
        ("SELECT", "account.agent"), ("INSERT", "account.agent"),
        ("SELECT", "account.join_key"), ("INSERT", "account.join_key"),
        ("SELECT", "account.seat"), ("INSERT", "account.seat"), ("DELETE", "account.seat"),
        *((verb, "account.callback") for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")),
        *((verb, "account.called_seat") for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")), "account.begin_call",
        *((verb, f"account.{table}") for verb in ("SELECT", "UPDATE", "DELETE") for table in ("webhook", "delivery")),
        *(
            f"account.{function}"
            for function in (
                "put_webhook", "drop_notices", "trim_notices", "claim_notices", "set_due", "record_call",
            )
        ),
        ("SELECT", "account.secret"), ("INSERT", "account.secret"),
        *((operation, "account.share") for operation in ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("SELECT", "account.share_key"), ("INSERT", "account.share_key"),
        *((operation, "account.file_link") for operation in ("SELECT", "INSERT", "DELETE")),
        ("SELECT", "account.void_key"), ("SELECT", "account.house_bot"), ("INSERT", "account.house_bot"),
        *((operation, "account.visitor") for operation in ("SELECT", "INSERT", "DELETE")),
        *((operation, "account.invite") for operation in ("SELECT", "INSERT", "UPDATE", "DELETE")),
        ("SELECT", "account.api_key"), ("INSERT", "account.api_key"), ("UPDATE", "account.api_key"),
        *(
            (verb, f"account.{table}")
            for verb in ("SELECT", "INSERT", "DELETE")
            for table in ("owner", "owner_key", "recovery_code")
        ),
        ("UPDATE", "account.owner"), ("UPDATE", "account.owner_key"),
        *(
            (verb, f"account.{table}")
            for verb in ("SELECT", "INSERT", "UPDATE", "DELETE")
            for table in ("sign_in", "browser_session", "sign_in_attempt")
        ),
        *(
            (verb, f"account.{table}")
            for verb in ("SELECT", "INSERT", "UPDATE")
            for table in ("claim_key", "report", "report_key")
        ),
        "log.begin_moderation", "log.said", "log.announcing", "log.moderate", "account.neutral_handle", *_DECISIONS,
        ("SELECT", "account.notice"), ("DELETE", "account.notice"),
        "log.last_owner", "log.change_owner", "limits.guess", "limits.forgive",
        *(("SELECT", table) for table in _DERIVED), ("SELECT", "projection.progress"), "limits.take", "limits.wait",
        "limits.open_session", "limits.give_session_up", "projection.finished", "pack.bring",
        ("SELECT", "pack.missing"),
    },
    "playmolt_reader": {
        ("SELECT", "log.head"), ("SELECT", "log.stream"), ("SELECT", "log.event"), *_BENEATH, ("SELECT", "log.outcome"),
        ("SELECT", "log.archived"), *(("SELECT", table) for table in _DERIVED), ("SELECT", "projection.progress"),
        "account.models", *_BLOBS, *_DECISIONS, ("SELECT", "log.decision"), "log.owners",
    },
    "playmolt_vault": {"vault.make", "vault.read", "vault.outdated", "vault.needed"},
}  # fmt: skip
TABLE_TRIES = [
    ((operation, table), statement.format(table=table, column=column))
    for (operation, statement), (table, column) in itertools.product(OPERATIONS.items(), TABLES.items())
]
TRIES = [*TABLE_TRIES, *FUNCTIONS.items()]


@pytest.fixture
async def login(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A login that is a member of nothing yet, as a service's own user is before its role is granted."""
    admin = await asyncpg.connect(database_url)
    name = "service_" + (await admin.fetchval("SELECT current_database()"))[-12:]
    await admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'p'")
    scheme, _, rest = database_url.partition("://")
    connection = await asyncpg.connect(f"{scheme}://{name}:p@{rest.rpartition('@')[2]}")
    try:
        yield connection
    finally:
        await connection.close()
        await admin.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
        await admin.close()


async def _grant(database_url: str, login: asyncpg.Connection, role: str) -> None:
    admin = await asyncpg.connect(database_url)
    await admin.execute(f"GRANT {role} TO {await login.fetchval('SELECT current_user')}")
    await admin.close()


async def _may(login: asyncpg.Connection, statement: str) -> bool:
    transaction = login.transaction()
    await transaction.start()
    try:
        await login.execute(statement)
    except (asyncpg.InsufficientPrivilegeError, *_NO_VIEW):
        return False
    finally:
        await transaction.rollback()
    return True


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_may_do_just_what_is_listed(database_url: str, login: asyncpg.Connection, role: str) -> None:
    await _grant(database_url, login, role)
    may = {key for key, statement in TRIES if await _may(login, statement)}
    assert may == ALLOWED[role] | _ANYBODY


@pytest.mark.parametrize(("game", "may"), [("jury", True), ("ox", False)])
async def test_packs_are_for_who_plays_juries(
    database_url: str, login: asyncpg.Connection, game: str, may: bool
) -> None:
    for role in ("playmolt_engine", f"playmolt_game_{game}"):
        await _grant(database_url, login, role)
    readable = ("pack.read", "pack.offers", "pack.withdraw", "pack.play", "pack.miss", "pack.sweep")
    assert {await _may(login, FUNCTIONS[name]) for name in readable} == {may}
    assert not await _may(login, FUNCTIONS["pack.bring"])


async def test_a_login_without_a_role_may_do_nothing(login: asyncpg.Connection) -> None:
    assert {key for key, statement in TRIES if await _may(login, statement)} == _ANYBODY


async def test_the_matrix_names_every_table(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch(
        "SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relkind IN ('r', 'p', 'v')"
        " AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')"
    )
    await connection.close()
    assert {row[0] for row in rows} == set(TABLES)


@pytest.mark.parametrize("table", ["log.event", "log.record", "log.record_0_game_0", "log.outcome", "log.archived"])
async def test_not_even_the_owner_rewrites_what_is_stored(database_url: str, table: str) -> None:
    pool = await open_pool(database_url)
    old = Game("ox-2")
    await PostgresLog(pool).append(
        [unit(Game("ox-1").adds(1), outcomes=[outcome("ox-1", 1)]), unit(old.adds(1)), unit(old.ends())]
    )
    ended = json.dumps([{"stream": old.stream, "version": old.version, "hash": old.hash}])
    await pool.value("SELECT log.prune($1, 'a file', $2)", ended, bytes(32))
    column = "position" if "record" in table else "stream"
    statements = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}", f"TRUNCATE {table}"]
    for statement in statements[: 2 if table == "log.event" else 3]:
        for role in ("playmolt_owner", "none"):
            async with pool.connection() as connection:
                await connection.execute(f"SET ROLE {role}")
                with pytest.raises(asyncpg.FeatureNotSupportedError, match="append-only"):
                    await connection.execute(statement)
                await connection.execute("RESET ROLE")
    await pool.close()


async def test_the_result_of_an_archived_game_is_not_deleted_either(database_url: str) -> None:
    pool = await open_pool(database_url)
    old = Game("ox-1")
    await PostgresLog(pool).append([unit(old.adds(1)), unit(old.ends())])
    ended = json.dumps([{"stream": old.stream, "version": old.version, "hash": old.hash}])
    assert await pool.value("SELECT log.prune($1, 'a file', $2)", ended, bytes(32)) == 1
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="append-only"):
        await pool.fetch("DELETE FROM log.record WHERE version = 2")
    await pool.close()


async def test_what_is_called_archived_but_not_registered_is_not_deleted(database_url: str) -> None:
    pool = await open_pool(database_url)
    await PostgresLog(pool).append([unit(Game("ox-1").adds(1))])
    await pool.fetch("UPDATE log.stream SET archived = true")
    with pytest.raises(asyncpg.FeatureNotSupportedError, match="append-only"):
        await pool.fetch("DELETE FROM log.record")
    await pool.close()


async def test_append_looks_into_no_schema_of_its_caller(database_url: str) -> None:
    """Else a caller's own table or function of the same name would run with the owner's rights."""
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch(
        "SELECT p.oid::regprocedure::text AS name, p.proconfig FROM pg_proc AS p JOIN pg_namespace AS n"
        " ON n.oid = p.pronamespace WHERE p.prosecdef"
        " AND n.nspname IN ('log', 'limits', 'lease', 'account', 'projection', 'blob', 'vault', 'pack')"
    )
    await connection.close()
    assert len(rows) == 79
    for row in rows:
        assert "search_path=pg_catalog, pg_temp" in row["proconfig"], row["name"]


async def test_a_pool_takes_the_role_it_is_given(database_url: str) -> None:
    pool = await open_pool(database_url, role="playmolt_reader")
    assert await pool.value("SELECT current_user") == "playmolt_reader"
    async with pool.reserve().use() as reserved:
        assert await reserved.fetchval("SELECT current_user") == "playmolt_reader"
    limits = [await pool.value(f"SHOW {name}") for name in ("statement_timeout", "lock_timeout")]
    assert limits == ["5s", "2s"]
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await PostgresLog(pool).append([unit(Game("ox-1").adds(1))])
    await pool.close()
