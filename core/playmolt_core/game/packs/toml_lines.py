"""The lines of keys and tables in a TOML text, which tomllib does not provide."""

import re
import tomllib
from typing import Final

from playmolt_core.game.packs.faults import Lines, Path

_SKIP: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING: Final = re.compile(
    r"'''.*?'''(?:'{0,2})|\"\"\"(?:\\.|[^\\])*?\"\"\"(?:\"{0,2})|'[^'\n]*'|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL
)
_KEY: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[A-Za-z0-9_-]+")
_PLAIN: Final = re.compile(r"[^,\]}\n#]*")
_QUOTES: Final = "\"'"


_LINE: Final = re.compile(r"at line (\d+)")
_LONG_NUMBER: Final = re.compile(r"[0-9_]{4301,}")
"""More digits than Python reads; tomllib's error for it is none of TOML."""


def syntax_fault(text: str, error: ValueError | RecursionError) -> tuple[int, str]:
    """The line of an error of tomllib, and what is wrong there."""
    if isinstance(error, RecursionError):
        return 1, "nested too deeply; write it with fewer brackets within brackets"
    if not isinstance(error, tomllib.TOMLDecodeError) and (long := _LONG_NUMBER.search(text)):
        return text.count("\n", 0, long.start()) + 1, "a number of too many digits; shorten it"
    found = _LINE.search(str(error))
    return int(found[1]) if found else text.count("\n") + 1, str(error)


def lines_of(text: str) -> Lines:
    """`text` must be valid TOML."""
    return _Reader(text).lines


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._tables: dict[Path, int] = {}
        """The number of tables in each array of tables so far."""
        self.lines: dict[Path, int] = {}
        here: Path = ()
        while self._skip():
            if text.startswith("[[", self._at):
                here = self._header(2)
            elif text[self._at] == "[":
                here = self._header(1)
            else:
                self._pair(here)

    def _skip(self) -> bool:
        """Skip white space and comments; whether text remains."""
        found = _SKIP.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at < len(self._text)

    def _header(self, brackets: int) -> Path:
        start = self._at
        self._at += brackets
        parts = self._keys()
        self._at += brackets
        path: Path = ()
        for part in parts[:-1]:
            path = (*path, part)
            self._note(path, start)
            if path in self._tables:
                path = (*path, self._tables[path])
        name: Path = (*path, parts[-1])
        if brackets == 2:
            self._tables[name] = self._tables.get(name, -1) + 1
            self._note(name, start)
            name = (*name, self._tables[name])
        self._note(name, start)
        return name

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip()
            found = _KEY.match(self._text, self._at)
            if found is None:
                raise ValueError(f"no key at {self._at}")
            keys.append(found[0].strip(_QUOTES))
            self._at = found.end()
            self._skip()
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _pair(self, table: Path) -> None:
        start = self._at
        path: Path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._at += 1
        self._skip()
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self._text[self._at]
        if opening == "[":
            self._list(path)
        elif opening == "{":
            self._table(path)
        else:
            pattern = _STRING if opening in _QUOTES else _PLAIN
            found = pattern.match(self._text, self._at)
            self._at = found.end() if found else len(self._text)

    def _list(self, path: Path) -> None:
        self._at += 1
        place = 0
        while self._skip() and self._text[self._at] != "]":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._note((*path, place), self._at)
            self._value((*path, place))
            place += 1
        self._at += 1

    def _table(self, path: Path) -> None:
        self._at += 1
        while self._skip() and self._text[self._at] != "}":
            if self._text[self._at] == ",":
                self._at += 1
                continue
            self._pair(path)
        self._at += 1

    def _note(self, path: Path, at: int) -> None:
        self.lines.setdefault(path, self._text.count("\n", 0, at) + 1)
