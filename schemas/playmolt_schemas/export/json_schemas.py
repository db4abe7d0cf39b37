"""JSON Schema 2020-12 of all messages and stored events: a bundle for each game, and one of what games share.

Also schemas for client generators.
"""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

import playmolt_schemas
from playmolt_schemas.export import wire
from playmolt_schemas.export.files import json_file
from playmolt_schemas.feed_messages import FeedMessage
from playmolt_schemas.game_messages import Action
from playmolt_schemas.manifest import GameModule, PackagedFile, Reference
from playmolt_schemas.registry import games
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Holder, Media, OneOf, Query, Route
from playmolt_schemas.stored.agora.turn import RunSpec, TurnRecord

FOLDER: Final = "schemas/json"
SHARED: Final = "shared"
"""The bundle of what is not of one game."""

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_STAMPED: Final = {
    "version": {"type": "integer", "minimum": 1},
    "at": {"type": "string", "format": "date-time", "description": "RFC 3339, UTC, six decimals."},
}
"""Fields that the host adds to every feed message, besides the stream's id."""
_PACKED: Final = "An array in the order of the fields, encoded as MessagePack: base64 strings in JSON are binary there."


_DECLARATIONS: Final = (Query, Route, Media, OneOf, Holder, GameModule, Reference, PackagedFile)
"""Types that only describe the API and the games, and are never sent."""


PUBLISHED: Final = (RunSpec, TurnRecord)
"""Stored values that are published as files, without a route that names them."""


def leaves(kind: object) -> tuple[type, ...]:
    """The message types in a request, an answer, a list or a union."""
    if isinstance(kind, OneOf):
        return tuple(leaf for part in kind.kinds for leaf in leaves(part))
    if isinstance(kind, Holder):
        return (kind.kind, *leaves(kind.item))
    if isinstance(kind, Media):
        return leaves(kind.item)
    if get_origin(kind) in {list, Union, UnionType}:
        return tuple(leaf for part in get_args(kind) for leaf in leaves(part))
    return (kind,) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def messages() -> dict[str, type]:
    """Name → type of every message; a name is module and class, for example `trial.Speak`.

    Messages are the requests and answers of routes, and all types of this package that are not part of another type.
    """
    routed = [leaf for route in ROUTES for kind in (route.request, *route.answers.values()) for leaf in leaves(kind)]
    kinds = sorted({*routed, *_declared(), *PUBLISHED}, key=name_of)
    schemas, named = msgspec.json.schema_components(kinds, ref_template="{name}")
    parts = {part for name, schema in named.items() for part in references(schema) if part != name}
    pairs = zip(kinds, schemas, strict=True)
    return {name_of(kind): kind for kind, schema in pairs if kind in routed or schema["$ref"] not in parts}


def _declared() -> Iterator[type]:
    """All public message types of the package, except base classes: those of feed messages, those without own
    fields, and Action."""
    found = [importlib.import_module(module) for module in _modules()]
    for module in (*found, wire):
        for kind in vars(module).values():
            if not (inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__):
                continue
            fields = () if issubclass(kind, FeedMessage) else kind.__struct_fields__
            base = kind is Action or (not fields and kind.__subclasses__()) or kind.__name__.startswith("_")
            if not base and not issubclass(kind, _DECLARATIONS):
                yield kind


def _modules() -> list[str]:
    """The modules of the package, except this generator, what logs store, and what parts of Agora share."""
    prefix = f"{playmolt_schemas.__name__}."
    found = (module.name for module in pkgutil.walk_packages(playmolt_schemas.__path__, prefix) if not module.ispkg)
    return [
        name for name in found if not name.startswith((f"{prefix}export.", f"{prefix}instrument.", f"{prefix}stored."))
    ]


def references(value: object) -> Iterator[str]:
    """All `$ref`s in a document."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from references(part)


def name_of(kind: type) -> str:
    """A message's name: module path without package, `games` and `stored`, and class: `agora_feed.RunView`."""
    path = kind.__module__.partition(".")[2].removeprefix("games.").removeprefix("export.").removeprefix("stored.")
    return f"{path.replace('.', '_')}.{kind.__name__}"


