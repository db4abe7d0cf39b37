"""The files of a plan's folder as texts, from a request, a lock or a disk."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import msgspec
from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.plan import Folder, FolderFile
from playmolt_schemas.stored.agora.turn import Language
from playmolt_schemas.text import unstorable

T = TypeVar("T")
FILE_BYTES: Final = 60 * 1024
FILES_MOST: Final = 100
TITLE_CHARS: Final = 60
FOLDER_BYTES: Final = 2 * 1024 * 1024
_PLACES: Final = re.compile(
    r"(worlds|personas|events)/[a-z][a-z0-9_]{0,31}\.toml|texts/[a-z][a-z0-9_]{0,31}\.(md|txt)|texts/symmetry\.toml"
    r"|measures/[a-z][a-z0-9_]{0,31}\.py|baselines/[a-z][a-z0-9_]{0,31}\.csv"
)
FOLDERS: Final = ("worlds", "personas", "texts", "events", "measures", "baselines")
_MARKED: Final = "baselines/"
"""Where files may begin with a byte order mark, as sheets write them."""


class Pair(msgspec.Struct, frozen=True):
    """The two texts of one place: a file and a field in it, or two files."""

    path: str
    field: str
    ko: str
    en: str
    line: int | None = None


class Source:
    """Files by their path in the folder: each is a text, or the fault for which it cannot be read."""

    def __init__(self, files: Mapping[str, str | PlanFault]) -> None:
        self._files = files
        self.used: dict[str, str] = {}
        """What was read of it."""
        self.faults: list[PlanFault] = []
        self.pairs: list[Pair] = []
        """The texts that are to be alike in both languages."""

    def names(self) -> frozenset[str]:
        return frozenset(self._files)

    def read(self, path: str) -> str | None:
        """A file's text; None where there is none to use, and then a fault says why, once."""
        if path not in self.used:
            text = self._text(path)
            if isinstance(text, PlanFault):
                self.faults += [] if text in self.faults else [text]
                return None
            self.used[path] = text
        return self.used[path]

    def report(self, at: "KeyLines", field: str, message: str, code: FaultCode = "out_of_range") -> None:
        self.faults.append(at.fault(field, message, code))

    def _text(self, path: str) -> str | PlanFault:
        found = self._files.get(path)
        if found is None:
            return fault(path, "does not exist in the plan's folder", "missing_file")
        return checked(path, found.encode("utf-8", "surrogatepass")) if isinstance(found, str) else found


def checked(path: str, body: bytes) -> str | PlanFault:
    """The text of a file's bytes, or why it is none that a plan may hold."""
    if not _PLACES.fullmatch(path):
        return fault(path, "is not a valid file name in a plan's folder", "missing_file")
    if len(body) > FILE_BYTES:
        return too_large(path, len(body))
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return fault(path, "is not UTF-8 text", "not_text")
    if text.startswith("\ufeff") and not path.startswith(_MARKED):
        return fault(path, "begins with a byte order mark", "not_text")
    return fault(path, "contains NUL or a lone surrogate", "not_text") if unstorable(text) else text


def too_large(path: str, size: int) -> PlanFault:
    return fault(path, f"has {size:,} bytes; a file has at most {FILE_BYTES:,}", "file_too_large")


def of_whole(texts: Mapping[str, str]) -> list[PlanFault]:
    """The faults of all files together."""
    size = sum(len(text.encode()) for text in texts.values())
    faults = []
    if len(texts) > FILES_MOST:
        faults.append(
            PlanFault("", f"the folder holds {len(texts)} files; the limit is {FILES_MOST}", code="too_many_files")
        )
    if size > FOLDER_BYTES:
        message = f"the folder has {size:,} bytes; the limit is {FOLDER_BYTES:,}"
        faults.append(PlanFault("", message, code="file_too_large"))
    return faults


def locked(texts: Mapping[str, str]) -> Folder:
    """What the lock says of the files that a plan uses."""
    files = tuple(
        FolderFile(path=path, bytes=len(text.encode()), sha256=sha256(text)) for path, text in sorted(texts.items())
    )
    return Folder(hash=digest(files), files=files)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def fault(path: str, message: str, code: FaultCode) -> PlanFault:
    return PlanFault("", message, code=code, file=path)


def twice(field: str, values: Iterable[str]) -> Iterator[PlanFault]:
    """A fault for each value that a list of the plan names more than once."""
    for value, count in Counter(values).items():
        if count > 1:
            yield PlanFault(field, f"names {value} {count} times")


Places: TypeAlias = Mapping[str, Sequence[int]]
"""List of the plan → the places in the text of its entries, if some of them do not read."""
ALL_READ: Final[Places] = {}


def placed(name: str, entries: Sequence[T], places: Places = ALL_READ) -> list[tuple[str, T]]:
    """Each entry of a list of the plan with its place in the text."""
    numbers = places.get(name, range(len(entries)))
    return [(f"{name}[{number}]", entry) for number, entry in zip(numbers, entries, strict=True)]


class FaultyParts:
    """The fields of a plan, or the keys of a file, with a fault: what rests on one of them cannot be worked out."""

    def __init__(self, fields: Iterable[str]) -> None:
        self.fields = set(fields)

    def any(self, *parts: str) -> bool:
        """Whether one of these parts, something in it or what it is in is at fault."""
        return any(not field or _within(part, field) or self.inside(part) for field in self.fields for part in parts)

    def inside(self, part: str) -> bool:
        """Whether a part or something in it is at fault."""
        return any(_within(field, part) for field in self.fields)


def _within(field: str, part: str) -> bool:
    return field == part or field.startswith((f"{part}.", f"{part}["))


class KeyLines(msgspec.Struct, frozen=True):
    """The lines of a file's keys, for faults. `base` is the file whose keys hold where this one does not set them."""

    path: str
    lines: Mapping[str, int]
    base: "KeyLines | None" = None

    def fault(self, field: str, message: str, code: FaultCode = "out_of_range") -> PlanFault:
        at = self.of(field)
        return PlanFault(field, message, code=code, file=at.path, line=at.line(field))

    def text_faults(
        self, field: str, texts: Mapping[Language, str], *, needed: bool = True, most: int | None = None
    ) -> Iterator[PlanFault]:
        """The faults of a text in the languages of the plan: one without characters if it is `needed`, one too long."""
        for language, text in texts.items():
            place = f"{field}.{language}".removeprefix(".")
            if needed and not text.strip():
                yield self.fault(place, f"has no text in {language}, a language of the plan", "missing_text")
            if most is not None and len(text) > most:
                yield self.fault(place, f"has more than {most} characters")

    def pair(self, field: str, ko: str, en: str) -> Pair:
        at = self.of(field)
        return Pair(at.path, field, ko, en, at.line(field))

    def of(self, field: str) -> "KeyLines":
        """The file that says most of a key; this one before those that it begins with."""
        base = None if self.base is None else self.base.of(field)
        return base if base is not None and len(base.nearest(field)) > len(self.nearest(field)) else self

    def line(self, field: str) -> int | None:
        """The line of a key in this file, or of its nearest parent."""
        return self.lines.get(self.nearest(field))

    def nearest(self, field: str) -> str:
        """A key of this file, or its nearest parent; empty where there is neither."""
        while field and field not in self.lines:
            field = field[: max(field.rfind("."), field.rfind("["), 0)]
        return field
