"""The sheet on which a person codes thoughts without knowing the author: written and read as CSV."""

import csv
import io
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec
from playmolt_schemas.agora.coding import SHEET_ROWS
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.experiment import CODER_NOTE_CHARS, SheetRow
from playmolt_schemas.text import trimmed, unstorable

COLUMNS: Final = ("key", "language", "thought", "survival", "social", "note")
_NEEDED: Final = ("key", "survival", "social")
_YES: Final = (
    "1", "1.0", "1,0", "yes", "y", "true", "t", "예", "네", "참", "是", "对", "真", "はい", "wahr", "ja", "vrai",
    "oui", "verdadero", "verdadeiro", "sí", "si", "sim", "vero", "sì", "waar", "sant", "sann", "sandt",
    "tosi", "prawda", "tak", "pravda", "ano", "igaz", "igen", "adevărat", "da", "doğru", "evet", "истина",
    "да", "істина", "так", "αληθησ", "ναι",
)  # fmt: skip
_NO: Final = (
    "0", "0.0", "0,0", "no", "n", "false", "f", "아니오", "아니요", "거짓", "否", "不是", "错", "假", "いいえ",
    "falsch", "nein", "faux", "non", "falso", "não", "nao", "onwaar", "nee", "falskt", "nej", "usann", "nei", "falsk",
    "epätosi", "ei", "fałsz", "nie", "nepravda", "ne", "hamis", "nem", "fals", "nu", "yanlış", "hayır",
    "ложь", "нет", "хибність", "ні", "ψευδησ", "όχι",
)  # fmt: skip
"""What spreadsheets write for a truth value in their languages, and what people write."""
_LABELS: Final[Mapping[str, bool | None]] = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False), "": None}
_SEPARATORS: Final = ",;\t|"
_SEPARATOR_LINE: Final = re.compile(r"\A\ufeff?\"?sep=(.)\"?\n", re.IGNORECASE)
"""The line by which some spreadsheets name the separator."""
_FORMULA: Final = re.compile(r"""(^|[,;|\t\r\n\v\f\x85\u2028\u2029])([\s"'“”]*)(?=[=+\-@＝＋－＠﹦﹢﹣﹫−])""")
"""Where a spreadsheet would begin to run a formula: at the start of a cell, and behind what it may take for the end of
one. It reads the full-width signs, too."""
_STARTS: Final = re.compile(r"[\t\r]")


class SheetFault(msgspec.Struct, frozen=True):
    """What is wrong with a line of a sheet."""

    line: int
    message: str


