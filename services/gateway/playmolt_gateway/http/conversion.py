"""Strict conversion of bodies and query values to their declared types, with a readable fault per field."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import unquote_plus

import msgspec
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.routes.route import LARGEST
from playmolt_schemas.skill import language_named

from playmolt_gateway.http.problems import HttpProblem, bad_request

T = TypeVar("T")

_UNKNOWN: Final = re.compile(r"^Object contains unknown field `(.*?)`(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_MISSING: Final = re.compile(r"^Object missing required field `(.*?)`(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_AT: Final = re.compile(r"^(.*?)(?: - at `\$\.?(.+)`)?$", re.DOTALL)
_BOUND: Final = re.compile(r"^Expected `(\w+)` (?:of length )?([<>]=?) (-?[\d.]+)$")
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a JSON object",
    "null": "null",
}
_COUNTED: Final = {"str": "characters", "array": "items", "object": "fields"}
_SEE: Final = "See /openapi.json."


_NAMED: Final = 5
"""Faults in the text of a refusal; its `errors` list all."""


def convert(value: object, kind: type[T]) -> T | HttpProblem:
    """Check a value that `parse` returned against its declared type. A refusal names every invalid field."""
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:
        return bad_request(f"A field name contains a lone surrogate. {_SEE}")
    except msgspec.ValidationError as error:
        faults = tuple(_field_faults(value, kind)) or (_fault(str(error), kind),)
        if not faults[0].field:
            return bad_request(f"The body {faults[0].message}. {_SEE}")
        listed = "; ".join(f"{fault.field} {fault.message}" for fault in faults[:_NAMED])
        return bad_request(f"{listed}. {_SEE}", *faults)


def _field_faults(value: Any, kind: Any) -> Iterator[FieldFault]:
    """The faults of an object, field by field: msgspec stops at the first."""
    if not isinstance(value, dict):
        return
    declared = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in value:
        if name not in declared:
            yield FieldFault(name[:64].encode("utf-8", "replace").decode(), "is an unknown field")
    for name, field in declared.items():
        if name not in value:
            if field.required:
                yield FieldFault(name, "is missing")
            continue
        try:
            msgspec.convert({name: value[name]}, _alone(kind, name))
        except msgspec.ValidationError as error:
            yield _fault(str(error), kind)
        except UnicodeEncodeError:
            yield FieldFault(name, "has a field name that contains a lone surrogate")


@cache
def _alone(kind: Any, name: str) -> type[msgspec.Struct]:
    """A struct with one field of another."""
    field = next(field for field in msgspec.structs.fields(kind) if field.encode_name == name)
    return msgspec.defstruct("Alone", [(field.name, field.type)], rename={field.name: name})


def _fault(text: str, kind: object) -> FieldFault:
    if match := _UNKNOWN.match(text):
        return FieldFault(_path(match[2], match[1][:64]), "is an unknown field")
    if match := _MISSING.match(text):
        return FieldFault(_path(match[2], match[1]), "is missing")
    match = _AT.match(text)
    fault, field = (match[1], match[2] or "") if match else (text, "")
    return FieldFault(field, f"must be {_wanted(fault, kind, field)}")


def _path(inside: str | None, name: str) -> str:
    return f"{inside}.{name}" if inside else name


def _wanted(fault: str, kind: object, field: str) -> str:
    name, _, item = field.partition("[")
    annotation = _annotation(kind, name)
    match = _BOUND.match(fault)
    if choices := tuple(dict.fromkeys(_choices(annotation))):
        listed = f"one of {', '.join(choice or 'empty' for choice in choices)}"
        if item or not _is_list(annotation):
            return listed
        return f"{_bound(match[1], match[2], match[3], '') if match else _KINDS['array']}, each {listed}"
    meant = next((note.extra["is"] for note in _notes(annotation) if note.extra), "")
    if match:
        return _bound(match[1], match[2], match[3], meant)
    expected = fault.removeprefix("Expected `").partition("`")[0]
    return (
        meant or " or ".join(_KINDS[part] for part in expected.split(" | ") if part in _KINDS) or "of a different type"
    )


def _bound(kind: str, sign: str, limit: str, meant: str) -> str:
    side = "at least" if sign.startswith(">") else "at most"
    if counted := _COUNTED.get(kind):
        return f"{_KINDS[kind]} of {side} {limit} {counted if limit != '1' else counted[:-1]}"
    return f"{meant or _KINDS[kind]}, {side} {limit.removesuffix('.0')}"


def _annotation(kind: Any, field: str) -> Any:
    names = {known.encode_name: known.name for known in msgspec.structs.fields(kind)}
    return get_type_hints(kind, include_extras=True)[names[field]] if field in names else None


def patterns(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Field → the pattern of its text in the JSON Schema, for texts that have one."""
    return {
        name: note.extra_json_schema["pattern"]
        for name, annotation in get_type_hints(kind, include_extras=True).items()
        for note in _notes(annotation)
        if note.extra_json_schema and "pattern" in note.extra_json_schema
    }


def _notes(annotation: object) -> Iterator[msgspec.Meta]:
    """The annotations of a type and of its parts."""
    for part in get_args(annotation):
        if isinstance(part, msgspec.Meta):
            yield part
        yield from _notes(part)


def _is_list(annotation: object) -> bool:
    """Whether a type is a list, or may be one."""
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))


def _choices(annotation: object) -> Iterator[str]:
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


def _typed(text: str, annotation: str) -> object:
    """Parse a value for its field's type; unparsable text is left for the type check to refuse."""
    if "int" in annotation and _INTEGER.fullmatch(text):
        return max(-LARGEST - 1, min(int(text), LARGEST + 1))  # stays beyond every bound without a 400-digit number
    if "float" in annotation and _DECIMAL.fullmatch(text):
        return float(text)
    if "bool" in annotation and text in ("true", "false"):
        return text == "true"
    return text


@cache
def _annotations(kind: type[msgspec.Struct]) -> Mapping[str, str]:
    """The declared types of a query's parameters."""
    hints = get_type_hints(kind)
    return {field.encode_name: str(hints[field.name]) for field in msgspec.structs.fields(kind)}


def parse_query(
    query_string: bytes, kind: Any, *, overruled: Collection[str] = (), lenient: bool = False
) -> Any | HttpProblem:
    """Parse a query string into the route's Query struct, ignoring the names in `overruled`.

    `lenient`: ignore undeclared names instead of refusing them.
    """
    if not query_string or kind.unread:
        return kind()
    names = _annotations(kind)
    values: dict[str, Any] = {}
    for name, text in _pairs(query_string):
        if (name in overruled and name in names) or (lenient and name not in names):
            continue
        if name in values:
            return bad_request(f"{name[:64]} is given twice.", FieldFault(name[:64], "is given twice"))
        if name not in names:
            known = ", ".join(names) or "none"
            return bad_request(
                f"Unknown query parameter {name[:64]!r}. Known: {known}.",
                FieldFault(name[:64], "is unknown"),
            )
        values[name] = (language_named(text) or text) if name == "lang" else _typed(text, names[name])
    return convert(values, kind)
