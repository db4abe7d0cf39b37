"""JSON Schemas in the words that servers hold a model to while it writes (`docs/models.md`, Servers).

What a grammar cannot say is left out here and checked on the reply, by the schema itself: servers drop words that they
do not know without saying so, and some then write what is not JSON.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

ITEMS_MOST: Final = 32
"""The bound of lists without one of their own: a small model lists until its tokens end."""
_SHORT: Final = 64
"""The longest text with a bound in a grammar; longer ones would make it too large."""
_KEPT: Final = frozenset({
    "type", "description", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems",
    "maxItems", "anyOf", "$ref", "$defs", "enum", "const",
})  # fmt: skip
BOUNDS: Final = (
    "maxLength", "maxItems", "minItems", "pattern", "format", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum",
)  # fmt: skip
"""The words that a strict service may refuse; it is then sent none of them."""
_OF_INTEGERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FORMATS: Final = ("date", "date-time")
_SCHEMAS: Final = frozenset({"properties", "$defs"})
"""Words whose values map names to schemas; a field may be called `title`."""
_ANCHORED: Final = re.compile(r"\^(?P<inner>.*)\$", re.DOTALL)
_UNSAFE: Final = re.compile(r"(?<!\\)\.|\(\?|\[\^|\\[SWDsbB1-9]|[\"^$]|\\\\")
"""Parts of a pattern that let quotation marks or line ends into a text bare, or that no grammar has."""


def portable(schema: Any, text_chars: int | None = None, *, bounds: bool = True) -> Any:
    """The schema for a server. `text_chars` bounds long texts, too: a model that repeats itself ends its text there
    instead of at its token limit. Without `bounds` only types, fields and choices remain."""
    if isinstance(schema, list):
        return [portable(part, text_chars, bounds=bounds) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        # What lies beside a reference is dropped by some servers.
        return {"$ref": schema["$ref"]} | _defs(schema, text_chars, bounds)
    kept = {word: _kept(word, schema[word], text_chars, bounds) for word in schema if word in _KEPT}
    one = schema.get("oneOf") or schema.get("allOf") or ()
    if "anyOf" not in kept and (len(one) == 1 or "oneOf" in schema):
        ways = [portable(way, text_chars, bounds=bounds) for way in one]
        kept |= ways[0] if len(ways) == 1 else {"anyOf": ways}
    if "enum" in kept and all(isinstance(value, str) for value in kept["enum"]):
        kept = {"type": "string", **kept}
    if not bounds:
        return {word: value for word, value in kept.items() if word not in BOUNDS}
    return kept | _text_bounds(schema, kept, text_chars) | _number_bounds(schema, kept) | _list_bounds(kept)


def _kept(word: str, value: Any, text_chars: int | None, bounds: bool) -> Any:
    if word in _SCHEMAS:
        return {name: portable(part, text_chars, bounds=bounds) for name, part in value.items()}
    return value if word in ("enum", "const", "required") else portable(value, text_chars, bounds=bounds)


def _defs(schema: Mapping[str, Any], text_chars: int | None, bounds: bool) -> dict[str, Any]:
    return {"$defs": _kept("$defs", schema["$defs"], text_chars, bounds)} if "$defs" in schema else {}


def _text_bounds(schema: Mapping[str, Any], kept: Mapping[str, Any], text_chars: int | None) -> dict[str, Any]:
    """One bound of a text: beside a pattern a length would be dropped."""
    if kept.get("type") != "string" or "enum" in kept or "const" in kept:
        return {}
    if _holds(schema.get("pattern")):
        return {"pattern": schema["pattern"]}
    if schema.get("format") in _FORMATS:
        return {"format": schema["format"]}
    most = schema.get("maxLength")
    if isinstance(most, int) and most <= _SHORT:
        return {"maxLength": most}
    if text_chars:
        return {"maxLength": min(text_chars, most or text_chars)}
    return {}


def _holds(pattern: object) -> bool:
    """Whether a grammar can hold a text to a pattern, and the text stays JSON."""
    found = _ANCHORED.fullmatch(pattern) if isinstance(pattern, str) else None
    return found is not None and not _UNSAFE.search(found["inner"])


def _number_bounds(schema: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    if kept.get("type") != "integer":
        return {}
    return {word: schema[word] for word in _OF_INTEGERS if word in schema}


def _list_bounds(kept: Mapping[str, Any]) -> dict[str, Any]:
    fixed = "prefixItems" in kept and "items" not in kept
    return {"maxItems": ITEMS_MOST} if kept.get("type") == "array" and not fixed and "maxItems" not in kept else {}
