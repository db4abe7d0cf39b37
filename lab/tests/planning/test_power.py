"""Size and power of planned tests are those that the simulation of the same populations gives."""

import json
from typing import Any

import pytest
from playmolt_agora.planning import power
from playmolt_agora.simulation import populations
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.preview import examined
from playmolt_agora_runner.plan.reading import ParsedPlan
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.stored.agora.plan import Plan

MODELS = ["scripted-steady", "scripted-trader", "scripted-social"]
WHITE_ROOM = {"phase2": {"runs": 3, "turns": 100}}
PCS = {"stage1": {"runs": 5}, "phase1": {"runs": 3}}


def judged_tests(*hypotheses: Any, phases: Any = WHITE_ROOM, models: Any = MODELS) -> dict[str, PlannedTest]:
    document = {"name": "n", "models": models, "phases": phases, "hypotheses": hypotheses}
    plan = reading.read(json.dumps(document))
    assert isinstance(plan, Plan), plan
    return {test.test: test for test in examined(ParsedPlan(plan), Catalogue(), power=power.power).tests}


def test_a_test_without_a_family_has_the_power_of_the_methods_page() -> None:
    found = judged_tests("ri_star")
    for name in ("ri_star:model", "ri_star:persona"):
        test = found[name]
        assert (test.effect, test.dispersion, test.draws, test.attainable_p) == ("0.15", "0.05", 1000, test.p_min)
        assert test.power > 0.95
        assert test.size < 0.08


def test_holm_takes_power() -> None:
    found = judged_tests("H1", "H2")
    # After Holm one run against its direction is too many of six: 2/64 is above .025.
    assert 0.3 < found["H1"].power < 0.5 < found["H2"].power < 0.7
    assert found["H1"].attainable_p == pytest.approx(2 / 64)
    assert (found["H1"].underpowered, found["H2"].underpowered) == (True, False)


def test_without_an_effect_power_is_size() -> None:
    found = judged_tests({"test": "H2", "effect": "0", "underpowered": True}, {"test": "ri_star:model", "effect": 0})
    for name in ("H2", "ri_star:model"):
        assert found[name].power == pytest.approx(found[name].size, abs=0.03)
        assert found[name].underpowered
    assert (found["H2"].declared, found["ri_star:model"].declared) == (True, False)


def test_dispersion_between_runs_takes_the_power_of_pcs() -> None:
    powers = [
        judged_tests({"test": "pcs", "dispersion": rho, "effect": "0.03"}, phases=PCS)["pcs:scripted-steady"].power
        for rho in ("0", "0.1", "0.3")
    ]
    assert powers == sorted(powers, reverse=True)
    assert powers[0] > 0.95
    assert powers[2] < 0.8


def test_more_labelings_than_are_listed_are_drawn() -> None:
    big = {"stage1": {"runs": 9, "turns": 10}, "phase1": {"runs": 9, "turns": 10}}
    found = judged_tests("pcs", phases=big, models=MODELS[:1])["pcs:scripted-steady"]
    assert found.size < 0.08
    assert found.power > 0.9


def test_an_effect_beyond_the_populations_is_a_fault() -> None:
    plan = reading.read(json.dumps({
        "name": "n", "models": MODELS, "phases": PCS, "hypotheses": [{"test": "pcs:scripted-steady", "effect": 0.9}],
    }))  # fmt: skip
    assert isinstance(plan, Plan)
    found = examined(ParsedPlan(plan), Catalogue(), power=power.power).faults
    assert [(fault.code, fault.field) for fault in found] == [("out_of_range", "hypotheses")]
    assert f"{populations.most_divergence():.2f}" in found[0].message