def components(kinds: Iterable[object], template: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """A schema for each type, and the named schemas that they refer to by `template`."""
    schemas, named, _ = _components(kinds, template)
    return schemas, named


def _components(
    kinds: Iterable[Any], template: str
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]], dict[str, type]]:
    """As `components`, with the struct of each named schema."""
    kinds = list(kinds)
    structs = list(_structs(kinds))
    schemas, named = msgspec.json.schema_components([*kinds, *structs], ref_template="{name}")
    known = {schema["$ref"]: kind for kind, schema in zip(structs, schemas[len(kinds) :], strict=True)}
    for name, schema in named.items():
        _complete(schema, known.get(name))
    plain = [_portable(schema, template) for schema in schemas[: len(kinds)]]
    titled = {component_name(name): _portable(schema, template) for name, schema in named.items()}
    classes = {component_name(name): kind for name, kind in known.items()}
    return plain, {name: {**schema, "title": name} for name, schema in titled.items()}, classes


def _structs(kinds: Iterable[object]) -> Iterator[type]:
    """All structs in the types, each once."""
    found = set()
    waiting: list[object] = list(msgspec.inspect.multi_type_info(kinds))
    while waiting:
        node = waiting.pop()
        if isinstance(node, msgspec.inspect.StructType):
            if node.cls in found:
                continue
            found.add(node.cls)
            yield node.cls
        if isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)):
            waiting += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, tuple):
            waiting += node


def component_name(name: str) -> str:
    """A schema's name in letters and digits: its class name, with its module as prefix if two classes share it."""
    module, _, kind = name.rpartition(".")
    path = module.removeprefix(f"{playmolt_schemas.__name__}.").removeprefix("games.")
    prefix = [] if path == "api" else re.split(r"[._]", path)
    return "".join(part[:1].upper() + part[1:] for part in (*prefix, kind))


def _portable(schema: Any, template: str) -> Any:
    """A schema that client generators understand: references by `template`, no boolean subschemas."""
    if isinstance(schema, list):
        return [_portable(part, template) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _portable(value, template) for key, value in schema.items()}
    if isinstance(plain.get("$ref"), str):
        plain["$ref"] = template.format(name=component_name(plain["$ref"]))
    if isinstance(plain.get("propertyName"), str) and "mapping" in plain:
        plain["mapping"] = {tag: template.format(name=component_name(name)) for tag, name in plain["mapping"].items()}
    if plain.get("items") is False:
        del plain["items"]
        plain["maxItems"] = len(plain["prefixItems"])
    choices = plain.get("enum")
    if isinstance(choices, list) and all(isinstance(value, str) for value in choices):
        plain["type"] = "string"
    elif isinstance(choices, list) and all(isinstance(value, bool) for value in choices):
        plain |= {"type": "boolean", "const": plain.pop("enum")[0]}
        plain.pop("default", None)  # implied by `const`; generators reject it beside `const`
    return plain


def document(kind: type, file: str) -> dict[str, Any]:
    """The JSON Schema of a message for a file; `$id` is the file name, so it resolves anywhere."""
    (schema,), named = components([kind], "#/$defs/{name}")
    own = named.pop(schema["$ref"].rpartition("/")[2])
    return {"$schema": _DIALECT, "$id": file, **own, **({"$defs": dict(sorted(named.items()))} if named else {})}


Stored = Mapping[str, Mapping[tuple[str, int], type]]
"""Game → (type, schema_version) of a stored event → its class."""


def bundle_of(kind: type | None) -> str:
    """The name of the bundle that defines a message."""
    path = kind.__module__.removeprefix(f"{playmolt_schemas.__name__}.").split(".") if kind else []
    return next((part for part in path if part in games()), SHARED)


def file_of(bundle: str) -> str:
    return f"{FOLDER}/{bundle}.json"


def stored_place(game: str, kind: str, version: int) -> str:
    """The reference to a stored event's schema, relative to the folder of the bundles."""
    return f"{game}.json#/$defs/{kind}.{version}"


def bundles(stored: Stored) -> dict[str, bytes]:
    """The bundles of messages and stored events.

    A message is defined under its class name, a stored event under `TYPE.VERSION`, what only stored events contain
    under `stored.NAME`. References lead to definitions of the same bundle or of the shared one.
    """
    kinds = set(messages().values())
    _, named, classes = _components(sorted(kinds, key=name_of), "{name}")
    homes = {name: bundle_of(classes.get(name)) for name in named}
    defined: dict[str, dict[str, Any]] = {name: {} for name in (*homes.values(), *stored)}
    for name, schema in named.items():
        defined[homes[name]][name] = _referring(schema, partial(_message_place, homes, homes[name]))
    for game, events in stored.items():
        defined[game] |= _stored(events)
    sent = sorted(name for name in named if classes.get(name) in kinds)
    return {
        file_of(bundle): json_file(
            {
                "$schema": _DIALECT,
                "$id": f"{bundle}.json",
                "title": f"PlayMolt: {bundle}",
                "x-messages": [name for name in sent if homes[name] == bundle],
                "x-stored": sorted(f"{kind}.{version}" for kind, version in stored.get(bundle, ())),
                "$defs": dict(sorted(schemas.items())),
            }
        )
        for bundle, schemas in sorted(defined.items())
    }


