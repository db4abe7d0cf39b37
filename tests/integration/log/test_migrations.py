import asyncio
import re
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import (
    Locks,
    MigrationRefused,
    Phase,
    UnsuitableDatabase,
    await_database,
    migrate,
    migrations,
    newest_needed,
    pending,
    unsuitable,
)
from playmolt_core.db.pool import open_pool
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify

from core.tests.log.log_contract import Game, statuses, unit
from tests.integration.log.later_release import POST, PRE, later_release

ALL = [migration.name for migration in migrations()]
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


async def test_a_later_release_is_rolled_out_and_back(empty_database_url: str, tmp_path: Path) -> None:
    """Its `pre` with the code of today, the way back, its `post`; after that there is no way back."""
    later = later_release(tmp_path / "later")
    assert await migrate(empty_database_url) == ALL
    assert await pending(empty_database_url, folder=later) == PRE + POST
    assert await migrate(empty_database_url, "pre", folder=later) == PRE
    pool = await open_pool(empty_database_url, needs=newest_needed())
    await pool.migrated()
    log, game = PostgresLog(pool), Game("ox-1")
    assert statuses(await log.append([unit(game.adds(2))])) == ["appended"]
    assert await migrate(empty_database_url, "pre") == [], "the way back finds nothing to apply"
    assert statuses(await log.append([unit(game.adds(1))])) == ["appended"]
    (later / "0904_pre_more.sql").write_text("SELECT 1")
    with pytest.raises(MigrationRefused, match="is not applied: finish the rollout"):
        await migrate(empty_database_url, "pre", folder=later)
    (later / "0904_pre_more.sql").unlink()
    assert await migrate(empty_database_url, "post", folder=later) == POST
    assert await value(empty_database_url, "SELECT note FROM log.stream WHERE stream = 'ox-1'") == ""
    assert (await verify(log, {})).breaks == []
    await pool.close()
    with pytest.raises(MigrationRefused, match=r"0903_post_note\.sql .* the way back"):
        await migrate(empty_database_url, "pre")


async def test_an_upgrade_at_once_gives_the_same_schema_as_a_rollout(
    empty_database_url: str, database_url: str, tmp_path: Path
) -> None:
    later = later_release(tmp_path / "later")
    assert await migrate(empty_database_url, "pre", folder=later) == ALL + PRE + POST, "there is no old code"
    assert await migrate(database_url, "pre", folder=later) == PRE
    assert await catalogue(empty_database_url) != await catalogue(database_url)
    assert await migrate(database_url, "post", folder=later) == POST
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


async def test_a_schema_of_another_program_is_refused_and_kept(empty_database_url: str) -> None:
    await apply(empty_database_url, "CREATE SCHEMA vault; CREATE TABLE vault.theirs (a integer)")
    for attempt in (migrate, pending):
        with pytest.raises(UnsuitableDatabase, match=r"the schemas vault of this database: use an empty database"):
            await attempt(empty_database_url)
    assert await value(empty_database_url, "SELECT to_regnamespace('migration')") is None
    done = await asyncio.to_thread(CliRunner().invoke, cli, ["migrate"], env={"DATABASE_URL": empty_database_url})
    assert done.exit_code == 1
    assert "vault" in done.output


@pytest.mark.parametrize(
    ("version", "encoding", "needed"),
    [(14, "UTF8", "use Postgres 15 or newer"), (17, "SQL_ASCII", "ENCODING 'UTF8'"), (17, "LATIN1", "ENCODING 'UTF8'")],
)
def test_an_unsuitable_database_is_refused_with_what_is_needed(version: int, encoding: str, needed: str) -> None:
    assert needed in unsuitable(version, encoding, [])
    assert unsuitable(15, "UTF8", []) == ""


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("spelling_error=1", 'does not know a parameter of DATABASE_URL: .*"spelling_error".* Remove it'),
        ("sslmode=bogus", "DATABASE_URL is invalid: .*sslmode"),
        ("sslmode=verify-full&sslrootcert=/no/such.pem", "cannot read /no/such.pem, the sslrootcert of DATABASE_URL"),
    ],
)
async def test_a_parameter_that_fails_is_named(empty_database_url: str, added: str, said: str) -> None:
    with pytest.raises(LogUnavailable, match=said):
        await migrate(f"{empty_database_url}?{added}")


async def test_parameters_for_other_clients_do_no_harm(empty_database_url: str) -> None:
    url = f"{empty_database_url}?pgbouncer=true&connection_limit=1&connect_timeout=10&channel_binding=prefer"
    assert await migrate(url) == ALL
    pool = await open_pool(url)
    assert await pool.answers()
    await pool.close()


async def test_a_locked_table_is_waited_for_briefly_and_often(empty_database_url: str, files: Path) -> None:
    await migrate(empty_database_url, folder=files)
    (files / "0003_pre_alter.sql").write_text("ALTER TABLE made ADD COLUMN b integer")
    holder = await asyncpg.connect(empty_database_url)
    try:
        await holder.execute("BEGIN; LOCK TABLE made")
        with pytest.raises(
            MigrationRefused, match=r"0003_pre_alter\.sql: another session holds a lock .*tried 12 times"
        ):
            await migrate(empty_database_url, folder=files, locks=Locks(seconds=0.2, pause=0.0))
        patient = Locks(seconds=0.2, pause=0.0, tries=1000)
        waiting = asyncio.create_task(migrate(empty_database_url, folder=files, locks=patient))
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
    await await_database(empty_database_url, 60)
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


async def test_an_agent_gets_a_handle_that_nobody_else_has(database_url: str) -> None:
    for agent, name in (("0-456789", "Ada"), ("1-456789", "Ada"), ("2-456789", "Ada"), ("new-456780", "Ünï")):
        await apply(
            database_url, f"INSERT INTO account.agent (id, name, folded) VALUES ('agent-{agent}', '{name}', 'folded')"
        )
    handles = "SELECT string_agg(handle, ', ' ORDER BY created_at, id) FROM account.agent"
    assert await value(database_url, handles) == "ada-456789, ada-1-456789, ada-2-456789, uni-456780"


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


async def test_what_is_run_statement_by_statement_may_be_run_again_from_its_first(
    empty_database_url: str, tmp_path: Path
) -> None:
    later = later_release(tmp_path / "later")
    (alone,) = [each.name for each in migrations(later) if each.alone]
    await migrate(empty_database_url, folder=later)
    before = await catalogue(empty_database_url)
    await apply(empty_database_url, f"DELETE FROM migration.applied WHERE name = '{alone}'")
    assert await migrate(empty_database_url, folder=later) == [alone]
    assert await catalogue(empty_database_url) == before


@pytest.mark.parametrize(("function", "index"), [("joined_by", "hashtext"), ("opened_by", "coalesce")])
async def test_who_sits_and_who_opened_is_found_by_its_index(database_url: str, function: str, index: str) -> None:
    body = await value(database_url, f"SELECT prosrc FROM pg_proc WHERE oid = 'log.{function}'::regproc")
    asked = str(body).replace("p_agent", "'agent-a'").replace("p_actor", "'agent-a'")
    connection = await asyncpg.connect(database_url, server_settings={"enable_seqscan": "off"})
    try:
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {asked}"))
    finally:
        await connection.close()
    found = rf"using record_0_game_0_{index}_number_idx on record_0_game_0 e_\d .*\n\s+Index Cond: .* = "
    assert re.search(found, plan), plan
