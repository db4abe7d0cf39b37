"""Adaptive sampling: which cells get one more run."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora_runner.experiment import looks
from playmolt_agora_runner.plan import reading
from playmolt_schemas.stored.agora.plan import Plan

KO, EN = "phase1/scripted/ko", "phase1/scripted/en"
WIDTHS = st.none() | st.tuples(st.integers(0, 50), st.integers(50, 100)).map(
    lambda two: (f"0.{two[0]:03}", f"0.{two[1]:03}")
)


def plan(**changes: Any) -> Plan:
    values: dict[str, Any] = {
        "name": "n", "models": ["scripted"], "phases": {"stage1": {"runs": 5}, "phase1": {"runs": 2}},
        "adaptive": {"measure": "pcs", "width": "0.05", "max_runs": 4},
    }  # fmt: skip
    found = reading.read(json.dumps(values | changes))
    assert isinstance(found, Plan), found
    return found


def growing(held: dict[str, int], intervals: dict[str, tuple[str, str] | None]) -> list[str]:
    return [cell.name for cell in looks.growing(plan(), held, intervals)]


def test_only_phase1_cells_may_grow() -> None:
    assert [cell.name for cell in looks.growing_cells(plan())] == [KO, EN]


def test_a_cell_grows_while_its_interval_is_too_wide() -> None:
    held = {KO: 2, EN: 2}
    assert growing(held, {KO: ("0.1", "0.15"), EN: ("0.1", "0.1500001")}) == [EN]


def test_a_cell_without_an_interval_grows() -> None:
    assert growing({KO: 2, EN: 2}, {KO: None}) == [KO, EN]


def test_no_cell_grows_past_its_most() -> None:
    assert growing({KO: 4, EN: 3}, {}) == [EN]


def test_without_adaptive_nothing_grows() -> None:
    fixed = plan(adaptive=None)
    assert looks.growing_cells(fixed) == ()
    assert looks.growing(fixed, {KO: 1}, {}) == ()


@given(st.lists(st.tuples(WIDTHS, WIDTHS), max_size=12))
@settings(max_examples=50)
def test_looking_ends(looks: list[tuple[Any, Any]]) -> None:
    held = {KO: 2, EN: 2}
    for ko, en in looks:
        for name in growing(held, {KO: ko, EN: en}):
            held[name] += 1
    assert max(held.values()) <= 4
