"""What a service settles with is no longer looked at, and its rules' values never are."""

import gc
from collections.abc import Iterator

import pytest
from playmolt_core.game.decider import Accepted, Act
from playmolt_core.ops.process import GARBAGE_THRESHOLDS, settle_garbage


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds")
def test_what_is_there_at_the_start_is_set_apart() -> None:
    mine: list[list[int]] = [[]]
    assert any(found is mine for found in gc.get_objects())
    settle_garbage()
    assert gc.get_freeze_count() > 0
    assert not any(found is mine for found in gc.get_objects())
    assert gc.get_threshold() == GARBAGE_THRESHOLDS


def test_values_of_the_rules_are_not_tracked() -> None:
    assert not gc.is_tracked(Act(agent_id="a", action={"a": [1]}))
    assert not gc.is_tracked(Accepted(()))
