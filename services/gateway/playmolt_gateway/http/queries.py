"""Query values: declared ones only, each at most once, strict."""

import re
from collections.abc import Collection
from typing import Any, Final, get_type_hints
from urllib.parse import unquote_plus

import msgspec
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.routes.route import LARGEST

from playmolt_gateway.http.conversion import convert
from playmolt_gateway.http.problems import Refusal, bad_request

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
