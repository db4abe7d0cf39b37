"""Key-encryption keys are replaced, and no session loses its own on the way."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.vault import rotation, rows
from playmolt_core.vault.key_file import KeyFile, drawn, read_keys, write_keys
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.stream_key import UnsealFailed
from playmolt_core.vault.vault import Vault

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url)
    yield pool
    await pool.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rotation.add(tmp_path / "seal-keys", BEGAN)
    return tmp_path / "seal-keys"


async def opened(pool: Pool, path: Path, stream: str) -> bytes:
    vault = Vault(PgKeyRows(pool), KeyFile(path))
    key = vault.new(stream)
    assert key is not None
    async with pool.transaction() as connection:
        await rows.make(connection, [vault.row(key, "agent-a")])
    return key.secret


async def test_all_sessions_go_under_the_new_key_and_the_old_one_leaves(pool: Pool, path: Path) -> None:
    secrets = {f"legal-{number}": await opened(pool, path, f"legal-{number}") for number in range(3)}
    kept = PgKeyRows(pool)
    await kept.erase("legal-2")
    old, new = read_keys(path)[0], rotation.add(path, BEGAN + DAY)
    with pytest.raises(rotation.KeyNeeded, match=f"2 by {old.id}"):
        await rotation.drop(kept, path, 35 * DAY, BEGAN + 37 * DAY, pause=0)
    assert await rotation.rewrap(kept, path) == 2
    assert await rotation.rewrap(kept, path) == 0
    assert await rotation.drop(kept, path, 35 * DAY, BEGAN + 36 * DAY, pause=0) == (), "backups of these days need it"
    assert await rotation.drop(kept, path, 35 * DAY, BEGAN + 37 * DAY, pause=0) == [old.id]
    assert [key.id for key in read_keys(path)] == [new.id]
    vault = Vault(kept, KeyFile(path))
    for stream in ("legal-0", "legal-1"):
        key = await vault.key(stream)
        assert key is not None
        assert key.secret == secrets[stream]


async def test_what_was_erased_opens_with_no_key_that_is_left(pool: Pool, path: Path) -> None:
    """A row as a backup has it, of before the erasure: it is of use as long as its key is in the file."""
    await opened(pool, path, "legal-1")
    kept = PgKeyRows(pool)
    (backup,) = await kept.read(["legal-1"])
    await kept.erase("legal-1")
    rotation.add(path, BEGAN + DAY)
    assert Vault(kept, KeyFile(path)).unwrapped(backup)
    await rotation.drop(kept, path, timedelta(0), BEGAN + 2 * DAY, pause=0)
    with pytest.raises(UnsealFailed):
        Vault(kept, KeyFile(path)).unwrapped(backup)


class LateRows(PgKeyRows):
    """A session with this key appears once it was looked for."""

    def __init__(self, pool: Pool, kek: str) -> None:
        super().__init__(pool)
        self._kek = kek
        self._asked = 0

    async def needed(self) -> dict[str, int]:
        self._asked += 1
        return {self._kek: 1} if self._asked > 1 else {}


async def test_a_session_that_was_being_opened_keeps_its_key(pool: Pool, path: Path) -> None:
    kept = LateRows(pool, read_keys(path)[0].id)
    rotation.add(path, BEGAN + DAY)
    whole = read_keys(path)
    with pytest.raises(rotation.KeyNeeded):
        await rotation.drop(kept, path, timedelta(0), BEGAN + 2 * DAY, pause=0)
    assert read_keys(path) == whole


async def test_a_row_that_no_key_opens_is_named_and_left(pool: Pool, path: Path) -> None:
    await opened(pool, path, "legal-1")
    write_keys(path, [drawn(BEGAN + DAY)])
    kept = PgKeyRows(pool)
    before = await kept.read(["legal-1"])
    with pytest.raises(UnsealFailed, match="legal-1"):
        await rotation.rewrap(kept, path)
    assert await kept.read(["legal-1"]) == before


def test_a_key_is_added_when_the_newest_is_old(path: Path, tmp_path: Path) -> None:
    assert rotation.renew(path, 7 * DAY, BEGAN + 7 * DAY) is None
    assert rotation.renew(path, 7 * DAY, BEGAN + 8 * DAY) == read_keys(path)[0]
    assert rotation.renew(tmp_path / "none", 7 * DAY, BEGAN) is not None
    write_keys(path, read_keys(path)[:1])
    assert len(read_keys(path)) == 1
