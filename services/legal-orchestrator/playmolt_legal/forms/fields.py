"""Reading a body that came as any JSON value, naming every field at fault."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from playmolt_schemas.codes import FieldFault
from playmolt_schemas.games.action_fields import FieldReader
from playmolt_schemas.games.legal import ENTRIES, ENTRY_CHARS, Answer, EvidenceEntry, TimelineEntry

T = TypeVar("T")

_SHOWN_CHARS = 40


class Fields(FieldReader):
    """Reads the fields of one JSON object; `faults` collects what is wrong, each under its path."""

    def __init__(self, body: Mapping[str, Any], prefix: str = "") -> None:
        super().__init__(body)
        self.body = body
        self._prefix = prefix

    def only(self, known: Collection[str], why: str = "no such field") -> None:
        """Make every field that is not known a fault."""
        for name in self.body:
            if name not in known:
                shown = str(name)[:_SHOWN_CHARS].encode("utf-8", "replace").decode()
                self.fault(shown, f"{why}; there are {', '.join(sorted(known))}")

    def fault(self, name: str, message: str) -> None:
        """Note a fault of a field."""
        self.faults.append(FieldFault(self._prefix + name, message))

    def required(self, name: str) -> bool:
        """Note a fault unless the field is there."""
        if name in self.body:
            return True
        self.fault(name, "is required")
        return False

    def texts(self, name: str, most: int, *, fewest: int = 0, entries: int = ENTRIES) -> tuple[str, ...]:
        """Read a list of different texts, each of 1 to `most` characters."""
        values = self.body.get(name, [])
        if not isinstance(values, list):
            self.fault(name, "must be a list of texts")
            return ()
        if not fewest <= len(values) <= entries:
            self.fault(name, f"must hold {fewest} to {entries} texts")
            return ()
        items = Fields({f"{name}[{place}]": value for place, value in enumerate(values)}, self._prefix)
        read = tuple(items.text(item, most) for item in items.body)
        if not items.faults and len(set(read)) < len(read):
            self.fault(name, "names one thing twice")
        self._take(items)
        return read

    def narrative(self, name: str, most: int, *, blank: bool = False) -> str:
        """Read a text, or a list of texts that become its lines."""
        value = self.body.get(name)
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            value = "\n".join(value)
        inner = Fields({name: value}, self._prefix)
        text = inner.text(name, most, required=not blank)
        self._take(inner)
        return text

    def timeline(self, name: str = "timeline") -> tuple[TimelineEntry, ...]:
        """Read entries of a timeline."""
        return self._objects(name, _timeline_entry)

    def evidence(self, name: str = "evidence") -> tuple[EvidenceEntry, ...]:
        """Read pieces of evidence."""
        return self._objects(name, _evidence_entry)

    def answers(self, known: Collection[str], name: str = "answers") -> tuple[Answer, ...]:
        """Read answers to the questions of these ids."""

        def answer(inner: "Fields") -> Answer:
            inner.only(("id", "text"))
            identifier = inner.text("id", 16)
            if not inner.faults and identifier not in known:
                inner.fault("id", f"is no open question; there are {', '.join(known) or 'none'}")
            return Answer(id=identifier, text=inner.text("text", ENTRY_CHARS))

        return self._objects(name, answer)

    def inner(self, name: str) -> "Fields | None":
        """Give a reader of a field that is an object; None, and a fault, when it is none."""
        value = self.body.get(name)
        if not isinstance(value, dict):
            self.fault(name, "must be a JSON object")
            return None
        return Fields(value, f"{self._prefix}{name}.")

    def _objects(self, name: str, read: "Callable[[Fields], T]") -> tuple[T, ...]:
        values = self.body.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
            self.fault(name, "must be a list of JSON objects")
            return ()
        if len(values) > ENTRIES:
            self.fault(name, f"has {len(values)} entries, at most {ENTRIES} are taken")
            return ()
        items = []
        for place, value in enumerate(values):
            inner = Fields(value, f"{self._prefix}{name}[{place}].")
            items.append(read(inner))
            self.faults += inner.faults
        return tuple(items)

    def _take(self, inner: "Fields") -> None:
        self.faults += inner.faults

    def _fault(self, name: str, message: str) -> str:
        self.fault(name, message)
        return ""


def _timeline_entry(fields: Fields) -> TimelineEntry:
    fields.only(("when", "what", "agreed"))
    agreed = fields.flag("agreed") if "agreed" in fields.body else False
    return TimelineEntry(when=fields.text("when", ENTRY_CHARS), what=fields.text("what", ENTRY_CHARS), agreed=agreed)


def _evidence_entry(fields: Fields) -> EvidenceEntry:
    fields.only(("title", "description"))
    return EvidenceEntry(title=fields.text("title", ENTRY_CHARS), description=fields.text("description", ENTRY_CHARS))
