"""Bots in Python files: loading them, calling them, locating their errors."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from playmolt.loop import Bot, decide

DEFAULT_NAME: Final = "bot"


class BotLoadError(ValueError):
    """A file without a usable bot; the message says why."""


class PythonFile:
    """A bot in a file, by its name there. A class is instantiated for each seat."""

    def __init__(self, path: Path, name: str = DEFAULT_NAME) -> None:
        self.path = path
        self.name = name
        self._made = _loaded(path, name)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def make(self) -> Bot:
        made = self._made
        bot = made() if isinstance(made, type) else made
        if not callable(bot) and not hasattr(bot, "act"):
            raise BotLoadError(
                f"{self.path}: {self.name} is {bot!r}, not a bot; it must be callable or have act(state, actions)"
            )
        return cast("Bot", bot)

    def asking(self) -> Callable[[Any], Any]:
        """The bot as a function of a turn."""
        bot = self.make()
        return bot if callable(bot) and not hasattr(bot, "act") else lambda turn: decide(bot, turn)


def python_file(word: str, base: Path = Path()) -> PythonFile:
    """Load `FILE.py` or `FILE.py:NAME`; raises BotLoadError."""
    file, _, name = word.rpartition(":") if ":" in word else (word, "", DEFAULT_NAME)
    return PythonFile(base / f"{file.removesuffix('.py')}.py", name or DEFAULT_NAME)


def broke_at(error: BaseException, path: Path) -> str | None:
    """FILE:LINE of the innermost frame in the bot's own file, else in another file of its folder; None without one."""
    folder = path.resolve().parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _within(frame.filename, folder)]
    own = [frame for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    if not (own or frames):
        return None
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _within(file: str, folder: Path) -> bool:
    return Path(file).resolve().is_relative_to(folder)


def _loaded(path: Path, name: str) -> object:
    if not path.is_file():
        raise BotLoadError(f"{path}: no such file")
    folder = str(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"playmolt_bot_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BotLoadError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
        return getattr(module, name)
    except Exception as error:
        where = broke_at(error, path) or str(path)
        raise BotLoadError(f"{where}: {type(error).__name__}: {error}") from error
