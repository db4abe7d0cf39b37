"""Holm's families are the same for what a plan can reach and for what its analysis finds."""

import json

import pytest
from playmolt_agora.measures.analysis import study
from playmolt_agora.measures.inference import attainable_p
from playmolt_agora.planning import attainable
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.design import design
from playmolt_schemas.stored.agora.plan import Plan

MODELS = ("E", "M", "H")


def test_holms_steps_count_what_has_no_p():
    assert attainable_p.holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.04, None, 0.09, 0.09], abs=1e-12)
    assert attainable_p.holm([0.9, 0.8]) == [1.0, 1.0]
    assert attainable_p.holm([]) == []


def test_ri_star_and_the_parts_of_h1_and_h2_stay_as_they_are():
    found = {"pcs:E": 0.01, "pcs:M": None, "H1": 0.02, "H2": 0.03, "H1a": 0.02, "ri_star:model": 0.01}
    assert attainable_p.corrected(found) == {
        "pcs:E": 0.02, "pcs:M": None, "H1": 0.04, "H2": 0.04, "H1a": None, "ri_star:model": None,
    }  # fmt: skip


@pytest.fixture(scope="module")
def reached(white_room):
    """A plan that registers one test of each family and the analysis of what it planned, p by Holm over p."""
    phases = {"stage1": {"runs": 5, "turns": 4}, "phase1": {"runs": 3, "turns": 4}, "phase2": {"runs": 3, "turns": 75}}
    hypotheses = [{"test": test, "alpha": "0.5"} for test in ("pcs:E", "H1", "ri_star:model")]
    text = json.dumps({"name": "n", "models": MODELS, "phases": phases, "hypotheses": hypotheses})
    plan = reading.read(text)
    assert isinstance(plan, Plan)
    records = white_room(stage1=5, phase1=3, turns=75, epochs=4)
    return {test.test: test for test in attainable.tests(design(plan, plans.known_tests(plan)))}, records


def found(records):
    return {row["test"]: row for row in study(records, seed="s").tables["tests"]}


def test_no_p_of_the_analysis_is_below_what_the_plan_says(reached):
    planned, records = reached
    for name, row in found(records).items():
        if name in planned:
            assert row["labelings"] in (None, planned[name].labelings), name
            assert row["p"] >= planned[name].p_min - 1e-12, name
            assert (row["p_holm"] is None) == (planned[name].p_holm is None), name
            assert row["p_holm"] is None or row["p_holm"] >= planned[name].p_holm - 1e-12, name
    assert [planned[name].p_holm for name in ("pcs:E", "H1", "ri_star:model")] == [
        pytest.approx(3 / 3136), 2 / 64, None,
    ]  # fmt: skip


def test_a_model_that_left_the_confirmatory_set_still_counts(reached):
    _, records = reached
    failed = {
        "parse_code": "timeout",
        "action": None,
        "action_base": None,
        "fn_class": None,
        "dissoc": "U",
        "success": False,
    }
    left = [record | failed if record["model"] == "H" and record["set"] is None else record for record in records]
    before, after = found(records), found(left)
    assert after["pcs:E"]["p"] == before["pcs:E"]["p"]
    assert after["pcs:E"]["p_holm"] == pytest.approx(min(1, 3 * after["pcs:E"]["p"]))
    assert "pcs:H" not in after
