"""The keys of sessions in Postgres: who reaches them, and what is left of one that is erased."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playmolt_core.db.logins import Login, login_url, roles_of, settle_logins
from playmolt_core.db.pool import NotPermitted, Pool, open_pool
from playmolt_core.vault.key_file import KeyFile, drawn, read_keys, write_keys
from playmolt_core.vault.rows import KeyRow, PgKeyRows, make
from playmolt_core.vault.stream_key import StreamKey, UnsealFailed
from playmolt_core.vault.vault import Erased, Vault

LEGAL, JURY = "legal-1", "jury-1"


async def keep(pool: Pool, *rows: KeyRow) -> set[str]:
    async with pool.transaction() as connection:
        return await make(connection, rows)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


@pytest.fixture
def vault(pool: Pool, tmp_path: Path) -> Vault:
    write_keys(tmp_path / "seal-keys", [drawn(datetime.now(UTC))])
    return Vault(PgKeyRows(pool), KeyFile(tmp_path / "seal-keys"))


def new(vault: Vault, stream: str, owner: str = "agent-a") -> tuple[StreamKey, KeyRow]:
    key = vault.new(stream)
    assert key is not None
    return key, vault.row(key, owner)


async def test_a_key_is_kept_wrapped_and_found_again(vault: Vault, pool: Pool) -> None:
    key, row = new(vault, LEGAL)
    assert await keep(pool, row) == {LEGAL}
    assert await keep(pool, new(vault, LEGAL)[1], new(vault, JURY)[1]) == {JURY}, "the first one stays"
    found = await vault.key(LEGAL)
    assert found is not None
    assert found.secret == key.secret
    assert key.secret not in (await pool.value("SELECT wrapped FROM vault.key WHERE stream = $1", LEGAL))
    with pytest.raises(UnsealFailed, match="legal-2 has no key"):
        await vault.key("legal-2")
    assert await vault.key("ox-1") is None
    assert vault.new("ox-1") is None


async def test_an_erased_session_has_no_key_for_ever(vault: Vault, pool: Pool) -> None:
    await keep(pool, new(vault, LEGAL)[1])
    rows = PgKeyRows(pool)
    at = await rows.erase(LEGAL)
    assert at is not None
    assert await rows.erase(LEGAL) == at
    assert await rows.erase("legal-2") is None
    with pytest.raises(Erased):
        await vault.key(LEGAL)
    assert isinstance((await vault.keys([LEGAL, "ox-1"]))[LEGAL], Erased)
    assert await keep(pool, new(vault, LEGAL)[1]) == set(), "its row stays"
    assert await rows.needed() == {}


async def test_rows_go_under_the_newest_key(vault: Vault, pool: Pool, tmp_path: Path) -> None:
    key, row = new(vault, LEGAL)
    await keep(pool, row)
    (first,) = read_keys(tmp_path / "seal-keys")
    newest = drawn(datetime.now(UTC))
    write_keys(tmp_path / "seal-keys", [first, newest])
    rows = PgKeyRows(pool)
    (found,) = await rows.outdated(newest.id, 10)
    assert await rows.rewrap(found, newest.id, newest.wrap(key.secret))
    assert not await rows.rewrap(found, newest.id, newest.wrap(key.secret)), "it is not as it was read any more"
    assert await rows.outdated(newest.id, 10) == []
    assert await rows.needed() == {newest.id: 1}
    (again,) = await rows.read([LEGAL])
    assert vault.unwrapped(again).secret == key.secret
    write_keys(tmp_path / "seal-keys", [first])
    with pytest.raises(UnsealFailed, match=newest.id):
        await Vault(rows, KeyFile(tmp_path / "seal-keys")).key(LEGAL)


@pytest.mark.parametrize(
    ("service", "reached"),
    [
        ("legal-orchestrator", {LEGAL}), ("trial-engine", {JURY}),
        ("verifier", {LEGAL, JURY}), ("eraser", {LEGAL, JURY}),
        ("ox-engine", set()), ("agora-runner", set()), ("relay", set()), ("gateway", set()), ("reader", set()),
    ],
)  # fmt: skip
async def test_a_login_reaches_the_keys_of_its_own_types(
    vault: Vault, pool: Pool, database_url: str, service: str, reached: set[str]
) -> None:
    await keep(pool, new(vault, LEGAL)[1], new(vault, JURY)[1])
    login = Login(f"{service}-{await pool.value('SELECT current_database()')}"[-50:], "secret", roles_of(service))
    await settle_logins(database_url, [login])
    mine = await open_pool(login_url(database_url, login), role=login.roles[0])
    rows = PgKeyRows(mine)
    for stream in (LEGAL, JURY):
        if stream in reached:
            assert [row.stream for row in await rows.read([stream])] == [stream]
            assert await rows.erase(stream) is not None
        else:
            for tried in (rows.read([stream]), rows.erase(stream), keep(mine, new(vault, stream)[1])):
                with pytest.raises(NotPermitted):
                    await tried
    with pytest.raises(NotPermitted):
        await mine.fetch("SELECT wrapped FROM vault.key")
    await mine.close()
    await pool.fetch(f'DROP OWNED BY "{login.name}"')
    await pool.fetch(f'DROP ROLE "{login.name}"')
