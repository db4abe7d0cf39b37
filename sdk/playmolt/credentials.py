"""API keys stored by `play`, so that a restarted bot stays the same agent: `{SERVER: {NAME: KEY}}`."""

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
"""Environment variable with another path of the file."""
KEY_VARIABLE: Final = "PLAYMOLT_KEY"
"""Environment variable with a key that overrides the stored ones."""
_Keys = dict[str, dict[str, str]]


def credentials_file() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else user_config_path("playmolt") / "credentials.json"


class Credentials:
    """The key file. It is re-read on every access, and readable by its owner only."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def key(self, server: str, name: str) -> str:
        """The stored key for a name at a server; "" if there is none."""
        return self._read().get(server, {}).get(name, "")

    def keep(self, server: str, name: str, key: str) -> None:
        """Store a key; safe with concurrent processes."""
        with self._locked():
            keys = self._read()
            keys.setdefault(server, {})[name] = key
            self._write(keys)

    def check(self) -> None:
        """Raise CredentialsUnusable unless keys can be stored; call it before requesting a key that is shown only
        once."""
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
            raise CredentialsUnusable(self._file, "it does not contain keys") from error

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
            fcntl.flock(lock, fcntl.LOCK_EX)  # held only while writing a small file
            yield
        finally:
            os.close(lock)
