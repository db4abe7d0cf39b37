"""The cases that trials draw from: `data/cases.json`, the source's own first, and the same in other languages."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from playmolt_core.game.packs.entries import EntryKind, Text
from playmolt_core.game.packs.frame import TITLE_CHARS
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.trial import Case
from playmolt_schemas.stored.values import GameLanguage
from playmolt_schemas.text import trimmed, unstorable

MIN_CASES: Final = 12


def _texts(case: Case) -> Iterator[Text]:
    yield Text("case_id", case.case_id, TITLE_CHARS)
    yield Text("title", case.title, TITLE_CHARS)
    yield Text("description", case.description)
    yield from (Text("evidence", each) for each in (*case.evidence_for, *case.evidence_against))


def _sides(case: Case) -> Iterator[str]:
    if not case.evidence_for or len(case.evidence_for) != len(case.evidence_against):
        yield "both sides need the same number of pieces of evidence, at least one"


CASES: Final[EntryKind[Case]] = EntryKind(
    game="trial", name="cases", type=tuple[Case, ...], id_of=lambda case: case.case_id, texts=_texts, faults=_sides
)
"""What a pack of cases holds."""


class ContentError(ValueError):
    """A content file cannot be used; the message names every fault."""


class Content(msgspec.Struct, frozen=True):
    """The cases and the digest that names this very set of them."""

    cases: tuple[Case, ...]
    version: str


@cache
def shipped(language: GameLanguage = "ko") -> Content:
    """The cases that come with this package, in a language."""
    name = "cases.json" if language == "ko" else f"cases.{language}.json"
    return read(files("playmolt_trial").joinpath("data", name).read_bytes(), name)


def read(source: bytes, name: str = "cases.json") -> Content:
    """Read a content file; raises ContentError naming every fault."""
    try:
        cases = msgspec.json.decode(source, type=tuple[Case, ...])
    except msgspec.MsgspecError as error:
        raise ContentError(f"{name}: {error}") from None
    faults = list(_faults(cases))
    if faults:
        raise ContentError("\n".join(f"{name}: {fault}" for fault in faults))
    return Content(cases, digest(cases)[:16])


def _faults(cases: tuple[Case, ...]) -> Iterator[str]:
    if len(cases) < MIN_CASES:
        yield f"{len(cases)} cases; at least {MIN_CASES} are needed"
    yield from (f"case_id {name!r} is used twice" for name in _repeated(case.case_id for case in cases))
    yield from (f"title {name!r} is used twice" for name in _repeated(case.title for case in cases))
    for case in cases:
        texts = (case.case_id, case.title, case.description, *case.evidence_for, *case.evidence_against)
        if any(not text or text != trimmed(text) or unstorable(text) for text in texts):
            yield f"{case.case_id}: a text is empty, not trimmed or not storable"
        if not case.evidence_for or len(case.evidence_for) != len(case.evidence_against):
            yield f"{case.case_id}: both sides need the same number of pieces of evidence, at least one"


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]
