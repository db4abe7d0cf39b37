"""Whose sessions a terminal works on: the key, kept in the data folder, and the gateway it is for."""

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from playmolt_core.settings import Settings

from playmolt_cli.folder import Folder
from playmolt_cli.options import read_settings


class KeyFile:
    """A file that holds one key, readable by its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> str:
        """Give the key; empty when there is none yet."""
        try:
            return self.path.read_text().strip()
        except FileNotFoundError:
            return ""

    def write(self, key: str) -> None:
        """Keep a key; the folder is made when it is missing."""
        Folder(self.path.parent).make()
        unfinished = self.path.with_name(f".{self.path.name}-{os.getpid()}")
        unfinished.touch(0o600)
        unfinished.write_text(f"{key}\n")
        unfinished.replace(self.path)


class Desk(msgspec.Struct, frozen=True):
    """Where sessions are held, and the file of the key that they belong to."""

    url: str
    key_file: KeyFile


def desk(url: str | None, data: Path | None) -> Desk:
    """Find the gateway, that of the `up` on the data folder unless a URL is given, and the key file for it.

    Each server has a key file of its own: another server does not know the key, and shall not be shown it.
    """
    settings = read_settings()
    folder = Path(data or settings.data)
    own = _own_url(folder, settings)
    name = "legal-key" if url is None or url.rstrip("/") == own else f"legal-key-{_place(url)}"
    return Desk(url or own, KeyFile(folder / name))


def _own_url(folder: Path, settings: Settings) -> str:
    run = Folder(folder).run()
    return run.gateway if run is not None else f"http://{settings.host}:{settings.port}"


def _place(url: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", urlsplit(url).netloc.rpartition("@")[2]).strip("-") or "unnamed"
