import asyncio
from pathlib import Path

import asyncpg
import pytest
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.migrate import MigrationRefused, migrate, migrations, pending

ALL = [migration.name for migration in migrations()]


async def value(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
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


async def test_phases_are_applied_apart(empty_database_url: str, files: Path) -> None:
    assert await migrate(empty_database_url, "pre", folder=files) == ["0001_pre_make.sql"]
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 0
    assert await migrate(empty_database_url, "pre", folder=files) == []
    assert await migrate(empty_database_url, "post", folder=files) == ["0002_post_fill.sql"]
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 1


async def test_post_waits_for_its_pre(empty_database_url: str, files: Path) -> None:
    with pytest.raises(MigrationRefused, match=r"make.* is not applied"):
        await migrate(empty_database_url, "post", folder=files)


async def test_a_changed_file_is_refused_and_nothing_applied(empty_database_url: str, files: Path) -> None:
    await migrate(empty_database_url, "pre", folder=files)
    (files / "0001_pre_make.sql").write_text("CREATE TABLE made (a text)")
    for attempt in (migrate(empty_database_url, folder=files), pending(empty_database_url, folder=files)):
        with pytest.raises(MigrationRefused, match="put the file back"):
            await attempt
    assert await value(empty_database_url, "SELECT count(*) FROM made") == 0


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
