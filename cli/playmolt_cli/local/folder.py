"""The data folder of `up`: its lock, its files and its secrets."""

import fcntl
import json
import os
import pwd
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

import msgspec
from playmolt_core.ops.folder_lock import locked
from playmolt_core.vault.key_file import drawn, write_keys
from playmolt_schemas.identifiers import ENGINES

from playmolt_cli.terminal.failures import ExpectedError

_LOOK_SECONDS: Final = 1.0
"""How long `lock` waits for others that look whether the folder is locked; each of them holds the lock for a moment."""


class FolderInUseError(ExpectedError):
    """Another `up`, or a command that started the folder's database, holds the folder."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running `up`, stored in run.json for other commands. `processes` maps a child's name to its process id."""

    pid: int
    ready: bool
    gateway: str
    spectator: str
    database_url: str
    nats_url: str
    nats_user: str
    nats_password: str
    operator_key: str
    processes: dict[str, int]
    health: dict[str, str]
    """Child → URL of its /readyz."""

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that it started: one, if a command started it for itself."""
        return tuple(engine for engine in ENGINES if f"{engine}-1" in self.health)


class NatsLogin(msgspec.Struct, frozen=True):
    url: str
    user: str
    password: str


class Reader(msgspec.Struct, frozen=True):
    """Read-only logins for your own tools, stored in reader.json."""

    database_url: str
    nats: NatsLogin


class Folder:
    """A data folder. It is created by `lock` or `make`, not before."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).resolve()
        self._lock: IO[str] | None = None

    @property
    def postgres(self) -> Path:
        """Cluster of the embedded Postgres."""
        return self.path / "postgres"

    @property
    def chain(self) -> Path:
        """Blocks of the embedded chain."""
        return self.path / "chain"

    @property
    def nats(self) -> Path:
        """Streams of the embedded NATS."""
        return self.path / "nats"

    @property
    def operator_key_file(self) -> Path:
        """File of the generated operator key."""
        return self.path / "operator-key"

    @property
    def pictures(self) -> Path:
        """Pictures and replays of finished games."""
        return self.path / "pictures"

    @property
    def anchors(self) -> Path:
        """File of the log's anchors."""
        return self.path / "anchors.jsonl"

    @property
    def anchor_key(self) -> Path:
        """File of the key that signs anchors."""
        return self.path / "anchor-key.pem"

    @property
    def seal_keys(self) -> Path:
        """File of the keys that wrap session keys."""
        return self.path / "seal-keys"

    def log(self, name: str) -> Path:
        """Log file of a child."""
        return self.path / "logs" / f"{name}.log"

    def scratch(self) -> Path:
        """An empty folder for temporary files; those of a process that was killed are removed."""
        path = self.path / "scratch"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        return path

    def make(self) -> None:
        """Create the folder, accessible to its owner only. Postgres refuses root, so root's folder belongs to
        `nobody`."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("nobody")
            os.chown(self.path, owner.pw_uid, owner.pw_gid)

    def remove(self) -> None:
        """Remove the folder and its contents, including a cluster in another place that it links to."""
        shutil.rmtree(self.postgres.resolve(), ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def lock(self) -> None:
        """Lock the folder until `unlock` or the end of this process; raises FolderInUseError."""
        self.make()
        file = (self.path / "lock").open("a+", encoding="utf-8")
        until = time.monotonic() + _LOOK_SECONDS
        while not (locked := _try_lock(file, fcntl.LOCK_EX)) and time.monotonic() < until:
            time.sleep(0.01)
        if not locked:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise FolderInUseError(
                f"{self.path} is in use by {holder}. Stop it first, or choose another folder with --data."
            )
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def locked(self) -> bool:
        """Whether a process has locked the folder."""
        path = self.path / "lock"
        if not path.exists():
            return False
        with path.open("a", encoding="utf-8") as file:
            return not _try_lock(file, fcntl.LOCK_SH)

    def run(self) -> Run | None:
        """The running `up`, or None. A run.json left by a killed `up` does not count."""
        if not self.locked():
            return None
        try:
            return msgspec.json.decode((self.path / "run.json").read_bytes(), type=Run)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def write_run(self, run: Run) -> None:
        """Replace run.json atomically, readable by its owner only."""
        self._write("run.json", msgspec.json.format(msgspec.json.encode(run), indent=2).decode() + "\n")

    def write_reader(self, reader: Reader) -> None:
        """Replace reader.json atomically, readable by its owner only."""
        self._write("reader.json", msgspec.json.format(msgspec.json.encode(reader), indent=2).decode() + "\n")

    def remove_run(self) -> None:
        """Remove run.json and reader.json."""
        for name in ("run.json", "reader.json"):
            (self.path / name).unlink(missing_ok=True)

    def operator_key(self) -> str:
        """The folder's operator key, generated on first use."""
        if not self.operator_key_file.exists():
            self._write(self.operator_key_file.name, f"op_{secrets.token_urlsafe(32)}\n")
        return self.operator_key_file.read_text("utf-8").strip()

    def house_key(self) -> str:
        """The folder's house key, generated on first use."""
        path = self.path / "house-key"
        if not path.exists():
            self._write(path.name, f"house_{secrets.token_urlsafe(32)}\n")
        return path.read_text("utf-8").strip()

    def draw_seal_keys(self) -> Path:
        """The folder's file of key-encryption keys, generated on first use."""
        with locked(self.path):
            if not self.seal_keys.exists():
                write_keys(self.seal_keys, [drawn(datetime.now(UTC))])
        return self.seal_keys

    def chain_key(self) -> str:
        """The key that holds all money of the folder's chain, generated on first use."""
        path = self.path / "chain-key"
        if not path.exists():
            self._write(path.name, f"0x{secrets.token_hex(32)}\n")
        return path.read_text("utf-8").strip()

    def passwords(self, users: Iterable[str]) -> dict[str, str]:
        """Passwords of the NATS users, generated on first use."""
        return self._passwords("nats-users.json", users)

    def database_passwords(self, logins: Iterable[str]) -> dict[str, str]:
        """Passwords of the services' Postgres logins, generated on first use."""
        return self._passwords("database-logins.json", logins)

    def _passwords(self, name: str, users: Iterable[str]) -> dict[str, str]:
        path = self.path / name
        kept: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        wanted = {user: kept.get(user) or secrets.token_urlsafe(24) for user in users}
        if wanted != kept:
            self._write(path.name, json.dumps(wanted, indent=2) + "\n")
        return wanted

    def _write(self, name: str, text: str) -> None:
        unfinished = self.path / f".{name}"
        unfinished.unlink(missing_ok=True)
        unfinished.touch(0o600)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path / name)


def _try_lock(file: IO[str], kind: int) -> bool:
    """Lock a file until it is closed; False if another process holds a lock that excludes this kind."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def passing_folder(prefix: str) -> Iterator[Path]:
    """A temporary data folder, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        Folder(folder).remove()
