"""Parses a model's reply as an object: exact JSON, or a single object in a code fence; else a fault to repair."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from playmolt_schemas.text import unstorable

from playmolt_core.llm.port import ToolCall

FAULTS: Final = 8
"""The maximum number of faults that are reported for a reply."""
QUOTE_CHARS: Final = 80
DEPTH: Final = 64
LARGEST: Final = 2**53
"""The largest integer in canonical JSON."""

_MARK = "\ufeff"
_FENCE = re.compile(r"\A\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1\s*\Z", re.DOTALL)
_SPELT = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


class Parsed(msgspec.Struct, frozen=True):
    value: dict[str, Any]


class Unparsed(msgspec.Struct, frozen=True):
    """`detail` is for the model: what it must fix."""

    detail: str


class _ParseFault(ValueError):
    pass


def _strict_integer(_: object, value: object) -> bool:
    """JSON Schema accepts 1.0 as an integer; floats must not be stored."""
    return isinstance(value, int) and not isinstance(value, bool)


_Validator = extend(  # type: ignore[no-untyped-call]  # the stubs leave it out
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _strict_integer),
)


def parse_object(text: str, schema: Mapping[str, object] | None = None) -> Parsed | Unparsed:
    """Parse a reply that must be one JSON object valid under the schema.

    Duplicate keys, NaN, excessive numbers and nesting, NUL and lone surrogates are refused; nothing is guessed.
    """
    try:
        value = _object(_unfenced(text))
    except _ParseFault as fault:
        return Unparsed(str(fault))
    faults = schema_faults(value, schema) if schema is not None else []
    return Unparsed("; ".join(faults)) if faults else Parsed(value)


def parse_arguments(call: ToolCall, parameters: Mapping[str, object]) -> Parsed | Unparsed:
    """Parse the arguments of a tool call; an empty text is an empty object."""
    return parse_object(call.arguments if call.arguments.strip() else "{}", parameters)


def schema_faults(value: object, schema: Mapping[str, object]) -> list[str]:
    """The faults of a value under a schema with their places; at most FAULTS."""
    errors = sorted(
        _Validator(schema).iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path]
    )
    faults = [_spelt(error) for error in errors[:FAULTS]]
    return faults + ([f"and {len(errors) - FAULTS} more faults"] if len(errors) > FAULTS else [])


def _unfenced(text: str) -> str:
    bare = text.strip().strip(_MARK) if _MARK in text else text
    fence = _FENCE.match(bare)
    return fence[2] if fence else bare


def _object(text: str) -> dict[str, Any]:
    if not text.strip():
        raise _ParseFault("the reply is empty: answer with one JSON object")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, **_NUMBERS)
    except _ParseFault:
        raise
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise _ParseFault(f"no JSON: {error.msg} at {place}: answer with one JSON object and nothing else") from error
    except RecursionError:
        raise _ParseFault("the JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise _ParseFault(f"the reply is {_kind(value)}: answer with one JSON object")
    _check_texts(value)
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise _ParseFault(f"the key {_quoted(key)} stands twice in one object: give each key once")
        made[key] = value
    return made


def _no_constant(name: str) -> float:
    raise _ParseFault(f"{name} is no JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _ParseFault(f"the number {text[:QUOTE_CHARS]} is too large")
    return number


def _storable_integer(text: str) -> int:
    if len(text) > len(str(LARGEST)) + 1 or abs(int(text)) > LARGEST:
        raise _ParseFault(f"the number {text[:QUOTE_CHARS]} is too large")
    return int(text)


_NUMBERS: Final[Mapping[str, Any]] = {"parse_float": _finite, "parse_int": _storable_integer}


def _check_texts(value: object, depth: int = 0) -> None:
    if depth > DEPTH:
        raise _ParseFault("the JSON is nested too deeply")
    match value:
        case str():
            if unstorable(value):
                raise _ParseFault("a text holds NUL or half of a surrogate pair: leave it out")
        case dict():
            for key, item in value.items():
                _check_texts(key, depth + 1)
                _check_texts(item, depth + 1)
        case list():
            for item in value:
                _check_texts(item, depth + 1)


def _spelt(error: ValidationError) -> str:
    """A fault in JSON terms; the library's own messages quote Python values."""
    spell = _SPELLINGS.get(str(error.validator))
    if spell is not None:
        return f"{_place(error)}: {spell(error, error.instance, error.validator_value)}"
    rule = f"{error.validator}: {_quoted(error.validator_value)}"
    return f"{_place(error)}: {_quoted(error.instance)} breaks the rule {rule}"


def _spelt_type(_: ValidationError, value: Any, wanted: Any) -> str:
    return f"is {_kind(value)}, has to be {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"


def _spelt_required(_: ValidationError, value: Any, wanted: Any) -> str:
    return f"the keys {', '.join(_quoted(key) for key in wanted if key not in value)} are missing"


def _spelt_additional(error: ValidationError, value: Any, _: Any) -> str:
    known: Any = dict(error.schema).get("properties", {}) if isinstance(error.schema, Mapping) else {}
    extra = next((key for key in value if key not in known), "")
    return f"the key {_quoted(extra)} is not allowed; known are {', '.join(map(_quoted, known))}"


def _spelt_enum(_: ValidationError, value: Any, wanted: Any) -> str:
    return f"is {_quoted(value)}, has to be one of {', '.join(map(_quoted, wanted))}"


def _spelt_const(_: ValidationError, value: object, wanted: object) -> str:
    return f"is {_quoted(value)}, has to be {_quoted(wanted)}"


def _spelt_length(error: ValidationError, value: Any, wanted: Any) -> str:
    unit = "items" if isinstance(value, list) else "characters"
    return f"has {len(value)} {unit}, {_least_or_most(str(error.validator))} {wanted} are wanted"


def _spelt_bound(error: ValidationError, value: object, wanted: object) -> str:
    return f"is {_quoted(value)}, has to be {_least_or_most(str(error.validator))} {_quoted(wanted)}"


def _spelt_forms(error: ValidationError, value: object, _: object) -> str:
    ways = dict.fromkeys(_spelt(inner) for inner in error.context or ())
    return f"{_quoted(value)} fits none of the allowed forms ({' / '.join(list(ways)[:FAULTS])})"


_SPELLINGS: Final[Mapping[str, Callable[[ValidationError, object, object], str]]] = {
    "type": _spelt_type,
    "required": _spelt_required,
    "additionalProperties": _spelt_additional,
    "enum": _spelt_enum,
    "const": _spelt_const,
    "minItems": _spelt_length,
    "maxItems": _spelt_length,
    "minLength": _spelt_length,
    "maxLength": _spelt_length,
    "minimum": _spelt_bound,
    "maximum": _spelt_bound,
    "anyOf": _spelt_forms,
    "oneOf": _spelt_forms,
}


def _least_or_most(validator: str) -> str:
    return "at least" if validator.startswith("min") else "at most"


def _place(error: ValidationError) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return path.removeprefix(".") or "the object"


def _kind(value: object) -> str:
    return _SPELT.get(type(value)) or f"the number {_quoted(value)}"


def _quoted(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}…"
