"""Plain values into structs, naming every field at fault by its path."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from playmolt_schemas.agora.plan import FaultCode, PlanFault
from playmolt_schemas.stored.agora.plan import NAME

S = TypeVar("S", bound=msgspec.Struct)
_Read = tuple[tuple[Any, ...], list[PlanFault]]
"""The value in a tuple, nothing where there is none, and the faults."""

_NAME_CHARS: Final = 40
_AT: Final = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)


class StructReader(msgspec.Struct, frozen=True):
    """How a file calls what it holds: an object's fields, or a table's keys.

    With `fills` a required number at fault has its least value, a list of numbers that alone.
    """

    whole: str
    part: str
    unknown: FaultCode
    fills: bool = False

    def partly(self, kind: type[S], values: object, path: str = "") -> tuple[S | None, list[PlanFault]]:
        """Read what there is to read, strictly typed, and every fault. A field at fault has its default; None where a
        required one is at fault. Of a list or a table of entries those that are sound are kept.
        """
        declared = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        if not isinstance(values, Mapping):
            message = f"expected {self.whole} with {', '.join(declared)}"
            return None, [PlanFault(path, message, code="wrong_type")]
        allowed = f"unknown {self.part}; allowed {self.part}s are {', '.join(declared)}"
        faults = [
            PlanFault(join(path, str(name)[:_NAME_CHARS]), allowed, code=self.unknown)
            for name in values
            if name not in declared
        ]
        found: dict[str, Any] = {}
        for name, field in declared.items():
            if name in values:
                read, wrong = self._value(field.type, values[name], join(path, name))
                faults += wrong
                found |= dict.fromkeys([field.name], *read) if read else {}
                if self.fills and not read and field.required and (stand_in := _stand_in(field.type)) is not None:
                    found[field.name] = stand_in
            elif field.required:
                faults.append(PlanFault(join(path, name), "is required", code="wrong_type"))
        whole = all(field.name in found or not field.required for field in declared.values())
        return kind(**found) if whole else None, faults

    def _value(self, kind: object, value: object, path: str) -> _Read:
        parts = list(_parts(kind))
        structs = [part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct)]
        if structs and isinstance(value, Mapping):
            found, faults = self.partly(structs[0], value, path)
            return () if found is None else (found,), faults
        inner = {get_origin(part): get_args(part) for part in parts}
        if tuple in inner and isinstance(value, list) and value:
            each = [self._value(inner[tuple][0], one, f"{path}[{at}]") for at, one in enumerate(value)]
            return self._converted(kind, [sound for read, _ in each for sound in read], each, path)
        if dict in inner and isinstance(value, Mapping):
            # Entry by entry: msgspec names the table alone.
            key, of = inner[dict]
            entries = {name: self._entry(key, name, of, one, join(path, name)) for name, one in value.items()}
            sound = {name: read[0] for name, (read, _) in entries.items() if read}
            return self._converted(kind, sound, entries.values(), path)
        return self._converted(kind, value, (), path)

    def _entry(self, key: object, name: str, kind: object, value: object, path: str) -> _Read:
        _, faults = self._converted(key, name, (), path)
        return ((), faults) if faults else self._value(kind, value, path)

    def _converted(self, kind: object, value: object, parts: Iterable[_Read], path: str) -> _Read:
        faults = [fault for _, wrong in parts for fault in wrong]
        try:
            return (msgspec.convert(msgspec.to_builtins(value), type=kind),), faults
        except msgspec.ValidationError as error:
            message, place = explained(error)
        if "matching regex" in message and r"\." in message:
            message = "expected a decimal number such as 5 or 0.25"
        if f"regex '{NAME}'" in message:
            message = "is not a valid name: a-z, then a-z, 0-9 and _, at most 32"
        message += f"; choose from {', '.join(_choices(kind))}" if "enum value" in message else ""
        return (), faults or [PlanFault(path + place, message, code=self._code(message))]

    def _code(self, message: str) -> FaultCode:
        """msgspec reports types as `Expected int, got str`."""
        if "unknown field" in message:
            return self.unknown
        return "wrong_type" if ", got" in message or "missing required" in message else "out_of_range"


def _stand_in(kind: object) -> object:
    """The least whole number that a field may hold, in a list if it is one, in place of one at fault; or None."""
    parts = list(_parts(kind))
    listed = next((part for part in parts if get_origin(part) is tuple), None)
    if listed is not None:
        entry = _stand_in(get_args(listed)[0])
        return None if entry is None else (entry,)
    bounds = [part.ge for part in parts if isinstance(part, msgspec.Meta) and isinstance(part.ge, int)]
    return max(bounds) if bounds and int in parts else None


def _parts(kind: object) -> Iterator[Any]:
    """A type and what it is made of by unions and annotations."""
    yield kind
    if get_origin(kind) in (Annotated, Union, UnionType):
        for part in get_args(kind):
            yield from _parts(part)


def _choices(kind: object) -> tuple[str, ...]:
    """The names that a value may be, in a list or not."""
    args = get_args(kind)
    if get_origin(kind) is Literal:
        return tuple(map(str, args))
    return tuple(name for each in args for name in _choices(each))


def explained(error: msgspec.ValidationError) -> tuple[str, str]:
    """What is wrong, and the path of the value that it is wrong with."""
    match = _AT.fullmatch(str(error))
    message, place = match.groups() if match else (str(error), "")
    return message[:1].lower() + message[1:], place or ""


def join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
