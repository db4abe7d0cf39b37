"""A game's manifest: what the platform knows of a game before it loads any of it."""

from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Literal

import msgspec

Kind = Literal["game", "run", "session"]


class Reference(msgspec.Struct, frozen=True):
    """A value that is imported when somebody asks for it: `package.module:name`."""

    place: str

    def load(self) -> Any:
        """Import it. Raises ImportError and AttributeError."""
        module, _, name = self.place.partition(":")
        return getattr(import_module(module), name)


class Resource(msgspec.Struct, frozen=True):
    """A file or folder that a package carries."""

    package: str
    path: str

    def find(self) -> Traversable:
        """Raises ModuleNotFoundError when the package is not installed beside this one."""
        return files(self.package).joinpath(self.path)

    def files(self) -> Mapping[str, bytes]:
        """Name → content of what the folder holds; nothing when it or its package is not there."""
        try:
            folder = self.find()
        except ModuleNotFoundError:
            return {}
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()} if folder.is_dir() else {}


class GameModule(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest of one type. An entry point of the group `playmolt.games` names it; its module imports no more."""

    type: str
    """What stands before the first dash of an id."""
    kind: Kind
    """`game`: bots join it through a lobby. `run`: anybody may watch it, its log is the operator's. `session`: it
    belongs to who opened it; to everybody else, and to every route that is not its own, it is unknown."""
    service: str
    """The engine that serves it; engines are named by entry points of the group `playmolt.engines`."""
    messages: Reference | None = None
    """A GameMessages; a session's are its own routes'."""
    guide: Resource | None = None
    """How it is played, in Markdown, for bots and their authors."""
    watch: Resource | None = None
    """A folder with `narration.<language>.json`, which tells its events on the page and in the terminal, `watch.js`,
    which draws it, and `texts.<language>.json`, the texts of the drawing."""
    drawing: Reference | None = None
    """Draws a state as a picture: `(state, words, sheet) -> Picture` (`playmolt_gateway.pictures.scene`)."""
    archived: bool = True
    """Whether its streams may leave the log once they are over: nothing reads them any more."""
    sealed: bool = False
    """Whether what its streams hold is stored so that it can be erased: each under a key of its own."""
    place: int = 100
    """Where it stands in lists; of two in one place the type decides."""
