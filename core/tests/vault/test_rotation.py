"""Changes of the file of keys: several at once, and with a clock that steps back."""

import asyncio
import resource
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from playmolt_core.vault import rotation
from playmolt_core.vault.key_file import KeyEncryptionKey, KeyFile, drawn, read_keys, write_keys
from playmolt_core.vault.rows import PgKeyRows

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DAY = timedelta(days=1)
AT_ONCE = 8


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_keys(tmp_path / "seal-keys", [drawn(NOW)])
    return tmp_path / "seal-keys"


class Rows:
    """Sessions' keys, of which one is wrapped by an old key while that is dropped; somebody adds a key meanwhile."""

    def __init__(self, path: Path, pool: ThreadPoolExecutor) -> None:
        self.path = path
        self.pool = pool
        self.adding: Future[KeyEncryptionKey] | None = None

    async def needed(self) -> Mapping[str, int]:
        if self.adding is None:
            self.adding = self.pool.submit(rotation.add, self.path, NOW + 50 * DAY)
            return {}
        return {key.id: 1 for key in read_keys(self.path)} | {self.oldest: 1}

    oldest = ""


def test_no_key_is_lost_when_several_are_added_at_once(path: Path) -> None:
    """Seen: two of six keys were not in the file, although `seal add` had printed them."""
    before = read_keys(path)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        added = list(pool.map(lambda at: rotation.add(path, NOW + at * DAY), range(1, AT_ONCE + 1)))
    assert {key.id for key in read_keys(path)} == {key.id for key in (*before, *added)}


def test_a_key_that_is_added_while_others_are_dropped_stays(path: Path) -> None:
    (oldest,) = read_keys(path)
    newer = rotation.add(path, NOW + DAY)
    with ThreadPoolExecutor(1) as pool:
        rows = Rows(path, pool)
        rows.oldest = oldest.id
        with pytest.raises(rotation.KeyNeeded, match=oldest.id):
            asyncio.run(rotation.drop(cast("PgKeyRows", rows), path, DAY, NOW + 40 * DAY, pause=0.1))
        assert rows.adding
        added = rows.adding.result()
    assert [key.id for key in read_keys(path)] == [added.id, newer.id, oldest.id]


def test_a_new_key_is_the_newest_after_the_clock_has_stepped_back(path: Path) -> None:
    """Seen: the added key wrapped nothing, because the one from the future stayed the newest."""
    rotation.add(path, NOW + 700 * DAY)
    added = rotation.add(path, NOW)
    assert KeyFile(path).newest() == added
    assert len(read_keys(path)) == 3


def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_but_the_lock_beside_it(path: Path) -> None:
    whole, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            rotation.add(path, NOW + DAY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    found = {each.name for each in path.parent.iterdir()}
    assert (path.read_bytes(), found) == (whole, {path.name, ".changing"})
