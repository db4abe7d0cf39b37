import asyncio
import re
from importlib.resources import files as files_of
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import Migration, MigrationRefused, Phase, await_database, migrate, migrations, pending

ALL = [migration.name for migration in migrations()]
SCHEMA = files_of("playmolt_core.db").joinpath("sql", "schema.sql").read_text("utf-8")
CATALOGUE = (Path(__file__).parent / "catalogue.sql").read_text("utf-8")


async def value(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def apply(url: str, statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(statements)
    finally:
        await connection.close()


async def catalogue(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return [row["fact"] for row in await connection.fetch(CATALOGUE)]
    finally:
        await connection.close()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "0001_pre_make.sql").write_text("CREATE TABLE made (a integer)")
    (tmp_path / "0002_post_fill.sql").write_text("INSERT INTO made VALUES (1)")
    return tmp_path


async def test_everything_is_applied_in_order_and_once(empty_database_url: str) -> None:
    assert await pending(empty_database_url) == ALL
    assert await migrate(empty_database_url) == ALL
    assert await migrate(empty_database_url) == []
    assert await pending(empty_database_url) == []


async def test_of_many_at_once_one_applies_each_file(empty_database_url: str) -> None:
    done = await asyncio.gather(*(migrate(empty_database_url, "all") for _ in range(5)))
    assert sorted(done, key=len) == [[], [], [], [], ALL]


async def test_the_schema_that_is_read_is_what_the_migrations_add_up_to(
    empty_database_url: str, database_url: str
) -> None:
    await apply(empty_database_url, SCHEMA)
    assert await catalogue(empty_database_url) == await catalogue(database_url)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE log.stream ADD COLUMN note text",
        "ALTER TABLE log.stream ALTER COLUMN archived SET DEFAULT true",
        "ALTER TABLE log.stream ALTER COLUMN archived DROP NOT NULL",
        "ALTER TABLE log.stream ALTER COLUMN erased_by TYPE varchar(20)",
        "ALTER TABLE log.stream SET (fillfactor = 50)",
        "ALTER TABLE log.record DROP CONSTRAINT record_salt_check",
        "ALTER TABLE account.api_key DROP CONSTRAINT api_key_agent_id_fkey",
        "ALTER TABLE limits.bucket SET LOGGED",
        "ALTER TABLE blob.text ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE blob.text OWNER TO CURRENT_USER",
        "CREATE POLICY own ON blob.text TO playmolt_reader USING (true)",
        "CREATE INDEX stream_round ON log.stream (round)",
        "DROP INDEX log.stream_due",
        "DROP TRIGGER no_truncate ON log.record_0_game_0",
        "ALTER TABLE log.record DISABLE TRIGGER append_only",
        "DROP VIEW log.listed",
        "CREATE SEQUENCE log.numbers",
        "CREATE TYPE log.pair AS (a integer, b integer)",
        "CREATE OR REPLACE FUNCTION limits.sweep() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " SET search_path = pg_catalog, pg_temp AS 'SELECT 0::bigint'",
        "ALTER FUNCTION limits.sweep() SECURITY INVOKER",
        "ALTER FUNCTION log.append RESET jit",
        "GRANT EXECUTE ON FUNCTION log.prune TO playmolt_engine",
        "GRANT SELECT ON account.api_key TO playmolt_reader",
        "REVOKE UPDATE (hash) ON account.api_key FROM playmolt_gateway",
        "GRANT USAGE ON SCHEMA account TO playmolt_reader",
        "CREATE SCHEMA more",
        "DELETE FROM log.head",
    ],
)
async def test_a_migration_that_the_schema_does_not_tell_is_noticed(database_url: str, change: str) -> None:
    before = await catalogue(database_url)
    await apply(database_url, change)
    assert await catalogue(database_url) != before


