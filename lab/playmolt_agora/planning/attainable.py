"""The smallest p that each planned test can reach with the runs it has (measures.md, sections 3, 5 and 7)."""

from fractions import Fraction
from typing import Final

import msgspec
from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.instrument.definitions import windows
from playmolt_schemas.instrument.laboratory import Design

from playmolt_agora.measures.inference import attainable_p

_DEFAULT_ALPHA: Final = "0.05"
_SLOPE_WINDOWS: Final = 3
"""H1b needs a slope over windows 2 … W, hence two of them."""


class Attainable(msgspec.Struct, frozen=True):
    """A test's number of labelings and the smallest p among them; None where the design gives no p."""

    n: str
    labelings: int | None
    p: Fraction | None
    note: str = ""

    @property
    def p_min(self) -> float | None:
        return None if self.p is None else float(self.p)


def tests(design: Design) -> tuple[PlannedTest, ...]:
    """Every test of the plan's design and every one it names, with what each can reach.

    Holm's correction runs over a whole family, registered or not, as the analysis does; a test that is not confirmatory
    has no α to miss.
    """
    found = {test: _attainable(design, test) for test in design.tests}
    # A model without both arms has no PCS test and does not belong to that family; H1 and H2 are always two.
    adjusted = attainable_p.corrected(
        {test: each.p_min for test, each in found.items() if each.p is not None or attainable_p.family(test) == "H"}
    )
    return tuple(
        _planned(design, test, each, adjusted.get(test))
        for test, each in found.items()
        if test in design.named or each.p is not None
    )


def _attainable(design: Design, test: str) -> Attainable:
    family, _, what = test.partition(":")
    if family == "pcs":
        return _pcs(design, what)
    if not design.persona_runs:
        return Attainable("0 runs", None, None, "needs Phase 2 runs of Set A or B")
    if family == "ri_star":
        return _ritual(design, by_model=what == "model")
    return _instruction(design, test)


def _ritual(design: Design, *, by_model: bool) -> Attainable:
    """Labels are exchanged among the agents of a run that share the other factor."""
    strata: dict[tuple[int, str], list[str]] = {}
    for run, seats in enumerate(design.persona_runs):
        for seat in seats:
            label, other = (seat.model, str(seat.persona)) if by_model else (str(seat.persona), seat.model)
            strata.setdefault((run, other), []).append(label)
    groups = len({label for labels in strata.values() for label in labels})
    runs = len(design.persona_runs)
    if groups == 1:
        return Attainable(f"{runs} runs", None, None, "one group has nothing to differ from")
    return Attainable(f"{runs} runs, {groups} groups", *attainable_p.exchanged(list(strata.values())))


def _instruction(design: Design, test: str) -> Attainable:
    runs, count = len(design.persona_runs), windows(design.turns)
    if test == "H1" and count < _SLOPE_WINDOWS:
        return Attainable(
            f"{runs} runs", None, None, f"H1b is a slope over windows 2 and later; {count} windows are too few"
        )
    if test == "H2" and runs < 2:
        return Attainable(f"{runs} runs", None, None, "H2b is a t test and needs 2 runs or more")
    return Attainable(f"{runs} runs", *attainable_p.flipped(runs))


def _pcs(design: Design, model: str) -> Attainable:
    strata = design.pcs.get(model, ())
    if not strata:
        return Attainable("0 runs", None, None, "needs Stage 1 and Phase 1 runs of the model in one language")
    spoken = " + ".join(stratum.language for stratum in strata)
    sizes = " and ".join(dict.fromkeys(f"{stratum.stage1} v {stratum.phase1}" for stratum in strata))
    labelings = attainable_p.relabelled([(stratum.stage1, stratum.phase1) for stratum in strata])
    return Attainable(f"{sizes} runs, {spoken}", *labelings)


def _planned(design: Design, test: str, found: Attainable, p_holm: float | None) -> PlannedTest:
    hypothesis = design.named.get(test)
    alpha = hypothesis.alpha if hypothesis else _DEFAULT_ALPHA
    least = found.p_min if p_holm is None else p_holm
    return PlannedTest(
        test=test,
        confirmatory=hypothesis is not None and not design.exploratory,
        alpha=alpha,
        family=attainable_p.family(test),
        n=found.n,
        labelings=found.labelings,
        p_min=found.p_min,
        p_exact=None if found.p is None else f"{found.p.numerator}/{found.p.denominator}",
        p_holm=p_holm,
        reachable=least is not None and least <= float(alpha) + 1e-12,
        note=found.note,
    )
