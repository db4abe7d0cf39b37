"""Packs with a list of entries per language: validation, loading, and the library of a process."""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.stored.values import GameLanguage

from playmolt_core.game.packs import shapes
from playmolt_core.game.packs.faults import InvalidPack, Lines, PackFault, PackFlaw, located
from playmolt_core.game.packs.frame import PACK, PackFrame, PackGame, bounded, frame_flaws, limit_flaws, text_of
from playmolt_core.game.packs.toml_lines import lines_of, syntax_fault

MOST: Final = 200
TEXT_CHARS: Final = 4000
E = TypeVar("E")


class Text(msgspec.Struct, frozen=True):
    """A required text of an entry."""

    place: str
    text: str
    most: int = TEXT_CHARS


class EntryKind(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """The kind of a game's entries. `name` is their file name, `id_of` returns the id of an entry."""

    game: PackGame
    name: str
    type: Any
    id_of: Callable[[E], str]
    texts: Callable[[E], Iterator[Text]]
    faults: Callable[[E], Iterator[str]] = lambda _: iter(())
    """Messages about other values that are out of bounds."""


class EntryPack(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """A valid pack: its entries by language, beginning with the first language."""

    id: str
    digest: str
    entries: dict[GameLanguage, tuple[E, ...]]


def file_of(name: str, language: GameLanguage, languages: Sequence[GameLanguage]) -> str:
    """The file of a language; the first language has no suffix, like the shipped files."""
    return f"{name}.json" if language == languages[0] else f"{name}.{language}.json"


def check(files: Files, kind: EntryKind[Any]) -> tuple[PackFault, ...]:
    """All faults of a pack, ordered by file and line."""
    return tuple(sorted(set(_faults(files, kind))))


def read(files: Files, kind: EntryKind[E]) -> EntryPack[E]:
    """Raises InvalidPack with all faults."""
    if faults := check(files, kind):
        raise InvalidPack(faults)
    frame: PackFrame = shapes.built(tomllib.loads(text_of(files[PACK])), PackFrame)
    entries = {
        language: msgspec.json.decode(text_of(files[file_of(kind.name, language, frame.languages)]), type=kind.type)
        for language in frame.languages
    }
    return EntryPack(id=frame.id, digest=files_digest(files), entries=entries)


def _faults(files: Files, kind: EntryKind[Any]) -> Iterator[PackFault]:
    text = ""
    try:
        text = text_of(files[PACK])
        raw = tomllib.loads(text)
    except KeyError:
        yield PackFault(PACK, 1, "missing_key", f"{PACK} is missing; add it")
        return
    except (ValueError, RecursionError) as error:
        line, reason = syntax_fault(text, error)
        yield PackFault(PACK, line, "syntax", f"not valid TOML in UTF-8: {reason}")
        return
    lines: dict[str, Lines] = {PACK: lines_of(text)}
    flaws = [*limit_flaws(files), *shapes.misshapen(PACK, raw, PackFrame)]
    if any(each.file == PACK for each in flaws):
        yield from (located(each, lines[PACK]) for each in flaws)
        return
    frame: PackFrame = shapes.built(raw, PackFrame)
    flaws += frame_flaws(frame)
    known = {file_of(kind.name, language, frame.languages) for language in frame.languages}
    for path in sorted({*files, *known} - {PACK}):
        if path not in known:
            flaws.append(PackFlaw(path, (), "unknown_file", "packs do not have this file; remove it"))
        elif path not in files:
            flaws.append(PackFlaw(path, (), "missing_text", f"{path} is missing; add it"))
        else:
            found, lines[path] = _of_file(path, files[path], kind)
            flaws += found
    yield from (located(each, lines.get(each.file, {})) for each in flaws)


def _of_file(path: str, content: bytes, kind: EntryKind[object]) -> tuple[list[PackFlaw], Lines]:
    try:
        text = text_of(content)
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return [PackFlaw(path, (), "syntax", f"not valid JSON in UTF-8: {error}")], {(): line}
    lines: Lines = {(): 1, **{(place,): line for place, line in enumerate(_lines(text))}}
    flaws = list(shapes.misshapen(path, value, kind.type))
    if flaws:
        return flaws, lines
    if not 1 <= len(value) <= MOST:
        flaws.append(PackFlaw(path, (), "out_of_bounds", f"has {len(value)} entries; allowed are 1 to {MOST}"))
    seen: set[str] = set()
    for place, entry in enumerate(msgspec.convert(value, type=kind.type)):
        name = kind.id_of(entry)
        if name in seen:
            flaws.append(PackFlaw(path, (place,), "twice", f"{name!r} is duplicated; remove one"))
        seen.add(name)
        for each in kind.texts(entry):
            label = f"entry {place + 1}{each.place and f', {each.place}'}"
            flaws += bounded(path, (place,), label, each.text, each.most)
        flaws += (
            PackFlaw(path, (place,), "out_of_bounds", f"entry {place + 1}: {message}") for message in kind.faults(entry)
        )
    return flaws, lines


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


class PackLibrary(Generic[E]):
    """The packs of a process, by id and by digest."""

    def __init__(self, packs: Iterable[EntryPack[E]] = ()) -> None:
        self._by_id = {pack.id: pack for pack in packs}
        self._by_digest = {pack.digest: pack for pack in self._by_id.values()}

    def ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    def named(self, name: str) -> EntryPack[E] | None:
        return self._by_id.get(name)

    def of(self, digest: str) -> EntryPack[E] | None:
        """The pack with this exact digest; None if this process does not have it."""
        return self._by_digest.get(digest)