async def test_a_migration_that_the_schema_tells_adds_up(
    empty_database_url: str, database_url: str, tmp_path: Path
) -> None:
    """A column that comes without a default and later gets one, as a rollout takes it, and the same told at once."""
    for entry in files_of("playmolt_core.db").joinpath("sql", "migrations").iterdir():
        (tmp_path / entry.name).write_text(entry.read_text("utf-8"))
    (tmp_path / "9001_pre_note.sql").write_text(
        "SET LOCAL ROLE playmolt_owner; ALTER TABLE blob.reply ADD COLUMN note text"
    )
    (tmp_path / "9002_post_note.sql").write_text(
        "SET LOCAL ROLE playmolt_owner;"
        "ALTER TABLE blob.reply ALTER COLUMN note SET DEFAULT '', ALTER COLUMN note SET NOT NULL"
    )
    columns = "  key  bytea       PRIMARY KEY CHECK (octet_length(key) = 32),\n  body text        NOT NULL,\n"
    last = "  at   timestamptz NOT NULL DEFAULT now()"
    assert columns + last in SCHEMA
    await apply(
        empty_database_url, SCHEMA.replace(columns + last, f"{columns}{last},\n  note text NOT NULL DEFAULT ''")
    )
    assert await migrate(database_url, folder=tmp_path) == ["9001_pre_note.sql", "9002_post_note.sql"]
    assert await catalogue(empty_database_url) == await catalogue(database_url)


async def test_where_there_is_no_old_code_pre_applies_all(empty_database_url: str, files: Path) -> None:
    assert await migrate(empty_database_url, "pre", folder=files) == ["0001_pre_make.sql", "0002_post_fill.sql"]


async def test_phases_are_applied_apart(empty_database_url: str, files: Path) -> None:
    fill = (files / "0002_post_fill.sql").read_text()
    (files / "0002_post_fill.sql").unlink()
    assert await migrate(empty_database_url, "pre", folder=files) == ["0001_pre_make.sql"]
    (files / "0002_post_fill.sql").write_text(fill)
    assert await migrate(empty_database_url, "pre", folder=files) == []
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 0
    assert await migrate(empty_database_url, "post", folder=files) == ["0002_post_fill.sql"]
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 1


async def test_post_waits_for_its_pre(empty_database_url: str, files: Path) -> None:
    with pytest.raises(MigrationRefused, match=r"make.* is not applied"):
        await migrate(empty_database_url, "post", folder=files)


async def test_pre_waits_for_the_post_before_it(empty_database_url: str, files: Path) -> None:
    fill = (files / "0002_post_fill.sql").read_text()
    (files / "0002_post_fill.sql").unlink()
    await migrate(empty_database_url, "pre", folder=files)
    (files / "0002_post_fill.sql").write_text(fill)
    (files / "0003_pre_more.sql").write_text("CREATE TABLE more (a integer)")
    with pytest.raises(MigrationRefused, match=r"0002_post_fill\.sql is not applied: finish the rollout before"):
        await migrate(empty_database_url, "pre", folder=files)
    assert await migrate(empty_database_url, folder=files) == ["0002_post_fill.sql", "0003_pre_more.sql"]


@pytest.mark.parametrize("phase", ["pre", "post", "all"])
async def test_past_a_later_releases_post_the_way_back_is_closed(
    empty_database_url: str, files: Path, phase: Phase
) -> None:
    await migrate(empty_database_url, folder=files)
    (files / "0002_post_fill.sql").unlink()
    with pytest.raises(MigrationRefused, match=r"0002_post_fill\.sql .* the way back to this one is closed"):
        await migrate(empty_database_url, phase, folder=files)


