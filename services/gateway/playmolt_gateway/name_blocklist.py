"""Words that names must not contain: a file of the operator, which is read again when it changes."""

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from playmolt_core.ops.telemetry import log
from playmolt_schemas.identity import search_key
from playmolt_schemas.text import without_invisible

MOST_BYTES: Final = 1 << 20
_log = log("gateway")
Words = tuple[str, ...]


class BlockedWords(msgspec.Struct, frozen=True):
    """The entries of a list: words and phrases by their first word, and entries without letters or digits."""

    phrases: Mapping[str, Sequence[Words]] = {}
    signs: tuple[str, ...] = ()

    def match(self, name: str) -> bool:
        """Whether a name contains an entry as whole words, in any case, width and composition."""
        return any(self._match(text) for text in {search_key(name), *map(search_key, without_invisible(name))})

    def _match(self, text: str) -> bool:
        words = _words(text)
        return any(sign in text for sign in self.signs) or any(
            words[at : at + len(phrase)] == phrase
            for at, word in enumerate(words)
            for phrase in self.phrases.get(word, ())
        )


def _words(text: str) -> Words:
    """The runs of letters, marks and digits."""
    parts = (char if unicodedata.category(char)[0] in "LMN" else " " for char in text)
    return tuple("".join(parts).split())


def _entries(text: str) -> Iterator[str]:
    for line in text.splitlines():
        entry = line.strip()
        if entry and not entry.startswith("#"):
            yield search_key(without_invisible(entry)[0] or entry)


def read_words(file: Path) -> BlockedWords:
    """Read a list: an entry a line, in UTF-8; `#` begins a comment. Raises ValueError that says what is wrong."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 (byte {error.start})") from error
    if len(data) > MOST_BYTES or "\x00" in text:
        fault = f"is larger than {MOST_BYTES} bytes" if len(data) > MOST_BYTES else "contains NUL"
        raise ValueError(f"{file} {fault}: it must be a text with a word a line")
    phrases: dict[str, list[Words]] = {}
    signs = []
    for entry in _entries(text):
        if words := _words(entry):
            phrases.setdefault(words[0], []).append(words)
        else:
            signs.append(entry)
    return BlockedWords(phrases, tuple(signs))


class NameBlocklist:
    """The list in a file, "" for none. While the file cannot be read, the last good list applies."""

    def __init__(self, file: str) -> None:
        self._file = Path(file) if file else None
        self._words = BlockedWords()
        self._seen: tuple[int, ...] | None = None

    def blocks(self, name: str) -> bool:
        """Whether a name contains a listed word."""
        if self._file is None:
            return False
        now = _look(self._file)
        if now != self._seen:
            self._seen = now
            try:
                self._words = read_words(self._file)
            except ValueError as error:
                _log.warning("name_blocklist_kept", detail=str(error)[:300])
        return self._words.match(name)


def _look(file: Path) -> tuple[int, ...]:
    """What changes with a file's content; empty for a file that cannot be seen."""
    try:
        found = os.stat(file)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
