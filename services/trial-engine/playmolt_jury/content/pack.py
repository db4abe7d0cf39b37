"""A case as a set of files: their faults and the parsed pack (jury.md, Bring your own)."""

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files as package_files
from importlib.resources.abc import Traversable
from typing import Any, Final, Literal, get_args

import msgspec
from playmolt_core.game.packs.faults import InvalidPack, PackFault, PackFlaw, located
from playmolt_core.game.packs.frame import PACK, PackFrame, frame_flaws, limit_flaws, text_of
from playmolt_core.game.packs.shapes import built, misshapen
from playmolt_core.game.packs.toml_lines import lines_of, syntax_fault
from playmolt_schemas.canonical import Files, digest, files_digest
from playmolt_schemas.limits import PACK_FILE_BYTES, PACK_FILES

from playmolt_jury.content import structure_check, text_check
from playmolt_jury.content.content import (
    CaseText,
    JurorText,
    Structure,
    TitledText,
    WitnessText,
    assemble,
)
from playmolt_jury.content.material import Language, Material
from playmolt_jury.content.text_check import PartialTexts
from playmolt_jury.persuasion import lexicon

STRUCTURE: Final = "structure.toml"
_DATA_FILES: Final = (
    "prompts.json", *(f"{kind}.{language}.json" for kind in ("lexicon", "scripted") for language in get_args(Language))
)  # fmt: skip
_LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """A case that can be played. `digest` identifies its files."""

    id: str
    title: str
    digest: str
    structure: Structure
    materials: dict[Language, Material]
    files: Files = {}


@cache
def shipped() -> Pack:
    """The case that comes with this package. The tests check it, not every start of an engine."""
    return assembled(shipped_files())


@cache
def content_version() -> str:
    """A digest of the shipped case and of the data files. Event 1 names it, so that a change of content is visible."""
    data = package_files("playmolt_jury").joinpath("data")
    return digest([shipped().digest, *(data.joinpath(name).read_text("utf-8") for name in _DATA_FILES)])[:16]


def shipped_files() -> Files:
    return dict(_within(package_files("playmolt_jury").joinpath("content"), ""))


def read(files: Files) -> Pack:
    """Raises InvalidPack with all faults."""
    reading = _PackReader(files)
    faults = reading.faults()
    if faults:
        raise InvalidPack(faults)
    return reading.pack()


def assembled(files: Files) -> Pack:
    """The pack of files that were checked before. Raises LookupError, TypeError or ValueError for invalid files."""
    return _PackReader(files).pack()


def taken(files: Files) -> PackFault:
    """The fault of a pack whose id is taken; the pack must have no other faults."""
    return _PackReader(files).taken()


def check(files: Files) -> tuple[PackFault, ...]:
    """All faults of a pack of the jury, in the order of files and lines."""
    return _PackReader(files).faults()


