"""The outline of a text: what has to be the same in two languages, line by line."""

import re
from functools import lru_cache
from typing import Final

import msgspec
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS

PACKAGED: Final = (*ACTIONS, *SKILLS, "plaza", "market", "alley", "alley_a", "alley_b", "alley_c")
"""Names of actions and places in the texts that come with the software."""
_SLOT: Final = re.compile(r"\{\w+\}%?")
_TOKENS: Final = (
    _SLOT,
    # A Korean particle is written onto what it follows, so a word ends where ASCII does.
    re.compile(r"\b[a-z]+_\d\d\b", re.ASCII),
    re.compile(r"(?<![\w{])\d+(?:\.\d+)?%?"),
    re.compile(r'"\w+"(?=:)|<(?=[^<>]+>)|★+'),
    re.compile(r"^#{1,6}(?= )"),
)
"""Slots, ids, numbers, keys of JSON with arguments of actions and stars, levels of headings."""
_MARKED: Final = re.compile(
    r"`([a-z0-9_]+)`|^[-*•|] (?:★+ )?([a-z0-9_]+)(?=[ :])|([a-z0-9_]+)(?=[|/])|(?<=[|/])([a-z0-9_]+)"
)
"""Names that are set as names: in backquotes, at the head of an item or a row, in a list of names."""
_KINDS: Final = (
    ("blank", re.compile(r"\s*$")),
    ("heading", re.compile(r"#{1,6} |\[")),
    ("item", re.compile(r"\s*[-*•] ")),
    ("number", re.compile(r"\s*\d+[.)] ")),
    ("rule", re.compile(r"---+\s*$")),
    ("row", re.compile(r"\|")),
)


class Mark(msgspec.Struct, frozen=True):
    """One line, or lines of prose together: its kind, and what both languages have to have in it."""

    kind: str
    tokens: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(self.tokens)})" if self.tokens else self.kind


def outline(text: str, names: tuple[str, ...] = PACKAGED) -> tuple[Mark, ...]:
    """The marks of a text; neighbouring lines of prose are one, since languages break them differently."""
    found: list[Mark] = []
    for line in text.split("\n"):
        mark = _mark(line, names)
        if mark.kind == "prose" and found and found[-1].kind == "prose":
            found[-1] = Mark("prose", found[-1].tokens + mark.tokens)
        else:
            found.append(mark)
    return tuple(found)


@lru_cache(maxsize=4096)  # prompts are made of the same lines again and again
def _mark(line: str, names: tuple[str, ...]) -> Mark:
    kind = next((kind for kind, mark in _KINDS if mark.match(line)), "prose")
    bare = _SLOT.sub(" ", line)
    marked = [name for found in _MARKED.findall(bare) for name in found if name in names]
    return Mark(kind, (*(token for pattern in _TOKENS for token in pattern.findall(line)), *marked))
