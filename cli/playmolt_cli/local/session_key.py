"""Whose sessions a terminal works on: the key, kept in the data folder, and the gateway it is for."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec
from playmolt.client import Client
from playmolt.errors import PlayMoltError, Refused
from playmolt.retries import Retry
from playmolt_core.settings import Settings

from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import read_settings

Game = Literal["legal", "jury"]
"""Each has a key of its own, so that one is given away without the other."""
RETRY: Final = Retry(attempts=6, seconds=12.0)
"""A person waits: a server that is away is told of soon."""
_MAKERS: Final[Mapping[Game, str]] = {"legal": "playmolt legal new", "jury": "playmolt jury play"}


class KeyFile:
    """A file that holds one key, readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """The key; empty when there is none yet."""
        try:
            return self.path.read_text("utf-8").strip()
        except FileNotFoundError:
            return ""

    def write(self, key: str) -> None:
        """Keep a key; the folder is made when it is missing."""
        Folder(self.path.parent).make()
        unfinished = self.path.with_name(f".{self.path.name}-{os.getpid()}")
        unfinished.touch(0o600)
        unfinished.write_text(f"{key}\n", encoding="utf-8")
        unfinished.replace(self.path)


class SessionServer(msgspec.Struct, frozen=True):
    """Where sessions are held, the file of the key that they belong to, and the command that makes that key."""

    url: str
    key_file: KeyFile
    maker: str


def session_server(url: str | None, data: Path | None, game: Game) -> SessionServer:
    """Find the gateway, that of the `up` on the data folder unless a URL is given, and the key file for it.

    Each server has a key file of its own: another server does not know the key, and shall not be shown it.
    """
    settings = read_settings()
    folder = Path(data or settings.data)
    own = _own_url(folder, settings)
    name = f"{game}-key" if url is None or url.rstrip("/") == own else f"{game}-key-{_file_suffix(url)}"
    return SessionServer(url or own, KeyFile(folder / name), _MAKERS[game])


def _own_url(folder: Path, settings: Settings) -> str:
    run = Folder(folder).run()
    return run.gateway if run is not None else f"http://{settings.host}:{settings.port}"


def _file_suffix(url: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(url).netloc.rpartition("@")[2]).strip("-") or "unnamed"


@contextmanager
def session_client(server: SessionServer, key: str | None, *, name: str = "") -> Iterator[Client]:
    """A client with the person's key, one made now when there is none and a name to make it for."""
    kept = "" if key else server.key_file.read()
    if not (key or kept or name):
        raise Failure(f"there is no key in {server.key_file.path}: `{server.maker}` makes one, or give --key")
    try:
        with Client(server.url, key or kept, retry=RETRY) as client:
            if not client.key:
                server.key_file.write(client.register(name).api_key)
            yield client
    except Refused as refusal:
        raise Failure(_refused(refusal, server, kept)) from refusal
    except PlayMoltError as error:
        raise Failure(f"{server.url}: {error}") from error
    except ValueError as error:  # a URL without http, a text that is no Unicode
        raise Failure(str(error)) from error


def _refused(refusal: Refused, server: SessionServer, kept: str) -> str:
    # A detail lists the faults behind its first words; here each has a line of its own.
    said = refusal.detail.partition(":")[0] if refusal.errors else refusal.detail
    told = [f"{said} ({refusal.code})", *(f"  {fault.field}: {fault.message}" for fault in refusal.errors)]
    if refusal.code == "unauthorized" and kept:
        told.append(f"  the key is that of {server.key_file.path}; without the file `{server.maker}` makes another")
    return "\n".join(map(printable, told))
