"""The smallest p that a test can reach is what an enumeration of its labelings finds."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from playmolt_agora.measures.inference import attainable_p, permutation
from playmolt_agora.planning import attainable
from playmolt_agora.planning.power import level_power, level_sd, level_sd_for, power
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.design import design
from playmolt_agora_runner.plan.preview import examined
from playmolt_agora_runner.plan.reading import ParsedPlan
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.instrument import definitions
from playmolt_schemas.instrument.definitions import LEVEL_MARGIN
from playmolt_schemas.stored.agora.plan import Plan

MODELS = ["scripted-steady", "scripted-trader", "scripted-social"]


def planned(**changes: Any) -> dict[str, PlannedTest]:
    plan = reading.read(json.dumps({"name": "n", "models": MODELS, **changes}))
    assert isinstance(plan, Plan), plan
    return {test.test: test for test in attainable.tests(design(plan, plans.known_tests(plan)))}


@pytest.mark.parametrize(
    ("arms", "labelings", "p"),
    [
        ([(3, 3)], 20, Fraction(2, 20)),
        ([(4, 3)], 35, Fraction(1, 35)),
        ([(5, 3)], 56, Fraction(1, 56)),
        ([(6, 3)], 84, Fraction(1, 84)),
        ([(7, 3)], 120, Fraction(1, 120)),
        ([(5, 5)], 252, Fraction(2, 252)),
        ([(3, 3), (3, 3)], 400, Fraction(4, 400)),
        ([(5, 3), (5, 3)], 3136, Fraction(1, 3136)),
        # Each stratum is enumerated by itself; beyond 50,000 labelings of one 10,000 are drawn.
        ([(9, 9), (9, 9)], 48_620**2, Fraction(4, 48_620**2)),
        ([(10, 10)], 184_756, Fraction(1, 10_001)),
        ([(10, 10), (5, 3)], 184_756 * 56, Fraction(1, 10_001)),
    ],
)
def test_the_table_of_pcs(arms: list[tuple[int, int]], labelings: int, p: Fraction) -> None:
    assert attainable_p.relabelled(arms) == (labelings, p)


def smallest(values: Sequence[Any], labelled: Callable[[Any], float], labelings: Sequence[Any]) -> Fraction:
    statistics = [labelled(labels) for labels in labelings]
    return Fraction(sum(each >= max(statistics) - 1e-12 for each in statistics), len(statistics))


@pytest.mark.parametrize(("one", "two"), [(3, 3), (4, 3), (5, 3), (4, 4)])
def test_relabelling_agrees_with_enumeration(one: int, two: int) -> None:
    values = np.random.default_rng(1).normal(size=one + two)
    picks = list(combinations(range(one + two), one))
    # Any statistic that is symmetric in its arms will do.
    found = smallest(values, lambda pick: abs(values[list(pick)].mean() - np.delete(values, pick).mean()), picks)
    assert (len(picks), found) == attainable_p.relabelled([(one, two)])


@pytest.mark.parametrize("runs", [1, 3, 6])
def test_flips_agree_with_enumeration(runs: int) -> None:
    values = np.abs(np.random.default_rng(2).normal(size=runs)) + 0.1
    flips = list(product((1, -1), repeat=runs))
    found = smallest(values, lambda signs: float(values @ np.array(signs)), flips)
    assert (len(flips), found) == attainable_p.flipped(runs)


@pytest.mark.parametrize(
    "strata",
    [("ab", "bc", "ca"), ("ab", "ab", "ab"), ("abc", "abc"), ("abb", "ab"), ("abcd",), ("aab", "abb"), ("aa", "ab")],
)
def test_exchanges_agree_with_enumeration(strata: tuple[str, ...]) -> None:
    """The best p over arrangements of drawn values, each agent's its own, is the smallest that is said to be there."""
    generator = np.random.default_rng(3)
    values = generator.normal(size=sum(map(len, strata)))
    places = [at for at, labels in enumerate(strata) for _ in labels]
    best = Fraction(1)
    count = 0
    for chosen in product(*(sorted(set(permutations(labels))) for labels in strata)):
        labels = [label for stratum in chosen for label in stratum]
        exchange = permutation.Exchange(["run"] * len(labels), places, labels)
        tested = exchange.test(values, generator)
        count = tested.labelings or 0
        best = min(best, Fraction(tested.p or 1).limit_denominator(10_000))
    assert attainable_p.exchanged(strata) == (count, best)


def test_what_is_drawn_goes_no_lower_than_its_draws_let_it() -> None:
    assert attainable_p.exchanged(["ab", "bc", "ca"] * 6) == (8**6, Fraction(1, 8**6))
    assert attainable_p.exchanged(["ab", "bc", "ca"] * 7) == (8**7, Fraction(1, 10_001))
    assert attainable_p.flipped(15) == (2**15, Fraction(1, 2**15))
    assert attainable_p.flipped(16) == (2**16, Fraction(1, 10_001))
    tested = permutation.sign_flips(np.full(16, 0.1), np.random.default_rng(1))
    assert tested.p == pytest.approx(1 / 10_001)


@pytest.mark.parametrize(("turns", "windows"), [(10, 2), (50, 2), (62, 2), (63, 3), (100, 4), (130, 5), (200, 8)])
def test_windows_are_rounded_half_up(turns: int, windows: int) -> None:
    assert definitions.windows(turns) == windows


