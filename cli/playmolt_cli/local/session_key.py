"""The API key of a terminal's sessions, stored in the data folder, and the gateway it belongs to."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec
from playmolt.client import Client
from playmolt.errors import PlayMoltError, Refused, Unavailable
from playmolt.retries import Retry
from playmolt_core.ops.folder_lock import locked
from playmolt_core.settings import Settings

from playmolt_cli.local.folder import Folder
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.options import read_settings

Game = Literal["legal", "jury"]
"""Each has a separate key, so that you can share one without the other."""
RETRY: Final = Retry(attempts=6, seconds=12.0)
"""Short, because a person is waiting for an unavailable server to be reported."""
_MAKERS: Final[Mapping[Game, str]] = {"legal": "playmolt legal new", "jury": "playmolt jury play"}


class KeyFile:
    """A file with one key, readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """The key; empty if there is none."""
        try:
            return self.path.read_text("utf-8").strip()
        except FileNotFoundError:
            return ""

    def write(self, key: str) -> None:
        """Store a key; creates the folder if needed."""
        Folder(self.path.parent).make()
        unfinished = self.path.with_name(f".{self.path.name}-{os.getpid()}")
        unfinished.touch(0o600)
        unfinished.write_text(f"{key}\n", encoding="utf-8")
        unfinished.replace(self.path)


class SessionServer(msgspec.Struct, frozen=True):
    """The gateway, the file of the key that owns the sessions, and the command that creates that key."""

    url: str
    key_file: KeyFile
    maker: str


def session_server(url: str | None, data: Path | None, game: Game) -> SessionServer:
    """The gateway (`url`, else that of the `up` on the data folder) and its key file.

    Each server has its own key file: a key must not be sent to another server.
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
def session_client(
    server: SessionServer, key: str | None, *, visits: bool = False, invite_code: str | None = None
) -> Iterator[Client]:
    """A client with the user's key. With `visits` and without a stored key it gets a visitor's token and stores it."""
    stored = "" if key else server.key_file.read()
    if not (key or stored or visits):
        raise Failure(f"No key in {server.key_file.path}. Create one with `{server.maker}`, or use --key.")
    try:
        with Client(server.url, key or stored or _visitor_key(server, invite_code), retry=RETRY) as client:
            yield client
    except Refused as refusal:
        raise Failure(_refused(refusal, server, stored)) from refusal
    except Unavailable as error:
        raise Failure(
            f"{server.url} is unavailable. Start it with `playmolt up`, or choose another gateway with --url. ({error})"
        ) from error
    except PlayMoltError as error:
        raise Failure(f"{server.url}: {error}") from error
    except ValueError as error:  # a URL without http, or text that is not valid Unicode
        raise Failure(str(error)) from error


def _visitor_key(server: SessionServer, invite_code: str | None) -> str:
    """The token of a new visitor, stored; or that which another command has stored meanwhile."""
    file = server.key_file
    Folder(file.path.parent).make()
    with locked(file.path.parent):
        if stored := file.read():
            return stored
        with Client(server.url, "", retry=RETRY) as client:
            token = client.visit(invite_code).token
        file.write(token)
        return token


def _refused(refusal: Refused, server: SessionServer, stored: str) -> str:
    # `detail` repeats the field errors after a colon; here each gets its own line.
    summary = refusal.detail.partition(":")[0] if refusal.errors else refusal.detail
    lines = [f"{summary} ({refusal.code})", *(f"  {fault.field}: {fault.message}" for fault in refusal.errors)]
    if refusal.code == "unauthorized" and stored:
        lines.append(
            f"  The key comes from {server.key_file.path}. Delete that file and `{server.maker}` creates another."
        )
    return "\n".join(map(printable, lines))
