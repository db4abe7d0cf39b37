"""The questions that O/X games ask: `data/questions.json`, the source's own first, and the same in other languages."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec
from playmolt_core.game.packs.entries import EntryKind, Text
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.values import GameLanguage
from playmolt_schemas.text import trimmed, unstorable

FEWEST_QUESTIONS: Final = 50


QUESTIONS: Final[EntryKind[str]] = EntryKind(
    game="ox",
    name="questions",
    type=tuple[str, ...],
    id_of=lambda text: text,
    texts=lambda text: iter((Text("", text),)),
)
"""What a pack of questions holds."""


class ContentError(ValueError):
    """A content file cannot be used; the message names every fault."""


class Content(msgspec.Struct, frozen=True):
    """The questions in file order and the digest that names this very list."""

    questions: tuple[str, ...]
    version: str


@cache
def shipped(language: GameLanguage = "ko") -> Content:
    """The questions that come with this package, in a language."""
    name = "questions.json" if language == "ko" else f"questions.{language}.json"
    return read(files("playmolt_ox").joinpath("data", name).read_bytes(), name)


def read(source: bytes, name: str = "questions.json") -> Content:
    """Read a content file; raises ContentError naming every fault."""
    try:
        questions = msgspec.json.decode(source, type=tuple[str, ...])
    except msgspec.MsgspecError as error:
        raise ContentError(f"{name}: {error}") from None
    faults = list(_faults(questions))
    if faults:
        raise ContentError("\n".join(f"{name}: {fault}" for fault in faults))
    return Content(questions, digest(questions)[:16])


def _faults(questions: tuple[str, ...]) -> Iterator[str]:
    if len(questions) < FEWEST_QUESTIONS:
        yield f"{len(questions)} questions; at least {FEWEST_QUESTIONS} are needed"
    yield from (f"{text!r} is used twice" for text, times in Counter(questions).items() if times > 1)
    for place, text in enumerate(questions):
        if not text or text != trimmed(text) or unstorable(text):
            yield f"entry {place} is empty, not trimmed or not storable"
