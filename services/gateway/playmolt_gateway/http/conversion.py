"""Bodies and query values as their declared types, strictly; a fault is told by its field, in words of a caller."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import unquote_plus

import msgspec
from playmolt_core.ops.json_values import whole_numbers
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.routes.route import LARGEST

from playmolt_gateway.http.problems import Refusal, bad_request

T = TypeVar("T")

_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(.*?)`(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_MISSING: Final = re.compile(r"^Object missing required field `(.*?)`(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_AT: Final = re.compile(r"^(.*?)(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_BOUND: Final = re.compile(r"^Expected `(\w+)` (?:of length )?([<>]=?) (-?[\d.]+)$")
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a JSON object",
    "null": "null",
}
_COUNTED: Final = {"str": "characters", "array": "items", "object": "fields"}
_SEE: Final = "/openapi.json describes what this call takes."


def convert(value: Any, kind: type[T]) -> T | Refusal:
    """Check a parsed value against its declared type."""
    try:
        return msgspec.convert(whole_numbers(value), kind)
    except UnicodeEncodeError:
        return bad_request(f"A field's name holds a lone surrogate. {_SEE}")
    except msgspec.ValidationError as error:
        fault = _fault(str(error), kind)
        if not fault.field:
            return bad_request(f"The body {fault.message}. {_SEE}")
        return bad_request(f"{fault.field} {fault.message}. {_SEE}", fault)


def _fault(text: str, kind: Any) -> FieldFault:
    if match := _UNKNOWN.match(text):
        return FieldFault(_path(match[2], match[1][:64]), "is no field of this call")
    if match := _MISSING.match(text):
        return FieldFault(_path(match[2], match[1]), "is missing")
    match = _AT.match(text)
    told, field = (match[1], match[2] or "") if match else (text, "")
    return FieldFault(field, f"must be {_wanted(told, kind, field)}")


def _path(inside: str | None, name: str) -> str:
    return f"{inside}.{name}" if inside else name


def _wanted(told: str, kind: Any, field: str) -> str:
    annotation = _annotation(kind, field)
    if choices := tuple(dict.fromkeys(_choices(annotation))):
        return f"one of {', '.join(choice or 'nothing' for choice in choices)}"
    meant = next((note.extra["is"] for note in _notes(annotation) if note.extra), "")
    if match := _BOUND.match(told):
        return _bound(match[1], match[2], match[3], meant)
    expected = told.removeprefix("Expected `").partition("`")[0]
    return meant or " or ".join(_KINDS[part] for part in expected.split(" | ") if part in _KINDS) or "of another kind"


def _bound(kind: str, sign: str, limit: str, meant: str) -> str:
    side = "at least" if sign.startswith(">") else "at most"
    if counted := _COUNTED.get(kind):
        return f"{_KINDS[kind]} of {side} {limit} {counted if limit != '1' else counted[:-1]}"
    return f"{meant or _KINDS[kind]}, {side} {limit.removesuffix('.0')}"


def _annotation(kind: Any, field: str) -> Any:
    names = {known.encode_name: known.name for known in msgspec.structs.fields(kind)}
    return get_type_hints(kind, include_extras=True)[names[field]] if field in names else None


def _notes(annotation: Any) -> Iterator[msgspec.Meta]:
    """What is noted of a type, and of the types that it is made of."""
    for part in get_args(annotation):
        if isinstance(part, msgspec.Meta):
            yield part
        yield from _notes(part)


def _choices(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
        return
    for part in get_args(annotation):
        yield from _choices(part)


_INTEGER: Final = re.compile(r"-?[0-9]{1,400}", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in query_string.decode("latin-1").split("&") if part]
    return [(unquote_plus(name), unquote_plus(value, errors="replace")) for name, _, value in parts]


def _typed(text: str, annotation: str) -> Any:
    """Read a value as its field wants it; what does not fit stays text, for the type's check to refuse."""
    if "int" in annotation and _INTEGER.fullmatch(text):
        return max(-LARGEST - 1, min(int(text), LARGEST + 1))  # past every bound, and no number of 400 digits
    if "float" in annotation and _DECIMAL.fullmatch(text):
        return float(text)
    if "bool" in annotation and text in ("true", "false"):
        return text == "true"
    return text


def parse_query(query_string: bytes, kind: Any, *, overruled: Collection[str] = ()) -> Any | Refusal:
    """Read a query string into the route's Query struct. A value that something else overrules is not looked at."""
    if not query_string or kind.unread:
        return kind()
    names = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for name, text in _pairs(query_string):
        if name in overruled and name in names:
            continue
        if name in values:
            return bad_request(f"{name[:64]} is given twice.", FieldFault(name[:64], "is given twice"))
        if name not in names:
            known = ", ".join(names) or "none"
            return bad_request(
                f"There is no query value {name[:64]!r} here; known: {known}.",
                FieldFault(name[:64], "there is no such query value"),
            )
        values[name] = _typed(text, str(hints[names[name]]))
    return convert(values, kind)