class TestPower:
    def test_six_runs(self) -> None:
        assert level_sd(6) == pytest.approx(0.0243, abs=5e-5)
        assert level_sd_for(6) == pytest.approx(0.014, abs=5e-4)
        assert level_power(6, 0.0243) == pytest.approx(0.22, abs=5e-3)

    def test_it_is_what_simulation_finds(self) -> None:
        draws = np.random.default_rng(4).normal(0, 0.02, size=(40_000, 6))
        half = 2.015048 * draws.std(axis=1, ddof=1) / np.sqrt(6)
        passed = np.abs(draws.mean(axis=1)) + half < LEVEL_MARGIN
        assert level_power(6, 0.02) == pytest.approx(float(passed.mean()), abs=0.01)

    def test_more_runs_have_more(self) -> None:
        assert level_power(12, 0.02) > level_power(6, 0.02)


class TestPlannedTests:
    def test_white_room_with_stage1(self) -> None:
        plan = reading.read(reading.preset("white-room-stage1"))
        assert isinstance(plan, Plan)
        found = {test.test: test for test in attainable.tests(design(plan, plans.known_tests(plan)))}
        assert set(found) == {*(f"pcs:{model}" for model in MODELS), "H1", "H2", "ri_star:model", "ri_star:persona"}
        pcs = found[f"pcs:{MODELS[0]}"]
        assert (pcs.n, pcs.labelings, pcs.p_exact) == ("5 v 3 runs, ko + en", 3136, "1/3136")
        assert pcs.p_min == pytest.approx(1 / 3136)
        assert pcs.p_holm == pytest.approx(3 / 3136)
        assert (pcs.confirmatory, pcs.reachable) == (True, True)
        h1 = found["H1"]
        assert (h1.n, h1.p_exact, h1.p_holm, h1.reachable) == ("6 runs", "1/64", 2 / 64, True)
        assert not found["ri_star:model"].confirmatory
        assert found["ri_star:model"].p_exact == "1/262144"

    def test_holm_runs_over_all_models_whichever_are_registered(self) -> None:
        phases = {"stage1": {"runs": 5}, "phase1": {"runs": 3}}
        for registered in ([f"pcs:{MODELS[0]}"], ["pcs"], []):
            found = planned(phases=phases, languages=["ko"], hypotheses=registered)
            assert [test.p_holm for test in found.values()] == [pytest.approx(3 / 56)] * 3

    def test_a_model_without_both_arms_is_not_a_member(self) -> None:
        phases = {"stage1": {"runs": 5, "models": MODELS[:2]}, "phase1": {"runs": 3}}
        found = planned(phases=phases, languages=["ko"], hypotheses=["pcs"])
        assert [test.p_holm for test in found.values()] == [pytest.approx(2 / 56), pytest.approx(2 / 56), None]

    def test_ri_star_is_not_corrected(self) -> None:
        found = planned(phases={"phase2": {}}, hypotheses=["ri_star"])
        tests = [found[f"ri_star:{group}"] for group in ("model", "persona")]
        assert [(test.p_exact, test.p_holm, test.reachable) for test in tests] == 2 * [("1/262144", None, True)]

    def test_an_unreachable_test_without_correction_says_why(self) -> None:
        values = {"name": "n", "models": MODELS, "phases": {"phase2": {"sets": ["A"]}}}
        plan = reading.read(json.dumps({**values, "hypotheses": [{"test": "ri_star:model", "alpha": "0.001"}]}))
        assert isinstance(plan, Plan)
        (fault,) = examined(ParsedPlan(plan), Catalogue({}), power=power).faults
        assert "the smallest p is 1/512 = 0.001953. Plan" in fault.message

    def test_of_five_models_a_run_holds_four(self) -> None:
        models = [f"m{number}" for number in range(5)]
        plan = {"models": models, "phases": {"phase2": {"sets": ["A"], "runs": 2}}, "allow_unbalanced": True}
        found = planned(**plan)["ri_star:model"]
        assert (found.n, found.labelings, found.p_exact) == ("2 runs, 5 groups", 8**2, "1/64")

    def test_five_runs_cannot_carry_h1_and_h2_together(self) -> None:
        phases = {"phase2": {"runs": 5, "sets": ["A"]}}
        both = planned(phases=phases, hypotheses=["H1", "H2"])
        assert {name: test.reachable for name, test in both.items() if test.confirmatory} == {"H1": False, "H2": False}
        assert not planned(phases=phases, hypotheses=["H1"])["H1"].reachable

    def test_a_named_test_without_a_p_says_what_it_needs(self) -> None:
        found = planned(phases={"phase1": {}}, hypotheses=["pcs", "H1", "ri_star:model"])
        assert {test.p_min for test in found.values()} == {None}
        assert not any(test.reachable for test in found.values())
        assert "needs Stage 1" in found[f"pcs:{MODELS[0]}"].note
        assert "Set A or B" in found["H1"].note
        assert "one group" in planned(models=["scripted"], phases={"phase2": {}}, hypotheses=["ri_star"])[
            "ri_star:model"
        ].note  # fmt: skip

    def test_a_design_without_tests_has_none(self) -> None:
        assert planned(phases={"phase2": {"sets": ["C"]}}) == {}

    def test_arms_that_share_one_language_are_tested_in_it(self) -> None:
        phases = {"stage1": {"languages": ["ko"]}, "phase1": {}}
        assert planned(phases=phases)[f"pcs:{MODELS[0]}"].n == "5 v 3 runs, ko"