def written(thoughts: Iterable[Thought]) -> str:
    """A sheet to fill in, with a byte order mark, which spreadsheets need to read Korean."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows((each.key, each.language, _shown(each.text), "", "", "") for each in thoughts)
    return f"\ufeff{text.getvalue()}"


def read(body: bytes, known: Collection[str]) -> tuple[tuple[SheetRow, ...], tuple[SheetFault, ...]]:
    """The rows of a filled sheet that say anything, and every fault of it; `known` are the keys that there are."""
    try:
        text = body.decode("utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = body[: error.start].count(b"\n") + 1
        return (), (SheetFault(line, "is not UTF-8: save the sheet as CSV UTF-8"),)
    rows: list[SheetRow] = []
    faults: list[SheetFault] = []
    reader = _SheetReader(known)
    for line, cells in _lines(text.replace("\r\n", "\n").replace("\r", "\n")):
        if isinstance(cells, SheetFault):
            faults.append(cells)
            break
        if not reader.begun and _is_one_column(cells):
            return (), (SheetFault(line, _UNSEPARATED),)
        row = reader.row(line, cells)
        faults += reader.faults(line)
        rows += [row] if row is not None else []
    if not reader.begun and not faults:
        faults.append(SheetFault(1, f"has no header row; the columns are {', '.join(COLUMNS)}"))
    if not faults and len(rows) > SHEET_ROWS:
        faults.append(SheetFault(1, f"codes {len(rows)} thoughts; the maximum is {SHEET_ROWS}"))
    return tuple(rows), tuple(faults)


def _lines(text: str) -> Iterator[tuple[int, list[str] | SheetFault]]:
    """Each record with the line that it begins on; a fault, and nothing after it, for one that is not CSV."""
    line, separator = 1, _separator(text)
    if named := _SEPARATOR_LINE.match(text):
        line, separator, text = 2, named[1], text[named.end() :]
    # csv.reader rejects NUL; report it as a fault of its cell instead.
    reader = csv.reader(io.StringIO(text.replace("\x00", "\ufffd"), newline=""), delimiter=separator, strict=True)
    before = line - 1
    try:
        for cells in reader:
            yield line, cells
            line = before + reader.line_num + 1
    except csv.Error as error:
        yield line, SheetFault(line, f"is not valid CSV ({error}): close every quotation mark, or export it again")


_UNSEPARATED: Final = (
    f"has one column; {', '.join(COLUMNS)} must be separated by commas, semicolons or tabs: save the sheet as CSV UTF-8"
)


def _separator(text: str) -> str:
    """The separator that gives the most of the needed columns in the first line."""
    head = text.lstrip("\n").partition("\n")[0]
    return max(_SEPARATORS, key=lambda each: sum(name in _names(head, each) for name in _NEEDED))


def _names(head: str, separator: str) -> list[str]:
    return [_plain(name) for name in next(csv.reader([head], delimiter=separator), [])]


def _is_one_column(cells: list[str]) -> bool:
    return len(cells) == 1 and bool(trimmed(cells[0])) and _plain(cells[0]) not in _NEEDED


def _plain(word: str) -> str:
    """A word as it is compared: full-width letters as others, in lower case."""
    return trimmed(unicodedata.normalize("NFKC", word)).strip("'").casefold()


class _SheetReader:
    """Reads line by line, the head first."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._places: dict[str, int] | None = None
        self._seen: dict[str, int] = {}
        self._found: list[str] = []

    @property
    def begun(self) -> bool:
        return self._places is not None

    def faults(self, line: int) -> list[SheetFault]:
        """What was wrong with the line that was read last."""
        found, self._found = self._found, []
        return [SheetFault(line, message) for message in found]

    def row(self, line: int, cells: list[str]) -> SheetRow | None:
        """What a line says; None for the head, for one that says nothing, and for one with a fault."""
        if self._places is None:
            names = [_plain(name) for name in cells]
            self._places = {name: place for place, name in enumerate(names)}
            self._found += [f"has no column {name}" for name in _NEEDED if name not in names]
            self._found += [f"has the column {name} twice" for name in COLUMNS if names.count(name) > 1]
            return None
        if not any(map(trimmed, cells)) or any(name not in self._places for name in _NEEDED):
            return None
        key = self._key(line, self._cell(cells, "key"))
        survival, social = (self._label(cells, name) for name in ("survival", "social"))
        note = self._note(self._cell(cells, "note"))
        if self._found or (survival is None and social is None and not note):
            return None
        return SheetRow(key=key, survival=survival, social=social, note=note)

    def _cell(self, cells: list[str], name: str) -> str:
        place = (self._places or {}).get(name, len(cells))
        return trimmed(cells[place]) if place < len(cells) else ""

    def _key(self, line: int, key: str) -> str:
        if key not in self._known:
            self._found.append(f"key {key[:40]!r} is not a key of this experiment")
        elif key in self._seen:
            self._found.append(f"key {key} already appears on line {self._seen[key]}")
        self._seen.setdefault(key, line)
        return key

    def _label(self, cells: list[str], name: str) -> bool | None:
        word = _plain(self._cell(cells, name))
        if word not in _LABELS:
            self._found.append(f"{name} {word[:40]!r} is none of 1, 0, yes, no, true, false, 예, 아니오, 是, 否")
        return _LABELS.get(word)

    def _note(self, note: str) -> str:
        if len(note) > CODER_NOTE_CHARS:
            self._found.append(f"note has {len(note)} characters; {CODER_NOTE_CHARS} are kept at most")
        if unstorable(note):
            self._found.append("note holds a character that cannot be stored")
        return note


def _shown(text: str) -> str:
    shown = _FORMULA.sub(r"\1'\2", text)
    return f"'{shown}" if _STARTS.match(shown) else shown
