"""canonical_json is RFC 8785 for what the log stores, and the log stores nothing it is not RFC 8785 for."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import inspect
from playmolt_core.game.decider import Decider, read_event
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.ox import EVENTS as OX_EVENTS
from playmolt_schemas.stored.trial import EVENTS as TRIAL_EVENTS

ALL_EVENTS = [*TRIAL_EVENTS.values(), *OX_EVENTS.values()]
SAFE_INTEGER = 2**53 - 1


def _parts(shape: inspect.Type) -> Iterator[inspect.Type]:
    yield shape
    match shape:
        case inspect.StructType(fields=fields):
            for field in fields:
                yield from _parts(field.type)
        case inspect.UnionType(types=types):
            for member in types:
                yield from _parts(member)
        case inspect.VarTupleType(item_type=item):
            yield from _parts(item)
        case _:
            pass


def _values(shape: inspect.Type) -> SearchStrategy[Any]:
    match shape:
        case inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: _values(field.type) for field in fields})
        case inspect.UnionType(types=types):
            return st.one_of(*map(_values, types))
        case inspect.VarTupleType(item_type=item):
            return st.lists(_values(item), max_size=3).map(tuple)
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.IntType(ge=least, le=most):
            return st.integers(-SAFE_INTEGER if least is None else least, SAFE_INTEGER if most is None else most)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.StrType():
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
        case other:
            raise AssertionError(f"{other}: an event holds what canonical_json was not compared for")


@pytest.mark.parametrize("event", ALL_EVENTS, ids=lambda event: f"{event.__module__}.{event.type}")
def test_no_event_type_holds_a_float_or_anything_open(event: type[Event]) -> None:
    closed = (
        inspect.StructType, inspect.UnionType, inspect.VarTupleType, inspect.LiteralType,
        inspect.IntType, inspect.BoolType, inspect.NoneType, inspect.StrType,
    )  # fmt: skip
    for part in _parts(inspect.type_info(event)):
        assert isinstance(part, closed), part


@given(st.deferred(lambda: st.one_of([_values(inspect.type_info(event)) for event in ALL_EVENTS])))
@settings(max_examples=300)
def test_canonical_json_is_rfc_8785(event: Event) -> None:
    stored = canonical_json(event)
    assert stored == rfc8785.dumps(msgspec.json.decode(msgspec.json.encode(event)))
    assert msgspec.json.decode(stored, type=type(event)) == event


def test_played_events_are_rfc_8785_too(decider: Decider, events: list[Event]) -> None:
    for event in events:
        stored = canonical_json(event)
        assert stored == rfc8785.dumps(msgspec.json.decode(stored))
        assert read_event(decider, event.type, event.schema_version, stored) == event


def test_keys_stand_in_order_whatever_order_they_came_in() -> None:
    assert canonical_json({"b": 1, "a": {"d": None, "c": "é"}}) == '{"a":{"c":"é","d":null},"b":1}'.encode()
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
