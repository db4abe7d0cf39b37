"""The manifest of a game: what the platform needs to know before it loads the game."""

from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

import msgspec

Kind = Literal["game", "run", "session", "tournament"]


class Reference(msgspec.Struct, frozen=True):
    """A value that is imported on demand: `package.module:name`."""

    place: str

    def load(self) -> Any:
        """Import the value. Raises ImportError and AttributeError."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


class PackagedFile(msgspec.Struct, frozen=True):
    """A file or folder inside a package."""

    package: str
    path: str

    def find(self) -> Traversable:
        """Raises ModuleNotFoundError if the package is not installed."""
        return files(self.package).joinpath(self.path)

    def files(self) -> Mapping[str, bytes]:
        """Name → content of the files in the folder; empty if the folder or its package does not exist."""
        try:
            folder = self.find()
        except ModuleNotFoundError:
            return {}
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} if folder.is_dir() else {}


class GameModule(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of a type, an entry point of the group `playmolt.games`. Its module imports nothing else."""

    type: str
    """The part of an id before the first dash."""
    kind: Kind
    """`game`: bots join it through a lobby. `run`: anyone may watch it; only the operator reads its log. `session`:
    visible to its owner, only through its own routes, and to the operator. `tournament`: anyone may watch it; its own
    routes change it, and it seats games."""
    service: str
    """The engine that serves the type; engines are declared as entry points of the group `playmolt.engines`."""
    seats: int = 0
    """The seats of a game; 0 for other kinds."""
    roles: tuple[str, ...] = ()
    """The role of each seat, which a tournament may give to them in any order; empty: all seats are equal."""
    messages: Reference | None = None
    """A GameMessages; None for sessions, whose routes declare their messages."""
    guide: PackagedFile | None = None
    """The guide for bots and their authors, in Markdown."""
    watch: PackagedFile | None = None
    """A folder with `narration.<language>.json` (texts for its events on pages and in the terminal), `watch.js` (which
    draws it) and `texts.<language>.json` (texts of the drawing)."""
    drawing: Reference | None = None
    """Draws a state as a picture: `(state, words, sheet) -> Picture` (`playmolt_gateway.pictures.scene`)."""
    archived: bool = True
    """Whether finished streams may be archived, because nothing reads them anymore."""
    sealed: bool = False
    """Whether each stream is encrypted with its own key, so that it can be erased."""
    place: int = 100
    """Sort key in lists, before the type."""
