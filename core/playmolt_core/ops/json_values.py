"""JSON as clients send it."""

import json
from typing import Any

import msgspec


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def whole_numbers(value: Any) -> Any:
    """Convert 3.0 to 3: JSON Schema and RFC 8785 treat them as equal, and a client's JSON library may write either."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {key: whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return value


def parse_json(body: bytes) -> Any:
    """Decode a JSON body. Raises ValueError.

    A lone surrogate (`"\\ud800"`) is valid JSON that msgspec rejects. It is accepted here, and the rules then name the
    invalid field.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if b"\\u" not in body:
            raise
        return json.loads(body, parse_constant=_refuse_constant)