def _message_place(homes: Mapping[str, str], home: str, name: str) -> str:
    """The reference from a bundle to a message."""
    return f"{'' if homes[name] == home else f'{homes[name]}.json'}#/$defs/{name}"


def _stored(events: Mapping[tuple[str, int], type]) -> dict[str, object]:
    _, named, classes = _components(events.values(), "{name}")
    keys = {event: f"{kind}.{version}" for (kind, version), event in events.items()}
    places = {name: keys.get(classes.get(name, object), f"stored.{name}") for name in named}
    return {places[name]: _referring(schema, lambda to: f"#/$defs/{places[to]}") for name, schema in named.items()}


def _referring(schema: Any, place: Callable[[str], str]) -> Any:
    """A schema whose references to names lead to their places."""
    if isinstance(schema, list):
        return [_referring(part, place) for part in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {key: _referring(value, place) for key, value in schema.items()}
    if isinstance(moved.get("$ref"), str):
        moved["$ref"] = place(moved["$ref"])
    if isinstance(moved.get("propertyName"), str) and "mapping" in moved:
        moved["mapping"] = {tag: place(name) for tag, name in moved["mapping"].items()}
    return moved


def _complete(schema: dict[str, Any], kind: type | None) -> None:
    """Add what msgspec does not know about a message."""
    if "description" in schema:
        schema["description"] = inspect.cleandoc(schema["description"])
    if kind is None:
        return
    schema |= getattr(kind, "SCHEMA", {})
    if issubclass(kind, FeedMessage):
        stamped = {kind.id_field: {"type": "string"}, **_STAMPED}
        schema["properties"] |= stamped
        schema["required"] = [*schema["required"], *stamped]
    if "prefixItems" in schema:
        fields = msgspec.structs.fields(kind)
        schema["description"] = f"{schema['description']}\n\n{_PACKED}"
        schema["prefixItems"] = [
            {"title": field.encode_name, **item} for field, item in zip(fields, schema["prefixItems"], strict=True)
        ]


_NULL: Final = {"type": "null"}
_UNTYPED: Final = (["array", "string"], ["object", "string"])
_KINDS: Final = ("boolean", "number", "array", "object", "string")


def compiled(schema: Any) -> Any:
    """An equivalent schema that client generators can compile: unions of a string with a list or an open object become
    untyped, unions have no default, and arrays and objects of anything have explicit `items` or `additionalProperties`.

    Generators name a class for each type in an `anyOf`, which a list does not have; they apply a default to the union
    type; they skip arrays without `items`, and take an object without properties for an empty one.
    """
    if isinstance(schema, list):
        return [compiled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: compiled(value) for key, value in schema.items()}
    if plain.get("type") == "array" and not plain.keys() & {"items", "prefixItems"}:
        plain["items"] = {}
    if plain.get("type") == "object" and not plain.keys() & {"properties", "additionalProperties", "$ref"}:
        plain["additionalProperties"] = {}
    choices = [choice for choice in plain.get("anyOf", ()) if choice != _NULL]
    if len(choices) < 2:
        return plain
    plain.pop("default", None)
    return _untyped(plain, choices) if sorted(map(_type, choices)) in _UNTYPED else plain


def _type(schema: dict[str, object]) -> str:
    return str(schema.get("type"))


def _untyped(schema: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Combine both types: bounds of strings do not apply to lists and objects, and vice versa."""
    types = {_type(choice) for choice in choices}
    untyped = {"description": "A list or a string." if "array" in types else "An object or a string."}
    for choice in choices:
        untyped |= {key: value for key, value in choice.items() if key not in ("type", "enum", "description")}
        if "enum" in choice:
            untyped["pattern"] = f"^(?:{'|'.join(map(re.escape, choice['enum']))})$(?!\\n)"
    untyped |= {key: value for key, value in schema.items() if key != "anyOf"}
    nullable = _NULL in schema["anyOf"]
    # `nullable` is from older OpenAPI versions; without it generators send null for an absent value.
    others = [kind for kind in _KINDS if kind not in types]
    return untyped | {"not": {"type": others if nullable else ["null", *others]}, "nullable": nullable}
