"""The smallest p that each planned test can reach with the runs it has (measures.md, sections 3, 5 and 7)."""

from typing import Final

import msgspec
from playmolt_schemas.agora.plan import PlannedTest
from playmolt_schemas.instrument.definitions import windows
from playmolt_schemas.instrument.laboratory import Design

from playmolt_agora.measures.inference import attainable_p

_DEFAULT_ALPHA: Final = "0.05"
_SLOPE_WINDOWS: Final = 3
"""H1b needs a slope over windows 2 … W, hence two of them."""
Reach = tuple[str, attainable_p.Attainable | None, str]
"""The units of a test, what it can reach with them, and why the design gives no p."""


def tests(design: Design) -> tuple[PlannedTest, ...]:
    """Every test of the plan's design and every one it names, with what each can reach.

    Holm's correction runs over a whole family, registered or not, as the analysis does; a test that is not confirmatory
    has no α to miss.
    """
    found = {test: _planned(design, test) for test in design.tests}
    # A model without both arms has no PCS test and does not belong to that family; H1 and H2 are always two.
    adjusted = attainable_p.corrected(
        {test: each.p_min for test, each in found.items() if each.p_min is not None or each.family == "H"}
    )
    return tuple(
        _adjusted(each, adjusted.get(test))
        for test, each in found.items()
        if test in design.named or each.p_min is not None
    )


def _planned(design: Design, test: str) -> PlannedTest:
    hypothesis = design.named.get(test)
    units, reach, note = _reach(design, test)
    labelings, p = reach or (None, None)
    return PlannedTest(
        test=test,
        confirmatory=hypothesis is not None and not design.exploratory,
        alpha=hypothesis.alpha if hypothesis else _DEFAULT_ALPHA,
        family=attainable_p.family(test),
        n=units,
        labelings=labelings,
        p_min=None if p is None else float(p),
        p_exact=None if p is None else f"{p.numerator}/{p.denominator}",
        p_holm=None,
        reachable=False,
        note=note,
    )


def _adjusted(test: PlannedTest, p_holm: float | None) -> PlannedTest:
    least = test.p_min if p_holm is None else p_holm
    reachable = least is not None and least <= float(test.alpha) + 1e-12
    return msgspec.structs.replace(test, p_holm=p_holm, reachable=reachable)


def _reach(design: Design, test: str) -> Reach:
    family, _, what = test.partition(":")
    if family == "pcs":
        return _pcs(design, what)
    if not design.persona_runs:
        return "0 runs", None, "needs Phase 2 runs of Set A or B"
    if family == "ri_star":
        return _ritual(design, by_model=what == "model")
    return _instruction(design, test)


def _ritual(design: Design, *, by_model: bool) -> Reach:
    """Labels are exchanged among the agents of a run that share the other factor."""
    strata: dict[tuple[int, str], list[str]] = {}
    for run, seats in enumerate(design.persona_runs):
        for seat in seats:
            label, other = (seat.model, str(seat.persona)) if by_model else (str(seat.persona), seat.model)
            strata.setdefault((run, other), []).append(label)
    groups = len({label for labels in strata.values() for label in labels})
    runs = len(design.persona_runs)
    if groups == 1:
        return f"{runs} runs", None, "one group has nothing to differ from"
    return f"{runs} runs, {groups} groups", attainable_p.exchanged(list(strata.values())), ""


def _instruction(design: Design, test: str) -> Reach:
    runs, count = len(design.persona_runs), windows(design.turns)
    if test == "H1" and count < _SLOPE_WINDOWS:
        return f"{runs} runs", None, f"H1b is a slope over windows 2 and later; {count} windows are too few"
    if test == "H2" and runs < 2:
        return f"{runs} runs", None, "H2b is a t test and needs 2 runs or more"
    return f"{runs} runs", attainable_p.flipped(runs), ""


def _pcs(design: Design, model: str) -> Reach:
    strata = design.pcs.get(model, ())
    if not strata:
        return "0 runs", None, "needs Stage 1 and Phase 1 runs of the model in one language"
    spoken = " + ".join(stratum.language for stratum in strata)
    sizes = " and ".join(dict.fromkeys(f"{stratum.stage1} v {stratum.phase1}" for stratum in strata))
    reach = attainable_p.relabelled([(stratum.stage1, stratum.phase1) for stratum in strata])
    return f"{sizes} runs, {spoken}", reach, ""
