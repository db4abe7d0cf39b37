"""The chain's key-value store in one SQLite file."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eth.abc import AtomicWriteBatchAPI
from eth.db.backends.base import BaseAtomicDB


class StoreTaken(RuntimeError):
    """Another process has the file open."""


class Store(BaseAtomicDB):
    """Blocks, receipts and state. A `unit` is atomic and durable.

    Raises StoreTaken if another process has the file open. Not thread-safe.
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
            raise StoreTaken(f"cannot open {path} ({error}): does another process serve this chain?") from None

    @contextmanager
    def unit(self) -> Iterator[None]:
        """A transaction: commits at the end, rolls back on an exception."""
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._sql.execute("ROLLBACK")
            raise
        self._sql.execute("COMMIT")

    @contextmanager
    def atomic_batch(self) -> Iterator[AtomicWriteBatchAPI]:
        """Joins the surrounding unit."""
        yield self  # type: ignore[misc]  # a batch is what takes keys and values, as this does

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def __getitem__(self, key: bytes) -> bytes:
        row = self._sql.execute("SELECT v FROM pairs WHERE k = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        value: bytes = row[0]
        return value

    def __setitem__(self, key: bytes, value: bytes) -> None:
        if not self._sql.in_transaction:
            raise AssertionError("a write outside a unit is not atomic")
        self._sql.execute("INSERT OR REPLACE INTO pairs VALUES (?, ?)", (key, value))

    def __delitem__(self, key: bytes) -> None:
        self._sql.execute("DELETE FROM pairs WHERE k = ?", (key,))

    def _exists(self, key: bytes) -> bool:
        return self._sql.execute("SELECT 1 FROM pairs WHERE k = ?", (key,)).fetchone() is not None
