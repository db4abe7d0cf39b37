"""JSON as clients send it."""

import json
from typing import Any

import msgspec


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def parse_json(body: bytes) -> Any:
    """Decode a JSON body; ValueError when it is none.

    A lone surrogate (`"\\ud800"`) is valid JSON that msgspec does not take; it is let through so that the rules can
    name the field at fault.
    """
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        if b"\\u" not in body:
            raise
        return json.loads(body, parse_constant=_refuse_constant)
