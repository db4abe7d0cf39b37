"""The outline of a text: what has to be the same in two languages, line by line."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

import msgspec
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?%?")
_SLOT: Final = re.compile(r"\{\w+\}%?")
# A Korean particle is written onto what it follows, so a word ends where ASCII does.
_ID: Final = re.compile(r"\b[a-z]+_\d\d\b", re.ASCII)
_PLACES: Final = re.compile(r"\b(?:plaza|market|alley(?:_[abc])?)(?:/(?:plaza|market|alley(?:_[abc])?))+\b", re.ASCII)
_ACTION: Final = re.compile(rf"- (★* ?)({'|'.join((*ACTIONS, *SKILLS))})((?: <[^>]+>)*):")
_CELL: Final = re.compile(rf"\| ({'|'.join((*ACTIONS, *SKILLS))}) \|")
_JSON: Final = re.compile(r'\s*"(\w+)": "[^"]*"(,?)\s*')
_CHOICE: Final = re.compile(r'"action": "([^"]*)"')
_KINDS: Final = (
    ("heading", "#### "),
    ("marker", "### "),
    ("section", "["),
    ("row", "|"),
    ("item", "- "),
    ("inner item", "  - "),
    ("rule", "---"),
)


class Mark(msgspec.Struct, frozen=True):
    """One line, or lines of prose together: its kind, and its slots, numbers, ids, actions and places in order."""

    kind: str
    tokens: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(self.tokens)})" if self.tokens else self.kind


def merged(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Marks with neighbouring lines of prose as one, since languages break them differently."""
    found: list[Mark] = []
    for mark in marks:
        if mark.kind == "prose" and found and found[-1].kind == "prose":
            found[-1] = Mark("prose", found[-1].tokens + mark.tokens)
        else:
            found.append(mark)
    return tuple(found)


def outline(text: str) -> tuple[Mark, ...]:
    """The outline of a text of the package or a plan."""
    return merged(map(_mark, text.split("\n")))


def described(mark: Mark | None) -> str:
    return "nothing" if mark is None else str(mark)


def _tokens(line: str) -> tuple[str, ...]:
    """What of a line both languages share: actions with their arguments, slots, ids, numbers, lists of places."""
    return (
        *_actions(line),
        *_SLOT.findall(line),
        *_ID.findall(line),
        *_NUMBER.findall(_ID.sub("", line)),
        *_PLACES.findall(line),
    )


@lru_cache(maxsize=4096)  # prompts are made of the same lines again and again
def _mark(line: str) -> Mark:
    if not line.strip():
        return Mark("blank", ())
    if found := _JSON.fullmatch(line):
        return Mark("field", (found[1], found[2], *_CHOICE.findall(line)))
    if line.strip() in ("{", "}"):
        return Mark(line.strip(), ())
    kind = next((kind for kind, start in _KINDS if line.startswith(start)), "prose")
    shape = (f"{line.count('|') - 1} cells",) if kind == "row" else ()
    return Mark(kind, shape + _tokens(line))


def _actions(line: str) -> Iterator[str]:
    if found := _ACTION.match(line):
        yield f"{found[1]}{found[2]}{found[3].count('<') * ' <>'}"
    if found := _CELL.match(line):
        yield found[1]
