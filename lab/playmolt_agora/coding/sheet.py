"""The sheet on which a person codes thoughts without knowing the author: written and read as CSV."""

import csv
import io
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Final

import msgspec
from playmolt_schemas.agora.coding import SHEET_ROWS
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.experiment import CODER_NOTE_CHARS, SheetRow
from playmolt_schemas.text import trimmed, unstorable

from playmolt_agora.measures.data.tables import inert

COLUMNS: Final = ("key", "language", "thought", "survival", "social", "note")
_NEEDED: Final = ("key", "survival", "social")
_WORDS: Final = tomllib.loads(files("playmolt_agora.coding").joinpath("truth_values.toml").read_text("utf-8"))
_LABELS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(_WORDS["true"], True), **dict.fromkeys(_WORDS["false"], False), "": None,
}  # fmt: skip
_SEPARATORS: Final = ",;\t|"


class SheetFault(msgspec.Struct, frozen=True):
    """What is wrong with a line of a sheet."""

    line: int
    message: str


def written(thoughts: Iterable[Thought]) -> str:
    """A sheet to fill in, with a byte order mark, which spreadsheets need to read Korean."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows((each.key, each.language, inert(each.text), "", "", "") for each in thoughts)
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
    places: dict[str, int] | None = None
    seen: dict[str, int] = {}
    for line, cells in _lines(text.replace("\r\n", "\n").replace("\r", "\n")):
        if isinstance(cells, SheetFault):
            faults.append(cells)
            break
        if places is None:
            if len(cells) == 1 and trimmed(cells[0]) and _plain(cells[0]) not in _NEEDED:
                how = "must be separated by commas, semicolons or tabs: save the sheet as CSV UTF-8"
                return (), (SheetFault(line, f"has one column; {', '.join(COLUMNS)} {how}"),)
            names = [_plain(name) for name in cells]
            places = {name: place for place, name in enumerate(names)}
            faults += [SheetFault(line, f"has no column {name}") for name in _NEEDED if name not in names]
            faults += [SheetFault(line, f"has the column {name} twice") for name in COLUMNS if names.count(name) > 1]
        elif any(map(trimmed, cells)) and places.keys() >= set(_NEEDED):
            given = {name: trimmed(cells[place]) for name, place in places.items() if place < len(cells)}
            row = _row(given)
            wrong = [*_faults(row, given, known, seen)]
            seen.setdefault(row.key, line)
            faults += [SheetFault(line, message) for message in wrong]
            if not wrong and (row.survival is not None or row.social is not None or row.note):
                rows.append(row)
    if places is None and not faults:
        faults.append(SheetFault(1, f"has no header row; the columns are {', '.join(COLUMNS)}"))
    if not faults and len(rows) > SHEET_ROWS:
        faults.append(SheetFault(1, f"codes {len(rows)} thoughts; the maximum is {SHEET_ROWS}"))
    return tuple(rows), tuple(faults)


def _row(given: Mapping[str, str]) -> SheetRow:
    """What the cells of a line say; None for a label without a truth value."""
    survival, social = (_LABELS.get(_plain(given.get(name, ""))) for name in ("survival", "social"))
    return SheetRow(key=given.get("key", ""), survival=survival, social=social, note=given.get("note", ""))


def _faults(row: SheetRow, given: Mapping[str, str], known: Collection[str], seen: Mapping[str, int]) -> Iterator[str]:
    if row.key not in known:
        yield f"key {row.key[:40]!r} is not a key of this experiment"
    elif row.key in seen:
        yield f"key {row.key} already appears on line {seen[row.key]}"
    for name in ("survival", "social"):
        word = _plain(given.get(name, ""))
        if word not in _LABELS:
            yield f"{name} {word[:40]!r} is none of 1, 0, yes, no, true, false, 예, 아니오, 是, 否"
    if len(row.note) > CODER_NOTE_CHARS:
        yield f"note has {len(row.note)} characters; {CODER_NOTE_CHARS} are kept at most"
    if unstorable(row.note):
        yield "note holds a character that cannot be stored"


def _lines(text: str) -> Iterator[tuple[int, list[str] | SheetFault]]:
    """Each record with the line that it begins on; a fault, and nothing after it, for one that is not CSV."""
    # csv.reader rejects NUL; report it as a fault of its cell instead.
    lines = io.StringIO(text.replace("\x00", "\ufffd"), newline="")
    reader, line = csv.reader(lines, delimiter=_separator(text), strict=True), 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        yield line, SheetFault(line, f"is not valid CSV ({error}): close every quotation mark, or export it again")


def _separator(text: str) -> str:
    """The separator that gives the most of the needed columns in the first line."""
    head = text.lstrip("\n").partition("\n")[0]
    names = {each: set(map(_plain, next(csv.reader([head], delimiter=each), []))) for each in _SEPARATORS}
    return max(_SEPARATORS, key=lambda each: len(names[each] & set(_NEEDED)))


def _plain(word: str) -> str:
    """A word as it is compared: full-width letters as others, in lower case."""
    return trimmed(unicodedata.normalize("NFKC", word)).strip("'").casefold()
