"""A value of one of several types, as generators of clients can compile it."""

import re
from typing import Any, Final

_NULL: Final = {"type": "null"}
_OTHERS: Final = ["boolean", "number", "object"]


def compiled(schema: Any) -> Any:
    """The schema, of the same values: a list beside a text says no type, no default stands beside several types, and
    an array of anything says so.

    Generators name a class for each type of an `anyOf`, and a list has none; a default they give to the type of them
    all; an array without `items` they leave out.
    """
    if isinstance(schema, list):
        return [compiled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: compiled(value) for key, value in schema.items()}
    if plain.get("type") == "array" and not plain.keys() & {"items", "prefixItems"}:
        plain["items"] = {}
    choices = [choice for choice in plain.get("anyOf", ()) if choice != _NULL]
    if len(choices) < 2:
        return plain
    plain.pop("default", None)
    return _untyped(plain, choices) if sorted(map(_type, choices)) == ["array", "string"] else plain


def _type(schema: dict[str, Any]) -> str:
    return str(schema.get("type"))


def _untyped(schema: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Bounds of texts say nothing of lists, nor those of lists of texts."""
    untyped = {"description": "A list, or a text."}
    for choice in choices:
        untyped |= {key: value for key, value in choice.items() if key not in ("type", "enum", "description")}
        if "enum" in choice:
            untyped["pattern"] = f"^(?:{'|'.join(map(re.escape, choice['enum']))})$(?!\\n)"
    untyped |= {key: value for key, value in schema.items() if key != "anyOf"}
    nullable = _NULL in schema["anyOf"]
    # A word of older documents, which generators read: without it they send null where nothing is given.
    return untyped | {"not": {"type": _OTHERS if nullable else ["null", *_OTHERS]}, "nullable": nullable}
