"""Compares a file's content with the expected type and reports every difference, not only the first."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from playmolt_core.game.packs.faults import PackFlaw, Path

_NAMES: Final[Mapping[type, str]] = {
    inspect.StrType: "a text in quotes",
    inspect.IntType: "a whole number",
    inspect.BoolType: "true or false",
}
_PYTHON: Final[Mapping[type, type]] = {inspect.StrType: str, inspect.IntType: int, inspect.BoolType: bool}


def misshapen(file: str, value: object, kind: object) -> Iterator[PackFlaw]:
    """How a value differs from a type of structs, tuples, dicts, strings, numbers and literals."""
    yield from _walk(file, (), value, inspect.type_info(kind))


def _walk(file: str, path: Path, value: object, kind: inspect.Type) -> Iterator[PackFlaw]:
    match kind:
        case inspect.Metadata(type=inner):
            yield from _walk(file, path, value, inner)
        case inspect.StructType():
            yield from _struct(file, path, value, kind)
        case inspect.DictType(value_type=inner):
            if not isinstance(value, dict):
                yield _wrong(file, path, "a table")
                return
            for key, each in value.items():
                yield from _walk(file, (*path, key), each, inner)
        case inspect.VarTupleType(item_type=inner):
            if not isinstance(value, list):
                yield _wrong(file, path, "a list")
                return
            for place, each in enumerate(value):
                yield from _walk(file, (*path, place), each, inner)
        case inspect.LiteralType(values=values):
            if not any(value == each and type(value) is type(each) for each in values):
                yield _wrong(file, path, f"one of {', '.join(map(str, values))}")
        case _:
            # bool is a subclass of int in Python only.
            if type(value) is not _PYTHON[type(kind)]:
                yield _wrong(file, path, _NAMES[type(kind)])


def _struct(file: str, path: Path, value: object, kind: inspect.StructType) -> Iterator[PackFlaw]:
    if not isinstance(value, dict):
        yield _wrong(file, path, "a table")
        return
    fields = {field.encode_name: field for field in kind.fields}
    for key in value:
        if key not in fields:
            known = ", ".join(fields)
            yield PackFlaw(file, (*path, key), "unknown_key", f"unknown key {key}; remove it, or use one of {known}")
    for name, field in fields.items():
        if name in value:
            yield from _walk(file, (*path, name), value[name], field.type)
        elif field.required:
            yield PackFlaw(file, path, "missing_key", f"{_place(path)}{name} is missing; add it")


def _wrong(file: str, path: Path, wanted: str) -> PackFlaw:
    return PackFlaw(file, path, "wrong_type", f"{'.'.join(map(str, path)) or 'the file'} must be {wanted}")


def _place(path: Path) -> str:
    return f"{'.'.join(map(str, path))}: " if path else ""


def built(value: object, kind: object) -> Any:
    """The value converted to a type that it matches."""
    return msgspec.convert(value, type=kind)
