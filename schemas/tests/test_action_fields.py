"""Actions come as any JSON value; each fault is named."""

from typing import Any

import msgspec
import pytest
from playmolt_schemas.body_fields import ActionShapes
from playmolt_schemas.games.ox import ACTIONS

SHAPES = ActionShapes(ACTIONS)


def _faulty(action: Any) -> list[str]:
    return [fault.field for fault in SHAPES.faults(action)]


def test_a_known_type_with_known_fields_has_no_faults_yet() -> None:
    assert _faulty({"type": "switch"}) == []
    assert _faulty({"type": "switch", "use_switch": "x", "comment": 1}) == []


@pytest.mark.parametrize("action", [None, 1, "switch", [], [{"type": "switch"}]])
def test_what_is_not_an_object_has_no_field_to_blame(action: Any) -> None:
    assert _faulty(action) == [""]


@pytest.mark.parametrize("kind", [None, 1, [], {}, "", "Switch", "switch "])
def test_an_unknown_type_is_blamed_on_type(kind: Any) -> None:
    assert _faulty({"type": kind}) == ["type"]


def test_every_unknown_field_is_named_in_a_form_that_can_be_answered() -> None:
    faults = SHAPES.faults({"type": "switch", "\ud800": 1, "x" * 500: 2})
    assert [fault.field for fault in faults] == ["?", "x" * 40]
    msgspec.json.encode(faults)
