"""What a DOCX's styles and lists say of a paragraph: whether its text is hidden, and its number or bullet."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from playmolt_gateway.uploads.document_text import BULLET
from playmolt_gateway.uploads.list_marks import numbered
from playmolt_gateway.uploads.zip_parts import Element, attribute, child, local

_CHAIN: Final = 20
"""Styles based on each other."""
_LEVELS: Final = 9
_NO_LIST: Final = "0"
_PLACE: Final = re.compile(r"%([1-9])")
_VANISH: Final = ("vanish", "specVanish")


def named(element: Element | None, name: str) -> Iterator[Element]:
    """The children of a name."""
    for each in element if element is not None else ():
        if isinstance(each.tag, str) and local(each.tag) == name:
            yield each


def value(element: Element | None, *path: str) -> str | None:
    """The `val` of a descendant; None if it does not exist."""
    found = child(element, *path)
    return None if found is None else attribute(found, "val")


def switch(properties: Element | None, *names: str) -> bool | None:
    """A property that is on by being there; None if none of the names is."""
    for name in names:
        found = child(properties, name)
        if found is not None:
            return attribute(found, "val", "1") not in ("0", "false", "off")
    return None


class _Style(NamedTuple):
    based_on: str
    hidden: bool | None
    list_id: str | None
    level: str | None


class Styles:
    """The styles of a document by id."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, _Style] = {}
        self.paragraph = ""
        """The style of paragraphs without one."""
        for style in named(root, "style"):
            identifier = attribute(style, "styleId")
            if attribute(style, "type") == "paragraph" and attribute(style, "default") in ("1", "true", "on"):
                self.paragraph = identifier
            self._styles[identifier] = _Style(
                value(style, "basedOn") or "",
                switch(child(style, "rPr"), *_VANISH),
                value(style, "pPr", "numPr", "numId"),
                value(style, "pPr", "numPr", "ilvl"),
            )

    def _chain(self, identifier: str) -> Iterator[tuple[str, _Style]]:
        for _ in range(_CHAIN):
            style = self._styles.get(identifier)
            if style is None:
                return
            yield identifier, style
            identifier = style.based_on

    def hidden(self, identifier: str) -> bool:
        return next((style.hidden for _, style in self._chain(identifier) if style.hidden is not None), False)

    def list_of(self, identifier: str) -> tuple[str, str, str | None] | None:
        """The list of a paragraph style: its id, the style that names it, and the level."""
        for name, style in self._chain(identifier):
            if style.list_id is not None:
                return style.list_id, name, style.level
        return None


class _Level(NamedTuple):
    start: int
    number: str
    text: str
    style: str
    legal: bool
    restart: int | None


class _List(NamedTuple):
    abstract: str
    levels: Mapping[int, _Level]
    restarts: Mapping[int, int]
    """Level → the number with which this list begins, whatever other lists of its definition have counted."""


class Lists:
    """Counts the paragraphs of a document's lists. Lists with one definition count on, as in Word."""

    def __init__(self, root: Element | None) -> None:
        definitions = {attribute(each, "abstractNumId"): each for each in named(root, "abstractNum")}
        styled = {value(each, "styleLink"): each for each in definitions.values() if value(each, "styleLink")}
        self._lists: dict[str, _List] = {}
        for each in named(root, "num"):
            abstract = value(each, "abstractNumId") or ""
            definition = definitions.get(abstract)
            definition = styled.get(value(definition, "numStyleLink"), definition)
            levels = dict(_levels(definition))
            restarts: dict[int, int] = {}
            for override in named(each, "lvlOverride"):
                place = _number(attribute(override, "ilvl"))
                if (own := child(override, "lvl")) is not None:
                    levels[place] = _level(own)
                if (start := value(override, "startOverride")) is not None:
                    restarts[place] = _number(start, 1)
            self._lists[attribute(each, "numId")] = _List(abstract, levels, restarts)
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def mark(self, list_id: str, style: str, level: str | None) -> str:
        """The mark of the next paragraph of a list; `style` is the paragraph style that named the list, if any."""
        found = self._lists.get(list_id)
        if list_id == _NO_LIST or found is None:
            return ""
        linked = next((place for place, each in found.levels.items() if style and each.style == style), None)
        place = linked if linked is not None else min(_number(level or "0"), _LEVELS - 1)
        at = found.levels.get(place)
        if at is None:
            return ""
        counts = self._counts.setdefault(found.abstract, {})
        if place in found.restarts and (list_id, place) not in self._begun:
            counts[place] = found.restarts[place]
        else:
            counts[place] = counts.get(place, at.start - 1) + 1
        self._begun.add((list_id, place))
        for deeper in [each for each in counts if each > place]:
            restart = found.levels[deeper].restart if deeper in found.levels else None
            if restart is None or 0 < place + 1 <= restart:
                del counts[deeper]
        return BULLET if at.number == "bullet" else self._written(found, counts, at)

    @staticmethod
    def _written(found: _List, counts: Mapping[int, int], at: _Level) -> str:
        def number(match: re.Match[str]) -> str:
            place = int(match[1]) - 1
            level = found.levels.get(place)
            if level is None:
                return ""
            return numbered(counts.get(place, level.start), "decimal" if at.legal else level.number)

        return _PLACE.sub(number, at.text).strip()


def _levels(definition: Element | None) -> Iterator[tuple[int, _Level]]:
    for each in named(definition, "lvl"):
        yield _number(attribute(each, "ilvl")), _level(each)


def _level(element: Element) -> _Level:
    restart = value(element, "lvlRestart")
    number = value(element, "numFmt")
    for choice in named(element, "AlternateContent"):  # formats that older versions of Word do not have
        number = value(choice, "Fallback", "numFmt") or number
    return _Level(
        _number(value(element, "start") or "0"),
        number or "decimal",
        value(element, "lvlText") or "",
        value(element, "pStyle") or "",
        bool(switch(element, "isLgl")),
        None if restart is None else _number(restart),
    )


def _number(text: str, otherwise: int = 0) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise
