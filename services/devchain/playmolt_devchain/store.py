"""The chain's database: keys and values in one SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eth.abc import AtomicWriteBatchAPI
from eth.db.backends.base import BaseAtomicDB


class StoreTaken(RuntimeError):
    """Another process holds the file."""


class Store(BaseAtomicDB):
    """Blocks, receipts and state. What a `unit` wrote is on the disk when it ends, or nothing of it is.

    One process at a time: StoreTaken otherwise. For one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self._sql = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=2)
        try:
            self._sql.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._sql.execute("PRAGMA journal_mode = WAL")
            self._sql.execute("PRAGMA synchronous = FULL")
            self._sql.execute("CREATE TABLE IF NOT EXISTS pairs (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID")
        except sqlite3.OperationalError as error:
            self._sql.close()
            raise StoreTaken(f"{path} cannot be had ({error}): does another process serve this chain?") from None

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Make everything written inside durable at the end, or nothing when it raises."""
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._sql.execute("ROLLBACK")
            raise
        self._sql.execute("COMMIT")

    @contextmanager
    def atomic_batch(self) -> Iterator[AtomicWriteBatchAPI]:
        """Part of the unit around it, so nothing of its own."""
        yield self  # type: ignore[misc]  # a batch is what takes keys and values, as this does

    def close(self) -> None:
        """Let go of the file."""
        self._sql.close()

    def __getitem__(self, key: bytes) -> bytes:
        row = self._sql.execute("SELECT v FROM pairs WHERE k = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        value: bytes = row[0]
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        if not self._sql.in_transaction:
            raise AssertionError("a write outside a unit would be half of something after a crash")
        self._sql.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?)", (key, value))

    def __delitem__(self, key: bytes) -> None:
        self._sql.execute("DELETE FROM pairs WHERE k = ?", (key,))

    def _exists(self, key: bytes) -> bool:
        return self._sql.execute("SELECT 1 FROM pairs WHERE k = ?", (key,)).fetchone() is not None
