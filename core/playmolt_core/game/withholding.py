"""What the operator's decisions change in everything that is shown: hidden texts and replaced names.

Rules decide on the events as they are stored. What is shown is folded from `shown` events, and names are replaced in
the finished JSON, where a name is always beside the id of its agent.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec.structs import fields, replace
from playmolt_schemas.records import OpenedRecord, Record
from playmolt_schemas.stored.event import Event, elements_of, is_text, struct_in
from playmolt_schemas.text import WITHHELD, escape_line_ends

from playmolt_core.game.decider import Decider

EVERYBODY: Final = ""
"""Instead of an author: every author in a record."""
_NAMED: Final = re.compile(rb"(?:agent|owner|tournament)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TERMS: Final = "terms"
_decode, _encode = msgspec.json.decode, msgspec.json.encode
T = TypeVar("T", bound=msgspec.Struct)
R = TypeVar("R", bound=Record)


class ShownName(msgspec.Struct, frozen=True):
    """What is shown instead of an agent's own name and handle."""

    name: str
    handle: str


class Withheld:
    """The decisions in force, up to a revision. Changed by `hide` and `rename` alone."""

    def __init__(self) -> None:
        self.revision = 0
        self._texts: dict[str, dict[int, frozenset[str]]] = {}
        self._names: dict[str, ShownName] = {}

    def hide(self, stream: str, version: int, author: str, *, hidden: bool) -> None:
        """Note that the texts of an author in a record are hidden, or are shown again."""
        versions = dict(self._texts.get(stream, {}))
        authors = versions.get(version, frozenset())
        versions[version] = authors | {author} if hidden else authors - {author}
        self._texts[stream] = {at: them for at, them in versions.items() if them}
        if not self._texts[stream]:
            del self._texts[stream]

    def rename(self, subject: str, shown: ShownName | None) -> None:
        """Note what replaces the name of an agent or a tournament; None: nothing any more."""
        if shown is None:
            self._names.pop(subject, None)
        else:
            self._names[subject] = shown

    def texts(self, stream: str) -> Mapping[int, Collection[str]]:
        """The records of a stream with hidden texts, and their authors. The same object as long as nothing changes."""
        return self._texts.get(stream, _NOTHING)

    def shown(self, stream: str, version: int, event: Event) -> Event:
        """An event with what is withheld instead of its hidden texts."""
        authors = self.texts(stream).get(version)
        return event if authors is None else _shown(event, authors)

    def named(self, body: bytes) -> bytes:
        """JSON with the names that are shown."""
        if not self._names or not self._has_names(body):
            return body
        value = _decode(body)
        self._rename(value)
        return escape_line_ends(_encode(value))

    def _has_names(self, body: bytes) -> bool:
        return any(found.decode() in self._names for found in set(_NAMED.findall(body)))

    def _rename(self, value: object) -> None:
        if isinstance(value, dict):
            shown = self._names.get(_id_in(value))
            if shown is not None:
                for within in _named_in(value):
                    for field, text in (("name", shown.name), ("handle", shown.handle)):
                        if isinstance(within.get(field), str):
                            within[field] = text
        for inner in _inner(value):
            self._rename(inner)

    def record(self, decider: Decider | None, record: Record) -> Record:
        """A record as a stranger gets it: null for what is withheld, whose paths are beside it."""
        authors = self.texts(record.stream).get(record.version)
        whole = record.stream in self._names
        if authors is None and not whole and not (self._names and self._has_names(bytes(record.data))):
            return record
        data, paths = _decode(record.data), list[str]()
        kind = decider.events.get((record.type, record.schema_version)) if decider else None
        if authors is not None and kind is not None:
            _empty_texts(kind, data, authors, "data", paths)
        if whole and isinstance(data.get(_TERMS), dict):
            _empty_name(data[_TERMS], f"data.{_TERMS}", paths)
        self._empty_names(data, "data", paths)
        if not paths:
            return record
        parts = {name: getattr(record, name) for name in Record.__struct_fields__}
        return OpenedRecord(**parts | {"data": msgspec.Raw(_encode(data))}, withheld=tuple(sorted(paths)))

    def _empty_names(self, value: object, path: str, paths: list[str]) -> None:
        if isinstance(value, dict) and _id_in(value) in self._names:
            _empty_name(value, path, paths)
        for key, inner in _places(value):
            self._empty_names(inner, f"{path}.{key}", paths)


def _empty_name(value: dict[str, object], path: str, paths: list[str]) -> None:
    for field in ("name", "handle"):
        if isinstance(value.get(field), str):
            value[field] = None
            paths.append(f"{path}.{field}")


_NOTHING: Final[Mapping[int, Collection[str]]] = {}


def without_texts(event: Event) -> Event:
    """An event with what is withheld instead of all texts in it."""
    return _shown(event, (EVERYBODY,))


def _shown(value: T, authors: Collection[str], author: str = "") -> T:
    author = getattr(value, "agent_id", author)
    changes: dict[str, object] = {}
    for field in fields(type(value)):
        held = getattr(value, field.name)
        if is_text(field.type):
            if held is not None and (EVERYBODY in authors or author in authors):
                changes[field.name] = WITHHELD
        elif isinstance(held, msgspec.Struct):
            changes[field.name] = _shown(held, authors, author)
        elif isinstance(held, tuple) and held and isinstance(held[0], msgspec.Struct):
            changes[field.name] = tuple(_shown(one, authors, author) for one in held)
    return replace(value, **changes) if changes else value


def _empty_texts(
    kind: type, value: object, authors: Collection[str], path: str, paths: list[str], author: str = ""
) -> None:
    if not isinstance(value, dict):
        return
    author = value.get("agent_id", author)
    for field in fields(kind):
        name = field.encode_name
        if is_text(field.type) and value.get(name) is not None and (EVERYBODY in authors or author in authors):
            value[name] = None
            paths.append(f"{path}.{name}")
        for element in elements_of(field.type):
            for number, one in enumerate(value.get(name, ())):
                _empty_texts(element, one, authors, f"{path}.{name}.{number}", paths, author)
        if (inner := struct_in(field.type)) is not None:
            _empty_texts(inner, value.get(name), authors, f"{path}.{name}", paths, author)


def is_partial(record: object) -> bool:
    """Whether the hash of a record cannot be computed, because something in it is withheld."""
    return isinstance(record, OpenedRecord) and record.partial


def readable(record: R) -> R:
    """A record that rules can read: a placeholder replaces what is withheld."""
    if not is_partial(record):
        return record
    data = _decode(record.data)
    for path in getattr(record, "withheld", ()):
        _fill(data, path.split(".")[1:])
    return replace(record, data=msgspec.Raw(_encode(data)))


def _fill(value: object, path: Sequence[str]) -> None:
    """Put the placeholder where a path of a copy leads to null; a copy may contain anything."""
    for place, key in enumerate(path):
        last = place == len(path) - 1
        if isinstance(value, dict) and key in value:
            if last and value[key] is None:
                value[key] = WITHHELD
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return


def _id_in(value: Mapping[str, object]) -> str:
    found = value.get("agent_id") or value.get("id") or value.get("tournament_id")
    return found if isinstance(found, str) else ""


def _named_in(value: dict[str, object]) -> Iterable[dict[str, object]]:
    """Where the name of what a value is about can be: in it, and of a tournament in the terms that it announces."""
    terms = value.get(_TERMS)
    return (value, terms) if isinstance(terms, dict) else (value,)


def _inner(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _places(value: object) -> Iterable[tuple[object, object]]:
    return value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
