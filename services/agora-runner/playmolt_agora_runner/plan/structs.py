"""Plain values into structs, naming every field at fault by its path."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.body_fields import Faults
from playmolt_schemas.text import decimal_text

from playmolt_agora_runner.folder.toml_file import code_of, explained, join

S = TypeVar("S", bound=msgspec.Struct)

_AMOUNTS: Final = frozenset(("seed", "alpha", "money", "width", "temperature", "top_p", "effect", "dispersion"))
"""Fields that hold a number as its text."""
_NAME_CHARS: Final = 40


def read(kind: type[S], values: object, path: str = "") -> S | Faults:
    """Read a struct of `kind` from plain values, strictly typed; else give all faults."""
    found, faults = partly(kind, values, path)
    return found if found is not None and not faults else tuple(faults)


def partly(kind: type[S], values: object, path: str = "") -> tuple[S | None, list[PlanFault]]:
    """Read what there is to read, and every fault. A field at fault has its default, a required number its least value;
    None where another required field is at fault.

    Of a list the entries that are sound are kept.
    """
    if not isinstance(values, dict):
        message = f"expected an object with {', '.join(kind.__struct_fields__)}"
        return None, [PlanFault(path, message, code="wrong_type")]
    declared = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    faults = [
        PlanFault(
            join(path, str(name)[:_NAME_CHARS]),
            f"unknown field; allowed fields are {', '.join(declared)}",
            code="unknown_field",
        )
        for name in values
        if name not in declared
    ]
    found: dict[str, Any] = {}
    for name, field in declared.items():
        if name in values:
            read_values, wrong = _field(field.type, _texts(name, values[name]), join(path, name))
            faults += wrong
            found |= dict.fromkeys([field.name], *read_values) if read_values else {}
            if not read_values and field.required and (stand_in := _least(field.type)) is not None:
                found[field.name] = stand_in
        elif field.required:
            faults.append(PlanFault(join(path, name), "is required", code="wrong_type"))
    whole = all(field.name in found or not field.required for field in declared.values())
    return kind(**found) if whole else None, faults


def _least(kind: object) -> int | None:
    """The least whole number that a field may hold, in place of one at fault; None for other fields."""
    bounds = [part.ge for part in _parts(kind) if isinstance(part, msgspec.Meta) and isinstance(part.ge, int)]
    return max(bounds) if bounds and int in _parts(kind) else None


def _field(kind: object, value: object, path: str) -> tuple[tuple[Any, ...], list[PlanFault]]:
    """The value in a tuple, nothing where there is none, and the faults."""
    parts = list(_parts(kind))
    inner = [part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    if inner and isinstance(value, dict):
        found, faults = partly(inner[0], value, path)
        return () if found is None else (found,), faults
    lists = [part for part in parts if get_origin(part) is tuple]
    if lists and isinstance(value, list) and len(value) > 0:
        return _list(kind, get_args(lists[0])[0], value, path)
    try:
        return (msgspec.convert(_nested(value), type=kind),), []
    except msgspec.ValidationError as error:
        return (), [_fault(error, path)]


def _parts(kind: object) -> Iterator[Any]:
    """A type and what it is made of by unions and annotations."""
    yield kind
    if get_origin(kind) in (Annotated, Union, UnionType):
        for part in get_args(kind):
            yield from _parts(part)


def _list(kind: object, each: object, values: list[object], path: str) -> tuple[tuple[Any, ...], list[PlanFault]]:
    kept, faults = [], []
    for at, value in enumerate(values):
        found, wrong = _field(each, value, f"{path}[{at}]")
        faults += wrong
        kept += [msgspec.to_builtins(sound) for sound in found]
    try:
        return (msgspec.convert(kept, type=kind),), faults
    except msgspec.ValidationError as error:
        return (), faults or [_fault(error, path)]


def _fault(error: msgspec.ValidationError, path: str) -> PlanFault:
    message, place = explained(error)
    code, name = code_of(message, "unknown_field"), (path + place).rpartition(".")[2]
    if "matching regex" in message and name in _AMOUNTS:
        message = "expected a decimal number such as 5 or 0.25"
    return PlanFault(path + place, message, code=code)


def _nested(value: object) -> object:
    """Numbers deep inside a value, as in a list of hypotheses, are texts by the same names."""
    if isinstance(value, list):
        return [_nested(inner) for inner in value]
    if isinstance(value, Mapping):
        return {name: _nested(_texts(name, inner)) for name, inner in value.items()}
    return decimal_text(value) if isinstance(value, Decimal) else value


def _texts(name: str, value: Any) -> Any:
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return decimal_text(Decimal(value)) if is_number and name in _AMOUNTS else value
