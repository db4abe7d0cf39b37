"""JSON Schema 2020-12 of every message: one file each, complete in itself."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

import playmolt_schemas
from playmolt_schemas.export import wire
from playmolt_schemas.export.files import json_file
from playmolt_schemas.game_messages import Action, FeedMessage
from playmolt_schemas.manifest import GameModule, Reference, Resource
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Media, OneOf, PageOf, Query, Route

FOLDER: Final = "schemas/json/messages"
STORED_FOLDER: Final = "schemas/json/stored"

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_STAMPED: Final = {
    "version": {"type": "integer", "minimum": 1},
    "at": {"type": "string", "format": "date-time", "description": "RFC 3339, UTC, six decimals."},
}
"""What the host adds to every message of a feed, beside the stream's id."""
_PACKED: Final = (
    "An array in the order of the fields. It travels as MessagePack: what is base64 text in JSON is binary there."
)


_DECLARATIONS: Final = (Query, Route, Media, OneOf, PageOf, GameModule, Reference, Resource)
"""Types that describe the API and the games, and never travel."""


def leaves(kind: Any) -> tuple[type, ...]:
    """The message types that a request, an answer, a list or a union stands for."""
    if isinstance(kind, OneOf):
        return tuple(leaf for part in kind.kinds for leaf in leaves(part))
    if isinstance(kind, PageOf):
        return (kind.kind, *leaves(kind.item))
    if isinstance(kind, Media):
        return leaves(kind.item)
    if get_origin(kind) in {list, Union, UnionType}:
        return tuple(leaf for part in get_args(kind) for leaf in leaves(part))
    return (kind,) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def messages() -> dict[str, type]:
    """Name → type of every message; a name is module and class, as in `trial.Speak`.

    A message is what a route takes or gives, and every type of this package that is no mere part of another.
    """
    routed = [leaf for route in ROUTES for kind in (route.request, *route.answers.values()) for leaf in leaves(kind)]
    kinds = sorted({*routed, *_declared()}, key=name_of)
    schemas, named = msgspec.json.schema_components(kinds, ref_template="{name}")
    parts = {part for name, schema in named.items() for part in references(schema) if part != name}
    standing = zip(kinds, schemas, strict=True)
    return {name_of(kind): kind for kind, schema in standing if kind in routed or schema["$ref"] not in parts}


def _declared() -> Iterator[type]:
    """Every message type of the package, without bases: those that have no field of their own, and Action."""
    found = [importlib.import_module(module) for module in _modules()]
    for module in (*found, wire):
        for kind in vars(module).values():
            if not (inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and kind.__module__ == module.__name__):
                continue
            base = kind is Action or (not kind.__struct_fields__ and kind.__subclasses__())
            if not base and not issubclass(kind, _DECLARATIONS):
                yield kind


def _modules() -> list[str]:
    """The package's modules, without this generator's."""
    prefix = f"{playmolt_schemas.__name__}."
    found = (module.name for module in pkgutil.walk_packages(playmolt_schemas.__path__, prefix) if not module.ispkg)
    return [name for name in found if not name.startswith(f"{prefix}export.")]


def references(value: Any) -> Iterator[str]:
    """Every `$ref` of a document."""
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from references(part)


def name_of(kind: type) -> str:
    """A message's name: its module's path below the package, `games` left out, and its class: `agora_feed.RunView`."""
    path = kind.__module__.partition(".")[2].removeprefix("games.").removeprefix("export.")
    return f"{path.replace('.', '_')}.{kind.__name__}"


def components(kinds: Iterable[Any], template: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """A schema for each type, and the named schemas they refer to by `template`."""
    kinds = list(kinds)
    structs = list(_structs(kinds))
    schemas, named = msgspec.json.schema_components([*kinds, *structs], ref_template="{name}")
    known = {schema["$ref"]: kind for kind, schema in zip(structs, schemas[len(kinds) :], strict=True)}
    for name, schema in named.items():
        _complete(schema, known.get(name))
    plain = [_portable(schema, template) for schema in schemas[: len(kinds)]]
    titled = {component_name(name): _portable(schema, template) for name, schema in named.items()}
    return plain, {name: {**schema, "title": name} for name, schema in titled.items()}


def _structs(kinds: Iterable[Any]) -> Iterator[type]:
    """Every struct that the types are made of, each once."""
    found = set()
    waiting: list[Any] = list(msgspec.inspect.multi_type_info(kinds))
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
    """A schema's name in letters and digits: its class's, with its game's in front where two classes share one."""
    module, _, kind = name.rpartition(".")
    path = module.removeprefix(f"{playmolt_schemas.__name__}.").removeprefix("games.")
    told = [] if path == "api" else re.split(r"[._]", path)
    return "".join(part[:1].upper() + part[1:] for part in (*told, kind))


def _portable(schema: Any, template: str) -> Any:
    """A schema as generators of clients read it: references by `template`, nothing said by a boolean."""
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
        plain.pop("default", None)  # which `const` says; beside it generators take it for no value of theirs
    return plain


def document(kind: type, file: str) -> dict[str, Any]:
    """The JSON Schema of a message as it lies in a file; `$id` is the file's name, so it resolves anywhere."""
    (schema,), named = components([kind], "#/$defs/{name}")
    own = named.pop(schema["$ref"].rpartition("/")[2])
    return {"$schema": _DIALECT, "$id": file, **own, **({"$defs": dict(sorted(named.items()))} if named else {})}


def files() -> dict[str, bytes]:
    return {f"{FOLDER}/{name}.json": json_file(document(kind, f"{name}.json")) for name, kind in messages().items()}


def stored_file(game: str, kind: str, version: int) -> str:
    return f"{game}.{kind}.{version}.json"


def stored_files(events: Mapping[str, Mapping[tuple[str, int], type]]) -> dict[str, bytes]:
    """The schema file of every stored event: game → (type, schema_version) → class."""
    named = {
        stored_file(game, kind, version): event
        for game, kinds in events.items()
        for (kind, version), event in kinds.items()
    }
    return {f"{STORED_FOLDER}/{file}": json_file(document(event, file)) for file, event in sorted(named.items())}


def _complete(schema: dict[str, Any], kind: type | None) -> None:
    """Add what msgspec does not know of a message."""
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
