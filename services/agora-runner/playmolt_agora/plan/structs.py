"""Plain values into structs, naming every field at fault by its path."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar, get_args

import msgspec
from playmolt_core.llm.catalogue import decimal_text
from playmolt_schemas.body_fields import BodyFields, Faults
from playmolt_schemas.codes import FieldFault

S = TypeVar("S", bound=msgspec.Struct)

_AMOUNTS: Final = frozenset(("seed", "alpha", "money", "width", "temperature", "top_p"))
"""Fields that hold a number as its text."""
_PLACE = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)


def read(kind: type[S], values: Any, path: str = "") -> S | Faults:
    """Read a struct of `kind` from plain values, strictly typed; else give all faults."""
    if not isinstance(values, dict):
        return (FieldFault(path, f"expected an object with {', '.join(kind.__struct_fields__)}"),)
    declared = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    body = BodyFields(values, path)
    body.only(declared, f"there are {', '.join(declared)}")
    found: dict[str, Any] = {}
    for name, field in declared.items():
        if name in values:
            value = _field(field.type, _texts(name, values[name]), _join(path, name))
            if _is_faults(value):
                body.faults += value
            else:
                found[field.name] = value
        elif field.required:
            body.required(name)
    return tuple(body.faults) or kind(**found)


def _field(kind: Any, value: Any, path: str) -> Any:
    inner = [part for part in (kind, *get_args(kind)) if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    if inner and isinstance(value, dict):
        return read(inner[0], value, path)
    try:
        return msgspec.convert(_nested(value), type=kind)
    except msgspec.ValidationError as error:
        match = _PLACE.fullmatch(str(error))
        message, place = match.groups() if match else (str(error), "")
        name = (path + (place or "")).rpartition(".")[2]
        if "matching regex" in message and name in _AMOUNTS:
            message = "expected a decimal number such as 5 or 0.25"
        return (FieldFault(path + (place or ""), message[:1].lower() + message[1:]),)


def _nested(value: Any) -> Any:
    """Numbers deep inside a value, as in a list of hypotheses, are texts by the same names."""
    if isinstance(value, list):
        return [_nested(inner) for inner in value]
    if isinstance(value, Mapping):
        return {name: _nested(_texts(name, inner)) for name, inner in value.items()}
    return decimal_text(value) if isinstance(value, Decimal) else value


def _texts(name: str, value: Any) -> Any:
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return decimal_text(Decimal(value)) if is_number and name in _AMOUNTS else value


def _is_faults(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], FieldFault)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
