"""The turns of a study as one Arrow table, with types independent of the values: nested fields are structs and lists.

A field that maps agents to numbers is a list of {key, value}, in the order of the record.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from playmolt_schemas.stored.agora.turn import TurnRecord

_AT_ONCE: Final = 5000


def read(path: Path) -> Iterator[Mapping[str, Any]]:
    """The records of a `turns.jsonl`."""
    with path.open("rb") as lines:
        yield from map(msgspec.json.decode, lines)


def table(records: Iterable[Mapping[str, object]]) -> Any:
    """Records as `turns.jsonl` holds them, sorted by run, turn and order."""
    arrow, given, batches = import_module("pyarrow"), iter(records), []
    while batch := list(islice(given, _AT_ONCE)):
        # Arrow reads a mapping as a map alone.
        batches.append(arrow.Table.from_pylist(batch, schema=schema(maps=True)).cast(schema()))
    found = arrow.concat_tables(batches) if batches else schema().empty_table()
    return found.sort_by([("run", "ascending"), ("turn", "ascending"), ("order", "ascending")])


def dicts(rows: Any) -> list[dict[str, Any]]:
    """The rows of a frame of polars or pandas, of a table of a study, or dicts, with None for what is missing."""
    if hasattr(rows, "collect"):
        rows = rows.collect()
    if hasattr(rows, "to_arrow"):
        rows = rows.to_arrow().to_pylist()
    elif hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
    return [{name: _present(value) for name, value in row.items()} for row in rows]


@cache
def schema(kind: type[msgspec.Struct] = TurnRecord, *, maps: bool = False) -> Any:
    """The types of a table of structs; with `maps` a field that maps names to values is still a map."""
    fields = msgspec.structs.fields(kind)
    return import_module("pyarrow").schema([(field.name, _type(field.type, maps=maps)) for field in fields])


def _whole(kind: Any) -> Any:
    """A type without the None that it may be, and without remarks."""
    if get_origin(kind) in (Union, types.UnionType):
        return _whole(next(each for each in get_args(kind) if each is not types.NoneType))
    if get_origin(kind) is Literal:
        return type(get_args(kind)[0])
    return _whole(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def _type(kind: Any, *, maps: bool) -> Any:
    arrow, whole = import_module("pyarrow"), _whole(kind)
    simple = {str: arrow.string(), int: arrow.int64(), bool: arrow.bool_(), float: arrow.float64()}
    if whole in simple:
        return simple[whole]
    if get_origin(whole) is tuple:
        return arrow.list_(_type(get_args(whole)[0], maps=maps))
    if get_origin(whole) is dict:
        value = _type(get_args(whole)[1], maps=maps)
        entry = arrow.struct([("key", arrow.string()), ("value", value)])
        return arrow.map_(arrow.string(), value) if maps else arrow.list_(entry)
    return arrow.struct([(field.encode_name, _type(field.type, maps=maps)) for field in msgspec.structs.fields(whole)])


def _present(value: Any) -> object:
    """A value in Python's types: pandas has a missing value, numbers and arrays of its own."""
    if isinstance(value, str | bool | int | Sequence):
        return value
    plain = value.tolist() if hasattr(value, "tolist") else value
    return None if str(plain) == "<NA>" or plain != plain else plain  # noqa: PLR0124 -- not a number
