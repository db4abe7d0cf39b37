"""Layers of a PDF (optional content): which of its parts a reader sees when the file is opened."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, PdfObject

_MOST: Final = 5000
_DEPTH: Final = 8


class Layers:
    """The layers that are off in the document's own configuration."""

    def __init__(self, reader: PdfReader) -> None:
        properties = _dictionary(reader.root_object, "/OCProperties")
        settings = _dictionary(properties, "/D")
        groups = {id(each): each for each in _dictionaries(properties, "/OCGs")}
        self._off = set(groups) if settings.get("/BaseState") == "/OFF" else set[int]()
        self._off -= set(map(id, _dictionaries(settings, "/ON")))
        self._off |= set(map(id, _dictionaries(settings, "/OFF")))
        for rule in _dictionaries(settings, "/AS"):
            if rule.get("/Event") == "/View":
                self._set_for_screens(rule)

    def _set_for_screens(self, rule: DictionaryObject) -> None:
        """Layers that the file shows or hides by what it is used for: here, on a screen."""
        for group in _dictionaries(rule, "/OCGs"):
            state = _dictionary(_dictionary(group, "/Usage"), "/View").get("/ViewState")
            if state == "/OFF":
                self._off.add(id(group))
            elif state == "/ON":
                self._off.discard(id(group))

    def hide(self, content: object) -> bool:
        """Whether a layer, or a rule about several, leaves out what refers to it."""
        if not isinstance(content, DictionaryObject):
            return False
        if content.get("/Type") != "/OCMD":
            return id(content) in self._off
        condition = _value(content, "/VE")
        if isinstance(condition, ArrayObject):
            return not self._holds(condition, _DEPTH)
        groups = _value(content, "/OCGs")
        listed = [groups] if isinstance(groups, DictionaryObject) else list(_dictionaries(content, "/OCGs"))
        off = [id(each) in self._off for each in listed]
        if not off:
            return False
        shown = {"/AllOn": not any(off), "/AnyOff": any(off), "/AllOff": all(off)}
        return not shown.get(str(content.get("/P", "/AnyOn")), not all(off))

    def _holds(self, condition: PdfObject | None, depth: int) -> bool:
        """The value of an expression of /And, /Or, /Not over layers."""
        if not isinstance(condition, ArrayObject) or not condition or not depth:
            return id(condition) not in self._off
        parts = [self._holds(each.get_object(), depth - 1) for each in islice(condition, 1, _MOST)]
        match str(condition[0]):
            case "/Not":
                return not all(parts)
            case "/Or":
                return any(parts)
        return all(parts)


def _value(holder: DictionaryObject, key: str) -> PdfObject | None:
    found = holder.get(key)
    return found.get_object() if isinstance(found, PdfObject) else None


def _dictionary(holder: DictionaryObject, key: str) -> DictionaryObject:
    found = _value(holder, key)
    return found if isinstance(found, DictionaryObject) else DictionaryObject()


def _dictionaries(holder: DictionaryObject, key: str) -> Iterator[DictionaryObject]:
    listed = _value(holder, key)
    for each in islice(listed, _MOST) if isinstance(listed, ArrayObject) else ():
        found = each.get_object()
        if isinstance(found, DictionaryObject):
            yield found