async def test_the_command_refuses_with_status_1_and_names_the_file(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    for name, phase in (("9001_post_later.sql", "post"), ("9002_pre_later.sql", "pre")):
        await apply(empty_database_url, f"INSERT INTO migration.applied (name, checksum) VALUES ('{name}', '{phase}')")
    told = {"DATABASE_URL": empty_database_url}
    done = await asyncio.to_thread(CliRunner().invoke, cli, ["migrate", "--phase", "pre"], env=told)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("Error: 9001_post_later.sql was applied by a later release")
    await apply(empty_database_url, "DELETE FROM migration.applied WHERE name = '9001_post_later.sql'")
    done = await asyncio.to_thread(CliRunner().invoke, cli, ["migrate", "--phase", "pre"], env=told)
    assert (done.exit_code, done.stdout) == (0, "up to date\n")


async def test_a_later_releases_pre_is_borne(empty_database_url: str, files: Path) -> None:
    (files / "0003_pre_more.sql").write_text("CREATE TABLE more (a integer)")
    await migrate(empty_database_url, folder=files)
    (files / "0003_pre_more.sql").unlink()
    assert await migrate(empty_database_url, folder=files) == []


async def test_an_index_made_beside_writers_may_be_tried_again(empty_database_url: str, files: Path) -> None:
    (files / "0003_pre_find.sql").write_text(
        "-- again; and again\nDROP INDEX CONCURRENTLY IF EXISTS made_a;\n"
        "CREATE UNIQUE INDEX CONCURRENTLY made_a ON made (a);"
    )
    (files / "0002_post_fill.sql").write_text("INSERT INTO made VALUES (1), (1)")
    with pytest.raises(asyncpg.UniqueViolationError):
        await migrate(empty_database_url, folder=files)
    await apply(empty_database_url, "TRUNCATE made")
    assert await migrate(empty_database_url, folder=files) == ["0003_pre_find.sql"]
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'made_a'::regclass"
    assert await value(empty_database_url, valid) is True


async def test_a_locked_table_is_waited_for_briefly_and_often(
    empty_database_url: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty_database_url, folder=files)
    (files / "0003_pre_alter.sql").write_text("ALTER TABLE made ADD COLUMN b integer")
    monkeypatch.setattr("playmolt_core.db.migrate.LOCK_SECONDS", 0.2)
    monkeypatch.setattr("playmolt_core.db.migrate._PAUSE_SECONDS", 0.0)
    holder = await asyncpg.connect(empty_database_url)
    try:
        await holder.execute("BEGIN; LOCK TABLE made")
        with pytest.raises(MigrationRefused, match=r"0003_pre_alter\.sql: somebody holds a lock it needs, tried 12"):
            await migrate(empty_database_url, folder=files)
        monkeypatch.setattr("playmolt_core.db.migrate.LOCK_TRIES", 1000)
        waiting = asyncio.create_task(migrate(empty_database_url, folder=files))
        blocked = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE made%'"
        )
        while not await value(empty_database_url, blocked):
            await asyncio.sleep(0.01)
        await holder.execute("COMMIT")
        assert await waiting == ["0003_pre_alter.sql"]
    finally:
        await holder.close()


async def test_a_database_without_our_roles_is_waited_for(empty_database_url: str) -> None:
    await await_database(empty_database_url, 1)
    with pytest.raises(LogUnavailable, match=r"waited 0\.1 s: Postgres did not answer"):
        await await_database("postgresql://nobody@127.0.0.1:1/none", 0.1)


async def test_a_changed_file_is_refused_and_nothing_applied(empty_database_url: str, files: Path) -> None:
    await migrate(empty_database_url, folder=files)
    (files / "0001_pre_make.sql").write_text("CREATE TABLE made (a text)")
    (files / "0003_pre_more.sql").write_text("INSERT INTO made VALUES (2)")
    for attempt in (migrate(empty_database_url, folder=files), pending(empty_database_url, folder=files)):
        with pytest.raises(MigrationRefused, match="put the file back"):
            await attempt
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 1


async def test_a_file_that_fails_leaves_nothing_behind(empty_database_url: str, files: Path) -> None:
    (files / "0002_post_fill.sql").write_text("INSERT INTO made VALUES (1); SELECT 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_database_url, folder=files)
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 0
    assert await pending(empty_database_url, folder=files) == ["0002_post_fill.sql"]


@pytest.mark.parametrize("name", ["1_pre_x.sql", "0003_mid_x.sql", "0003_pre_X.sql", "0002_pre_twice.sql"])
def test_a_name_without_number_and_phase_of_its_own_is_refused(files: Path, name: str) -> None:
    (files / name).write_text("SELECT 1")
    with pytest.raises(MigrationRefused, match=name):
        migrations(files)


async def test_a_database_that_is_away_is_unavailable() -> None:
    with pytest.raises(LogUnavailable):
        await migrate("postgresql://nobody@127.0.0.1:1/none")


async def test_a_migrator_that_is_no_superuser_can_migrate(empty_database_url: str) -> None:
    """In a cluster the application's own user migrates: it owns the database and may make roles, no more."""
    connection = await asyncpg.connect(empty_database_url)
    database = await connection.fetchval("SELECT current_database()")
    user = f"migrator_{database[-12:]}"
    await connection.execute(f"CREATE ROLE {user} LOGIN CREATEROLE PASSWORD 'p'")
    for role in ("owner", "engine", "relay", "gateway", "reader"):
        await connection.execute(
            f"DO $$ BEGIN CREATE ROLE playmolt_{role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
    await connection.execute(f"GRANT playmolt_owner TO {user}; ALTER DATABASE {database} OWNER TO {user}")
    try:
        scheme, _, rest = empty_database_url.partition("://")
        address = rest.rpartition("@")[2]
        assert await migrate(f"{scheme}://{user}:p@{address}") == ALL
    finally:
        await connection.execute(
            f"ALTER DATABASE {database} OWNER TO CURRENT_USER; REASSIGN OWNED BY {user} TO CURRENT_USER"
        )
        await connection.execute(f"DROP OWNED BY {user}; DROP ROLE {user}")
        await connection.close()


async def test_agents_of_the_release_before_get_handles(empty_database_url: str, tmp_path: Path) -> None:
    first, second = migrations()[:2]
    (tmp_path / first.name).write_text(first.sql)
    await migrate(empty_database_url, folder=tmp_path)
    for number in range(3):
        await apply(empty_database_url, f"INSERT INTO account.agent (id, name) VALUES ('agent-{number}-456789', 'Ada')")
    (tmp_path / second.name).write_text(second.sql)
    await migrate(empty_database_url, folder=tmp_path)
    await apply(empty_database_url, "INSERT INTO account.agent (id, name) VALUES ('agent-new-456780', 'Ünï')")
    told = "SELECT string_agg(handle || ' ' || folded || ' ' || kind, ', ' ORDER BY created_at, id) FROM account.agent"
    assert await value(empty_database_url, told) == (
        "ada-456789 ada bot, ada-1-456789 ada bot, ada-2-456789 ada bot, uni-456780 ünï bot"
    )


async def test_every_index_over_text_orders_by_bytes(database_url: str) -> None:
    """A library of the machine whose order changes with its version would break it."""
    names = await value(
        database_url,
        """
        SELECT string_agg(i.indexrelid::regclass::text, ', ') FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indrelid
        CROSS JOIN unnest(i.indcollation::oid[]) AS k (collation_oid)
        JOIN pg_collation AS o ON o.oid = k.collation_oid
        WHERE c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
          AND o.collname <> 'C'
        """,
    )
    assert names is None


@pytest.mark.parametrize("migration", [each for each in migrations() if each.alone], ids=lambda each: each.name)
async def test_what_is_run_statement_by_statement_may_be_run_again_from_its_first(
    empty_database_url: str, tmp_path: Path, migration: Migration
) -> None:
    for each in migrations():
        if each.name <= migration.name:
            (tmp_path / each.name).write_text(each.sql, "utf-8")
    await migrate(empty_database_url, folder=tmp_path)
    before = await catalogue(empty_database_url)
    await apply(empty_database_url, f"DELETE FROM migration.applied WHERE name = '{migration.name}'")
    assert await migrate(empty_database_url, folder=tmp_path) == [migration.name]
    assert await catalogue(empty_database_url) == before


@pytest.mark.parametrize(("function", "index"), [("joined_by", "expr"), ("opened_by", "coalesce")])
async def test_who_sits_and_who_opened_is_found_by_its_index(database_url: str, function: str, index: str) -> None:
    body = await value(database_url, f"SELECT prosrc FROM pg_proc WHERE oid = 'log.{function}'::regproc")
    asked = str(body).replace("p_agent", "'agent-a'").replace("p_actor", "'agent-a'")
    connection = await asyncpg.connect(database_url, server_settings={"enable_seqscan": "off"})
    try:
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {asked}"))
    finally:
        await connection.close()
    found = rf"using record_0_game_0_{index}_number_idx on record_0_game_0 e_\d .*\n\s+Index Cond: .* = 'agent-a'"
    assert re.search(found, plan), plan