def _within(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name in _LANGUAGES:
            yield from _within(entry, f"{entry.name}/")
        elif entry.name.endswith(".toml"):
            yield prefix + entry.name, entry.read_bytes()


class _PackReader:
    """The files of a pack, parsed as far as possible."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._values: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self._flaws: list[PackFlaw] = list(limit_flaws(files))
        self._faults: list[PackFault] = []
        for path, content in files.items():
            if path.endswith(".toml") and len(content) <= PACK_FILE_BYTES:
                self._parse(path, content)
        self._frame: PackFrame | None = self._shaped(PACK, PackFrame)
        self._structure: Structure | None = self._shaped(STRUCTURE, Structure)
        self._languages = self._frame.languages if self._frame else tuple(_spoken(files))
        self._words = {language: self._read_words(language) for language in self._languages}

    def faults(self) -> tuple[PackFault, ...]:
        if len(self._files) > PACK_FILES:
            # Other faults are unknown: reading a folder stops at this limit.
            return tuple(located(flaw, {}) for flaw in limit_flaws(self._files))
        flaws = [*self._flaws, *self._surplus()]
        if self._frame:
            flaws += frame_flaws(self._frame)
            if self._frame.game != "jury":
                flaws.append(PackFlaw(PACK, ("game",), "wrong_type", 'game must be "jury" for a pack of these files'))
        if self._structure:
            flaws += structure_check.flaws(STRUCTURE, self._structure)
            topics = self._structure.topics
            for language, words in self._words.items():
                flaws += text_check.flaws(language, self._structure, words)
                flaws += _lexicon_flaws(f"lexicon.{language}.json", self._files, topics)
        lines = {path: lines_of(self._texts[path]) for path in {flaw.file for flaw in flaws} & self._texts.keys()}
        found = (located(flaw, lines.get(flaw.file, {})) for flaw in flaws)
        return tuple(sorted({*self._faults, *found}))

    def taken(self) -> PackFault:
        """The fault that the id belongs to another pack."""
        message = "the id belongs to a case of the platform or its operator: choose another id"
        return located(PackFlaw(PACK, ("id",), "twice", message), lines_of(self._texts[PACK]))

    def pack(self) -> Pack:
        """Requires a pack without faults."""
        frame, shared = built(self._values[PACK], PackFrame), built(self._values[STRUCTURE], Structure)
        materials = {
            language: assemble(shared, words.texts(), language, self._files.get(f"lexicon.{language}.json", b""))
            for language, words in self._words.items()
        }
        return Pack(
            id=frame.id,
            title=frame.title,
            digest=files_digest(self._files),
            structure=shared,
            materials=materials,
            files=self._files,
        )

    def _parse(self, path: str, content: bytes) -> None:
        text = ""
        try:
            text = text_of(content)
            self._values[path] = tomllib.loads(text)
            self._texts[path] = text
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            self._faults.append(PackFault(path, line, "syntax", "the file is not UTF-8: save it as UTF-8"))
        except (ValueError, RecursionError) as error:
            line, reason = syntax_fault(text, error)
            self._faults.append(PackFault(path, line, "syntax", f"invalid TOML: {reason}"))

    def _shaped(self, path: str, kind: object, missing: Literal["missing_key", "missing_text"] = "missing_key") -> Any:
        """The file's content as that type; None if the file is missing or has another shape."""
        if path not in self._files:
            self._flaws.append(PackFlaw(path, (), missing, f"{path} is missing: add it"))
        if path not in self._values:
            return None
        flaws = list(misshapen(path, self._values[path], kind))
        self._flaws += flaws
        return None if flaws else built(self._values[path], kind)

    def _read_words(self, language: Language) -> PartialTexts:
        witnesses = [each.id for each in self._structure.witnesses] if self._structure else []
        return PartialTexts(
            case=self._shaped(f"{language}/case.toml", CaseText, "missing_text"),
            evidence=self._shaped(f"{language}/evidence.toml", dict[str, TitledText], "missing_text"),
            jurors=self._shaped(f"{language}/jurors.toml", dict[str, JurorText], "missing_text"),
            witnesses={
                each: self._shaped(f"{language}/witness_{each}.toml", WitnessText, "missing_text") for each in witnesses
            },
        )

    def _surplus(self) -> Iterator[PackFlaw]:
        known = {PACK, STRUCTURE}
        for language in self._languages:
            known |= {f"{language}/{name}.toml" for name in ("case", "evidence", "jurors")}
            known.add(f"lexicon.{language}.json")
            if self._structure:
                known |= {f"{language}/witness_{each.id}.toml" for each in self._structure.witnesses}
        for path in self._files:
            if path not in known and (self._structure or "/witness_" not in path):
                yield PackFlaw(
                    path,
                    (),
                    "unknown_file",
                    "a pack has no such file, or its language or witness is not declared: remove the file",
                )


def _spoken(files: Files) -> Iterator[Language]:
    return (each for each in _LANGUAGES if any(path.startswith(f"{each}/") for path in files))


def _lexicon_flaws(path: str, files: Files, topics: tuple[str, ...]) -> Iterator[PackFlaw]:
    if path not in files:
        return
    try:
        named = lexicon.topics_of(files[path])
    except ValueError as error:
        code: Literal["syntax", "wrong_type"] = "wrong_type" if _is_json(files[path]) else "syntax"
        yield PackFlaw(path, (), code, f"invalid word list: {error}")
        return
    for topic in named:
        if topic not in topics:
            yield PackFlaw(path, (), "bad_reference", f"{topic} is not a topic of this case")


def _is_json(content: bytes) -> bool:
    try:
        json.loads(text_of(content))
    except ValueError:
        return False
    return True


__all__ = ["InvalidPack", "Pack", "assembled", "check", "content_version", "read", "shipped", "shipped_files", "taken"]
