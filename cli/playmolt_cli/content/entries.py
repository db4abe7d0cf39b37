"""What is wrong with a pack of trials or O/X questions."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_jury.content import shapes
from playmolt_jury.content.faults import Fault, Flaw, Lines, located
from playmolt_jury.content.pack import PACK, PackFrame, frame_flaws, limit_flaws
from playmolt_jury.content.pack_folder import folder_files
from playmolt_jury.content.text_check import TITLE_CHARS, bounded
from playmolt_jury.content.toml_lines import lines_of
from playmolt_schemas.games.packs import Files
from playmolt_schemas.games.trial import Case

from playmolt_cli.content.template import PackGame, file_of

MOST: Final = 200
TEXT_CHARS: Final = 4000
_KINDS: Final[Mapping[PackGame, Any]] = {"trial": tuple[Case, ...], "ox": tuple[str, ...]}


def game_of(folder: Path) -> PackGame:
    """The game that `pack.toml` names; the jury where it names none that there is."""
    try:
        game = tomllib.loads((folder / PACK).read_text("utf-8")).get("game")
    except (OSError, ValueError):
        return "jury"
    return next((each for each in _KINDS if each == game), "jury")


def check_folder(folder: Path) -> tuple[Fault, ...]:
    files, faults = folder_files(folder)
    return tuple(sorted({*faults, *_faults(files)}))


def _faults(files: Files) -> Iterator[Fault]:
    text = files[PACK].decode()
    raw = tomllib.loads(text)
    lines: dict[str, Lines] = {PACK: lines_of(text)}
    flaws = [*limit_flaws(files), *shapes.misshapen(PACK, raw, PackFrame)]
    if any(each.file == PACK for each in flaws):
        yield from (located(each, lines[PACK]) for each in flaws)
        return
    frame: PackFrame = shapes.built(raw, PackFrame)
    flaws += frame_flaws(frame)
    known = {file_of(frame.game, language, frame.languages) for language in frame.languages}
    for path in sorted({*files, *known} - {PACK}):
        if path not in known:
            flaws.append(Flaw(path, (), "unknown_file", "no pack has this file: take it out"))
        elif path not in files:
            flaws.append(Flaw(path, (), "missing_text", f"{path} is missing: write it"))
        else:
            found, lines[path] = _of_file(path, files[path], frame.game)
            flaws += found
    yield from (located(each, lines.get(each.file, {})) for each in flaws)


def _of_file(path: str, content: bytes, game: PackGame) -> tuple[list[Flaw], Lines]:
    try:
        text = content.decode()
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return [Flaw(path, (), "syntax", f"this is no JSON in UTF-8: {error}")], {(): line}
    lines: Lines = {(): 1, **{(place,): line for place, line in enumerate(_lines(text))}}
    flaws = list(shapes.misshapen(path, value, _KINDS[game]))
    if flaws:
        return flaws, lines
    if not 1 <= len(value) <= MOST:
        flaws.append(Flaw(path, (), "out_of_bounds", f"{len(value)} entries; there may be 1 to {MOST}"))
    seen: set[str] = set()
    for place, entry in enumerate(value):
        name = entry if game == "ox" else entry["case_id"]
        if name in seen:
            flaws.append(Flaw(path, (place,), "twice", f"{name!r} stands twice; take one out"))
        seen.add(name)
        flaws += _of_entry(path, place, entry)
    return flaws, lines


def _of_entry(path: str, place: int, entry: Any) -> Iterator[Flaw]:
    if isinstance(entry, str):
        yield from bounded(path, (place,), f"entry {place + 1}", entry, TEXT_CHARS)
        return
    case = msgspec.convert(entry, type=Case)
    for name, most in (("case_id", TITLE_CHARS), ("title", TITLE_CHARS), ("description", TEXT_CHARS)):
        yield from bounded(path, (place,), f"entry {place + 1}, {name}", getattr(case, name), most)
    for each in (*case.evidence_for, *case.evidence_against):
        yield from bounded(path, (place,), f"entry {place + 1}, evidence", each, TEXT_CHARS)
    if not case.evidence_for or len(case.evidence_for) != len(case.evidence_against):
        told = f"entry {place + 1}: both sides need the same number of pieces of evidence, at least one"
        yield Flaw(path, (place,), "out_of_bounds", told)


def _lines(text: str) -> Iterator[int]:
    """The lines on which the entries of a list begin."""
    decoder, at = json.JSONDecoder(), text.find("[") + 1
    while at > 0:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text) or text[at] == "]":
            return
        yield text.count("\n", 0, at) + 1
        at = decoder.raw_decode(text, at)[1]
