"""The planned tests of a study, from its confirmatory set: the table `tests` (`measures.md`, sections 3, 5, 7)."""

from collections.abc import Sequence

from playmolt_agora.measures import pcs, ritual
from playmolt_agora.measures.data.frame import Frame
from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.data.tables import TABLES
from playmolt_agora.measures.inference import attainable_p, hypotheses
from playmolt_agora.measures.inference.permutation import PermutationTest
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats


def rows(
    turns: Frame, cells: Sequence[pcs.PcsCell], figures: hypotheses.Figures, seed: str,
    models: Sequence[str], repeated: Repeats | None = None,
) -> list[Result]:  # fmt: skip
    """A row per test: PCS of each model, the parts of H1 and H2 and the two, RI* by model and persona.

    `models` are those that PCS is tested for: one that left the confirmatory set altogether still counts for Holm.
    Where the runs that a test compares do not differ, and over an arm without a valid turn, p is null.
    """
    untested = _without_turns(turns) or (repeated is not None and repeated.all_alike(("A", "B")))
    found = [*_hypotheses(figures, seed), *_rituals(turns, seed)]
    for each in found if untested else ():
        each.row.update(p=None, p_holm=None, p_error=None)
    return [*_pcs(cells, seed, models, repeated), *found]


def _without_turns(turns: Frame) -> bool:
    """Whether a model or a persona of Sets A and B has no valid turn."""
    inside = turns.where(lambda seat: seat.set in {"A", "B"})
    valid = inside.tally(inside.valid)
    arms: dict[tuple[str, str | None], int] = {}
    for at, seat in enumerate(inside.seats):
        for arm in (("model", seat.model), ("persona", seat.persona)):
            arms[arm] = arms.get(arm, 0) + int(valid[at])
    return 0 in arms.values()


def _pcs(cells: Sequence[pcs.PcsCell], seed: str, planned: Sequence[str], repeated: Repeats | None) -> list[Result]:
    names = sorted({cell.model for cell in cells})
    models = {model: [cell for cell in cells if cell.model == model] for model in names}
    tested = {model: _tested(group, seed, repeated) for model, group in models.items()}
    tests = {model: tested[model][1].p if model in tested else None for model in planned}
    adjusted = attainable_p.corrected({f"pcs:{model}": p for model, p in tests.items()})
    found = []
    for model, (statistic, test) in tested.items():
        full = [cell for cell in models[model] if not cell.empty]
        runs = tuple(run for cell in full for run in cell.stage1.runs + cell.phase1.runs)
        alpha = max((cell.alpha for cell in full), default=None)
        found.append(_row(f"pcs:{model}", statistic, test, runs, p_holm=adjusted.get(f"pcs:{model}"), alpha=alpha))
    return found


def _tested(group: Sequence[pcs.PcsCell], seed: str, repeated: Repeats | None) -> tuple[float | None, PermutationTest]:
    statistic, test = pcs.test(group, seed)
    if repeated and all(repeated.alike_cell(cell.model, cell.language) for cell in group):
        return statistic, PermutationTest(None, test.labelings)
    return statistic, test


def _hypotheses(found: hypotheses.Figures, seed: str) -> list[Result]:
    parts, means = hypotheses.tests(found.parts, lambda part: stream(seed, part)), hypotheses.means(found.parts)
    sizes = {part: found.parts[part].size for part in hypotheses.PARTS}
    whole = {name: _larger(parts[f"{name}a"].p, parts[f"{name}b"].p) for name in ("H1", "H2")}
    adjusted = attainable_p.corrected(whole)
    # H1 is H1b where that is the larger of the two: then it has its error.
    error = hypotheses.p_error(found, seed)
    errors = {"H1b": error, "H1": error if whole["H1"] is not None and whole["H1"] == parts["H1b"].p else None}
    found_rows = [
        _row(part, means[part], parts[part], found.runs, n=sizes[part], p_error=errors.get(part))
        for part in hypotheses.PARTS
    ]
    for name, p in whole.items():
        test, n = PermutationTest(p, None), min(sizes[f"{name}a"], sizes[f"{name}b"])
        found_rows.append(_row(name, None, test, found.runs, n=n, p_holm=adjusted[name], p_error=errors.get(name)))
    return found_rows


def _rituals(turns: Frame, seed: str) -> list[Result]:
    found = []
    groups: tuple[ritual.Group, ...] = ("model", "persona")
    for group in groups:
        statistic, test, runs = ritual.test(turns, group, seed)
        found.append(_row(f"ri_star:{group}", statistic, test, runs))
    return found


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _row(
    name: str, statistic: float | None, test: PermutationTest, runs: tuple[str, ...], *,
    n: int | None = None, alpha: float | None = None, **corrected: float | None,
) -> Result:  # fmt: skip
    """`corrected` are `p_holm` and `p_error`, where there is one."""
    n = len(runs) if n is None else n
    known = {"test": name, "statistic": statistic, "p": test.p, "labelings": test.labelings, "n": n}
    return Result(dict.fromkeys(TABLES["tests"]) | known | corrected, runs=runs, n=n, unit="run", alpha=alpha)
