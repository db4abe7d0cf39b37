"""Actions come as any JSON value; each fault is named."""

from typing import Any

import msgspec
import pytest
from playmolt_schemas.games.action_fields import ActionShapes, FieldReader
from playmolt_schemas.games.ox import ACTIONS

SHAPES = ActionShapes(ACTIONS)


def _faulty(action: Any) -> list[str]:
    return [fault.field for fault in SHAPES.faults(action)]


def test_a_known_type_with_known_fields_has_no_faults_yet() -> None:
    assert _faulty({"type": "switch"}) == []
    assert _faulty({"type": "switch", "use_switch": "x", "comment": 1}) == []


@pytest.mark.parametrize("action", [None, 1, "switch", [], [{"type": "switch"}]])
def test_what_is_no_object_has_no_field_to_blame(action: Any) -> None:
    assert _faulty(action) == [""]


@pytest.mark.parametrize("kind", [None, 1, [], {}, "", "Switch", "switch "])
def test_an_unknown_type_is_blamed_on_type(kind: Any) -> None:
    assert _faulty({"type": kind}) == ["type"]


def test_every_unknown_field_is_named_in_a_form_that_can_be_answered() -> None:
    faults = SHAPES.faults({"type": "switch", "\ud800": 1, "x" * 500: 2})
    assert [fault.field for fault in faults] == ["?", "x" * 40]
    msgspec.json.encode(faults)


def test_all_faults_of_an_action_are_collected() -> None:
    reader = FieldReader({"a": 1, "b": "", "c": "y", "d": "x" * 6, "e": "\x00"})
    for field in "abde":
        reader.text(field, 5)
    reader.one_of("c", ("O", "X"))
    reader.flag("c")
    assert [fault.field for fault in reader.faults] == ["a", "b", "d", "e", "c", "c"]
    assert all(fault.message for fault in reader.faults)


def test_a_good_action_is_read_without_faults() -> None:
    reader = FieldReader({"text": " 말 ", "word": "X", "flag": False})
    assert (reader.text("text", 1), reader.one_of("word", ("O", "X")), reader.flag("flag")) == ("말", "X", False)
    assert reader.text("absent", 5, required=False) == ""
    assert reader.faults == []
