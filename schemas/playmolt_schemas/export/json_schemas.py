"""JSON Schema 2020-12 of every message: one file each, complete in itself."""

import inspect
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, Final, get_args

import msgspec

from playmolt_schemas import cards, envelopes, records
from playmolt_schemas.codes import Problem
from playmolt_schemas.export import wire
from playmolt_schemas.export.files import json_file
from playmolt_schemas.game_messages import PublicMessage
from playmolt_schemas.routes import ROUTES, Media, OneOf

FOLDER: Final = "schemas/json/messages"
STORED_FOLDER: Final = "schemas/json/stored"

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_STAMPED: Final = {
    "game_id": {"type": "string"},
    "version": {"type": "integer", "minimum": 1},
    "at": {"type": "string", "format": "date-time", "description": "RFC 3339, UTC, six decimals."},
}
"""What the host adds to every public message."""
_PACKED: Final = (
    "An array in the order of the fields. It travels as MessagePack: what is base64 text in JSON is binary there."
)


def leaves(kind: Any) -> tuple[type, ...]:
    """Give the message types that a request, an answer or a union of a route stands for."""
    if isinstance(kind, OneOf):
        return tuple(leaf for part in kind.kinds for leaf in leaves(part))
    if isinstance(kind, Media):
        return leaves(kind.item)
    if isinstance(kind, UnionType):
        return tuple(leaf for part in get_args(kind) for leaf in leaves(part))
    return (kind,) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def messages() -> dict[str, type]:
    """Give name → type of every message; a name is module and class, as in `trial.Speak`."""
    routed = [leaf for route in ROUTES for kind in (route.request, *route.answers.values()) for leaf in leaves(kind)]
    others = [
        Problem, records.Record, records.Metadata, cards.Card, cards.LobbyMessage, envelopes.Call, envelopes.Answer,
        wire.Progress, wire.Heartbeat, wire.Projected, wire.Lag, wire.Presence, wire.FenceHeaders, wire.PublicHeaders,
    ]  # fmt: skip
    return {name_of(kind): kind for kind in sorted({*routed, *others}, key=name_of)}


def name_of(kind: type) -> str:
    """Give a message's name: the module that declares it, and its class."""
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def components(kinds: Iterable[Any], template: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Give a schema for each type, and the named schemas they refer to by `template`."""
    schemas, named = msgspec.json.schema_components(list(kinds), ref_template=template)
    declared = {kind.__name__: kind for kind in _structs(kinds)}
    for name, schema in named.items():
        _complete(schema, declared.get(name))
    return list(schemas), named


def document(kind: type, file: str) -> dict[str, Any]:
    """Give the JSON Schema of a message as it lies in a file; `$id` is the file's name, so it resolves anywhere."""
    _, named = components([kind], "#/$defs/{name}")
    own = named.pop(kind.__name__)
    return {"$schema": _DIALECT, "$id": file, **own, **({"$defs": dict(sorted(named.items()))} if named else {})}


def files() -> dict[str, bytes]:
    """Give the schema file of every message."""
    return {f"{FOLDER}/{name}.json": json_file(document(kind, f"{name}.json")) for name, kind in messages().items()}


def stored_files(events: Mapping[str, Mapping[tuple[str, int], type]]) -> dict[str, bytes]:
    """Give the schema file of every stored event: game → (type, schema_version) → class."""
    named = {
        f"{game}.{kind}.{version}.json": event
        for game, kinds in events.items()
        for (kind, version), event in kinds.items()
    }
    return {f"{STORED_FOLDER}/{file}": json_file(document(event, file)) for file, event in sorted(named.items())}


def _structs(kinds: Iterable[Any]) -> Iterable[type]:
    return (leaf for kind in kinds for leaf in leaves(kind))


def _complete(schema: dict[str, Any], kind: type | None) -> None:
    """Add what msgspec does not know of a message."""
    if "description" in schema:
        schema["description"] = inspect.cleandoc(schema["description"])
    if kind is None:
        return
    if issubclass(kind, PublicMessage):
        schema["properties"] |= _STAMPED
        schema["required"] = [*schema["required"], *_STAMPED]
    if "prefixItems" in schema:
        fields = msgspec.structs.fields(kind)
        schema["description"] = f"{schema['description']}\n\n{_PACKED}"
        schema["prefixItems"] = [
            {"title": field.encode_name, **item} for field, item in zip(fields, schema["prefixItems"], strict=True)
        ]
