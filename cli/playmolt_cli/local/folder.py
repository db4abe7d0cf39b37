"""The data folder of `up`: who uses it now, and the secrets it keeps."""

import fcntl
import json
import os
import pwd
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec
from playmolt_core.vault.key_file import drawn, write_keys
from playmolt_jury.chain import EMBEDDED_DEPLOYER_KEY

from playmolt_cli.terminal.failures import ExpectedError


class FolderInUseError(ExpectedError):
    """Another `up`, or a command that started the folder's database, holds the folder."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A running `up`, as run.json tells other commands. `processes` maps a child's name to its process id."""

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


class NatsLogin(msgspec.Struct, frozen=True):
    url: str
    user: str
    password: str


class Reader(msgspec.Struct, frozen=True):
    """What a tool of one's own logs in with, to read and nothing else, as reader.json tells it."""

    database_url: str
    nats: NatsLogin


class Folder:
    """A data folder. Nothing is made before `lock` or `make`."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).resolve()
        self._lock: IO[str] | None = None

    @property
    def postgres(self) -> Path:
        """Where the embedded Postgres keeps its cluster."""
        return self.path / "postgres"

    @property
    def chain(self) -> Path:
        """Where the embedded chain keeps its blocks."""
        return self.path / "chain"

    @property
    def nats(self) -> Path:
        """Where the embedded NATS keeps its streams."""
        return self.path / "nats"

    @property
    def operator_key_file(self) -> Path:
        """Where a generated operator key is kept."""
        return self.path / "operator-key"

    @property
    def anchors(self) -> Path:
        """Where signed heads of the log are kept."""
        return self.path / "anchors.jsonl"

    @property
    def anchor_key(self) -> Path:
        """Where the key that signs them is kept."""
        return self.path / "anchor-key.pem"

    @property
    def seal_keys(self) -> Path:
        """Where the keys are kept that the keys of sessions are wrapped by."""
        return self.path / "seal-keys"

    def log(self, name: str) -> Path:
        """Where a child's output goes."""
        return self.path / "logs" / f"{name}.log"

    def make(self) -> None:
        """Make the folder, for its owner alone: for root's `up` that is who Postgres runs as, which refuses root."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("nobody")
            os.chown(self.path, owner.pw_uid, owner.pw_gid)

    def remove(self) -> None:
        """Remove the folder with all it holds, and a cluster that had to settle elsewhere (a link leads to it)."""
        shutil.rmtree(self.postgres.resolve(), ignore_errors=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def lock(self) -> None:
        """Take the folder for this process, until it ends; raises FolderInUseError."""
        self.make()
        file = (self.path / "lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another process"
            file.close()
            raise FolderInUseError(
                f"{self.path} is in use by {holder}: stop that first, or choose another folder with --data"
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        self._lock = file

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def locked(self) -> bool:
        """Whether some process holds the folder now."""
        path = self.path / "lock"
        if not path.exists():
            return False
        with path.open("a", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def run(self) -> Run | None:
        """The running `up`; None when there is none (what a killed one left behind does not count)."""
        if not self.locked():
            return None
        try:
            return msgspec.json.decode((self.path / "run.json").read_bytes(), type=Run)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def write_run(self, run: Run) -> None:
        """Replace run.json in one step, readable by its owner alone."""
        self._write("run.json", msgspec.json.format(msgspec.json.encode(run), indent=2).decode() + "\n")

    def write_reader(self, reader: Reader) -> None:
        """Replace reader.json likewise."""
        self._write("reader.json", msgspec.json.format(msgspec.json.encode(reader), indent=2).decode() + "\n")

    def remove_run(self) -> None:
        """Say that no `up` runs any more."""
        for name in ("run.json", "reader.json"):
            (self.path / name).unlink(missing_ok=True)

    def operator_key(self) -> str:
        """The folder's operator key, made once."""
        if not self.operator_key_file.exists():
            self._write(self.operator_key_file.name, f"op_{secrets.token_urlsafe(32)}\n")
        return self.operator_key_file.read_text("utf-8").strip()

    def house_key(self) -> str:
        """The folder's key of the house, made once."""
        path = self.path / "house-key"
        if not path.exists():
            self._write(path.name, f"house_{secrets.token_urlsafe(32)}\n")
        return path.read_text("utf-8").strip()

    def draw_seal_keys(self) -> Path:
        """The folder's file of key-encryption keys, made once."""
        if not self.seal_keys.exists():
            write_keys(self.seal_keys, [drawn(datetime.now(UTC))])
        return self.seal_keys

    def chain_key(self) -> str:
        """The key that holds all money of the folder's chain, made with the chain: a chain of before has the one that
        everybody knows."""
        path = self.path / "chain-key"
        if not path.exists():
            drawn = EMBEDDED_DEPLOYER_KEY if self.chain.exists() else f"0x{secrets.token_hex(32)}"
            self._write(path.name, f"{drawn}\n")
        return path.read_text("utf-8").strip()

    def passwords(self, users: Iterable[str]) -> dict[str, str]:
        """The NATS users' passwords, made once and kept."""
        return self._passwords("nats-users.json", users)

    def database_passwords(self, logins: Iterable[str]) -> dict[str, str]:
        """The passwords of the services' logins to Postgres, made once and kept."""
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


@contextmanager
def passing_folder(prefix: str) -> Iterator[Path]:
    """A folder for an `up` that leaves nothing behind."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        Folder(folder).remove()
