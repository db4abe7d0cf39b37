"""The smallest p that each planned test can reach with the runs it has (measures.md, sections 3, 5 and 7)."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb, factorial, prod
from typing import Final

import msgspec
from playmolt_schemas.agora import Language
from playmolt_schemas.agora_plan import Hypothesis, Plan, PlannedTest

from playmolt_agora import plan as plans
from playmolt_agora.squares import PERSONAS, labels

_DEFAULT_ALPHA: Final = "0.05"
_SLOPE_WINDOWS: Final = 3
"""H1b needs a slope over windows 2 … W, hence two of them."""


class Reach(msgspec.Struct, frozen=True):
    """A test's number of labelings and the smallest p among them; None where the design gives no p."""

    n: str
    labelings: int | None
    p: Fraction | None
    note: str = ""


def relabelled(arms: Sequence[tuple[int, int]]) -> tuple[int, Fraction]:
    """Give labelings and smallest p of a permutation of run labels inside each stratum of (Stage 1, Phase 1) runs.

    JSD is symmetric, so where the arms are equal the mirrored labelling ties.
    """
    labelings = prod(comb(one + two, one) for one, two in arms)
    ties = prod(2 if one == two else 1 for one, two in arms)
    return labelings, Fraction(ties, labelings)


def flipped(runs: int) -> tuple[int, Fraction]:
    """Give labelings and smallest p of one-sided sign flips of the runs' differences."""
    return 2**runs, Fraction(1, 2**runs)


def shuffled(groups: int, runs: int) -> tuple[int, Fraction]:
    """Give labelings and smallest p of labels permuted inside each run: those that rename all groups alike tie."""
    return factorial(groups) ** runs, Fraction(1, factorial(groups) ** (runs - 1))


def windows(turns: int) -> int:
    """Give the number of windows of a run: max(2, T/25 rounded half up)."""
    return max(2, (2 * turns + 25) // 50)


def persona_runs(plan: Plan) -> int:
    """Count the runs of Sets A and B."""
    phase = plans.phase_of(plan, "phase2")
    return phase.runs * sum(name in plans.WITH_PERSONA for name in plans.sets(plan)) if phase else 0


def tests(plan: Plan) -> tuple[PlannedTest, ...]:
    """Give every test of the plan's design and every one it names, with what each can reach.

    Holm's correction runs over the confirmatory tests of a family; a test that is not confirmatory has no α to miss.
    """
    named = {hypothesis.test: hypothesis for hypothesis in plans.hypotheses(plan)}
    made = []
    for test in plans.known_tests(plan):
        reach = reach_of(plan, test)
        if test in named or reach.p is not None:
            made.append(_planned(test, reach, named.get(test), exploratory=plan.exploratory))
    return tuple(_corrected(made))


def reach_of(plan: Plan, test: str) -> Reach:
    """Give what one test can reach; `test` is one of `plan.known_tests`."""
    family, _, what = test.partition(":")
    if family == "pcs":
        return _pcs(plan, what)
    runs = persona_runs(plan)
    if not runs:
        return Reach("0 runs", None, None, "needs Phase 2 runs of Set A or B")
    if family == "ri_star":
        groups = len(labels(plan)) if what == "model" else len(PERSONAS)
        if groups == 1:
            return Reach(f"{runs} runs", None, None, "one group has nothing to differ from")
        labelings, p = shuffled(groups, runs)
        return Reach(f"{runs} runs, {groups} groups", labelings, p)
    return _instruction(plan, test, runs)


def _instruction(plan: Plan, test: str, runs: int) -> Reach:
    phase = plans.phase_of(plan, "phase2")
    count = windows(phase.turns) if phase else 0
    if test == "H1" and count < _SLOPE_WINDOWS:
        return Reach(
            f"{runs} runs", None, None, f"H1b is a slope over windows 2 and later; {count} windows are too few"
        )
    if test == "H2" and runs < 2:
        return Reach(f"{runs} runs", None, None, "H2b is a t test and needs 2 runs or more")
    return Reach(f"{runs} runs", *flipped(runs))


def _pcs(plan: Plan, model: str) -> Reach:
    arms: list[tuple[Language, int, int]] = []
    for language in plans.languages(plan, "phase1"):
        one, two = plans.stage1_runs(plan, model, language), plans.phase1_runs(plan, model, language)
        if one and two:
            arms.append((language, one, two))
    if not arms:
        return Reach("0 runs", None, None, "needs Stage 1 and Phase 1 runs of the model in one language")
    spoken = " + ".join(language for language, _, _ in arms)
    sizes = " and ".join(dict.fromkeys(f"{one} v {two}" for _, one, two in arms))
    return Reach(f"{sizes} runs, {spoken}", *relabelled([(one, two) for _, one, two in arms]))


def _planned(test: str, reach: Reach, hypothesis: Hypothesis | None, *, exploratory: bool) -> PlannedTest:
    alpha = hypothesis.alpha if hypothesis else _DEFAULT_ALPHA
    return PlannedTest(
        test=test,
        confirmatory=hypothesis is not None and not exploratory,
        alpha=alpha,
        family="H" if test in ("H1", "H2") else test.partition(":")[0],
        n=reach.n,
        labelings=reach.labelings,
        p_min=None if reach.p is None else float(reach.p),
        p_exact=None if reach.p is None else f"{reach.p.numerator}/{reach.p.denominator}",
        p_holm=None,
        reachable=False,
        note=reach.note,
    )


def _corrected(made: Sequence[PlannedTest]) -> list[PlannedTest]:
    adjusted: dict[str, float] = {}
    for family in dict.fromkeys(test.family for test in made):
        members = [test for test in made if test.family == family]
        registered = [test for test in members if test.confirmatory]
        adjusted |= _holm(registered or members)
    return [_judged(test, adjusted.get(test.test)) for test in made]


def _holm(members: Sequence[PlannedTest]) -> dict[str, float]:
    """A test without a p counts into the family: it was registered and cannot pass."""
    ordered = sorted((test for test in members if test.p_min is not None), key=lambda test: test.p_min or 0.0)
    adjusted, largest = {}, 0.0
    for place, test in enumerate(ordered):
        largest = max(largest, min(1.0, (len(members) - place) * (test.p_min or 0.0)))
        adjusted[test.test] = largest
    return adjusted


def _judged(test: PlannedTest, p_holm: float | None) -> PlannedTest:
    p = p_holm if p_holm is not None else test.p_min
    reachable = p is not None and p <= float(test.alpha) + 1e-12
    return msgspec.structs.replace(test, p_holm=p_holm, reachable=reachable)
