"""The keys that `play` keeps, so that a bot that is started again is the same agent: `{SERVER: {NAME: KEY}}`."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from platformdirs import user_config_path

from playmolt.errors import CredentialsUnusable

VARIABLE: Final = "PLAYMOLT_CREDENTIALS"
"""Names another file."""
KEY_VARIABLE: Final = "PLAYMOLT_KEY"
"""A key that goes before every kept one."""
_Keys = dict[str, dict[str, str]]


def credentials_file() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_config_path("playmolt") / "credentials.json"


class Credentials:
    """The file, read anew at each look and readable by its owner alone."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def key(self, server: str, name: str) -> str:
        """The key kept for a name at a server; "" when there is none."""
        return self._read().get(server, {}).get(name, "")

    def keep(self, server: str, name: str, key: str) -> None:
        """Keep a key, whatever other processes keep at the same time."""
        with self._locked():
            keys = self._read()
            keys.setdefault(server, {})[name] = key
            self._write(keys)

    def check(self) -> None:
        """Raise CredentialsUnusable unless a key can be kept: before one is asked for that is shown once."""
        with self._locked():
            self._read()

    def _read(self) -> _Keys:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=_Keys)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise CredentialsUnusable(self._file, str(error.strerror)) from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CredentialsUnusable(self._file, "it holds something else than keys") from error

    def _write(self, keys: _Keys) -> None:
        handle, made = tempfile.mkstemp(dir=self._file.parent, prefix=f".{self._file.name}.")  # mode 600
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(keys)))
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._file.with_name(f"{self._file.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            raise CredentialsUnusable(self._file, str(error.strerror)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held for the writing of a small file
            yield
        finally:
            os.close(lock)
