"""The turns of a study as one Arrow table, with types independent of the values: nested fields are structs and lists.

A field that maps agents to numbers is a list of {key, value}, in the order of the record.
"""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import islice
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from playmolt_schemas.stored.agora.turn import TurnRecord

_AT_ONCE: Final = 5000


def read(path: Path) -> Any:
    """The turns of a `turns.jsonl`, sorted by run, turn and order."""
    with path.open("rb") as lines:
        return table(msgspec.json.decode(line) for line in lines)


def table(records: Iterable[Mapping[str, object]]) -> Any:
    """Records as `turns.jsonl` holds them, sorted by run, turn and order."""
    arrow = import_module("pyarrow")
    found = arrow.Table.from_batches(list(_batches(records)), schema=schema())
    return found.sort_by([("run", "ascending"), ("turn", "ascending"), ("order", "ascending")])


def plain(row: Mapping[str, object]) -> dict[str, object]:
    """A row of that table, or of a frame of it, as the measures read a record: they need no field that is a struct."""
    return {name: present(value) for name, value in row.items()}


@cache
def schema() -> Any:
    arrow = import_module("pyarrow")
    return arrow.schema([(field.name, _type(field.type)) for field in msgspec.structs.fields(TurnRecord)])


def _batches(records: Iterable[Mapping[str, object]]) -> Iterator[object]:
    arrow = import_module("pyarrow")
    waiting = iter(records)
    while batch := list(islice(waiting, _AT_ONCE)):
        columns = [
            arrow.array([_nested(row.get(field.name), field.type) for row in batch], type=_type(field.type))
            for field in msgspec.structs.fields(TurnRecord)
        ]
        yield arrow.RecordBatch.from_arrays(columns, schema=schema())


def _whole(kind: object) -> Any:
    """A type without the None that it may be, and without remarks."""
    if get_origin(kind) in (Union, types.UnionType):
        return _whole(next(each for each in get_args(kind) if each is not types.NoneType))
    if get_origin(kind) is Literal:
        return type(get_args(kind)[0])
    return _whole(get_args(kind)[0]) if get_origin(kind) is Annotated else kind


def _type(kind: Any) -> Any:
    arrow, whole = import_module("pyarrow"), _whole(kind)
    simple = {str: arrow.string(), int: arrow.int64(), bool: arrow.bool_(), float: arrow.float64()}
    if whole in simple:
        return simple[whole]
    if get_origin(whole) is tuple:
        return arrow.list_(_type(get_args(whole)[0]))
    if get_origin(whole) is dict:
        return arrow.list_(arrow.struct([("key", arrow.string()), ("value", _type(get_args(whole)[1]))]))
    return arrow.struct([(field.encode_name, _type(field.type)) for field in msgspec.structs.fields(whole)])


def _nested(value: Any, kind: Any) -> Any:
    whole = _whole(kind)
    if get_origin(whole) is dict and isinstance(value, Mapping):
        return [{"key": key, "value": each} for key, each in value.items()]
    if isinstance(value, Mapping):
        kinds = {field.encode_name: field.type for field in msgspec.structs.fields(whole)}
        return {name: _nested(each, kinds[name]) for name, each in value.items() if name in kinds}
    return value


def present(value: object) -> object:
    """A value in Python's types, None for what is missing: pandas has its own missing value and number types."""
    if isinstance(value, str | bool | int | Sequence):
        return value
    if isinstance(value, float):
        return None if isnan(value) else float(value)
    return None if str(value) == "<NA>" or value != value else getattr(value, "item", lambda: value)()  # noqa: PLR0124
