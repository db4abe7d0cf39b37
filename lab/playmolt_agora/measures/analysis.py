"""A study's turns through every measure (`measures.md`): the tables, what each row was computed from, both versions.

Per-run rows describe every run; identical runs count once in all others. Pooled rows describe the runs that are not
exploratory; a study of nothing but exploratory runs (pilots) pools those. `pcs`, `delta_pcs`, `ri_ext` and `tests` take
the confirmatory set: no exploratory run and no model of a run with more than a fifth of its turns failed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl
from playmolt_schemas.instrument import definitions
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures import descriptive, drift, pcs, ritual, washout
from playmolt_agora.measures.data.frame import EXCLUDED, MET, RITUAL, Treatment, frame, treated
from playmolt_agora.measures.data.results import Result, Table, mean, ratio, table
from playmolt_agora.measures.data.tables import BESIDE, PROVENANCE, TABLES
from playmolt_agora.measures.descriptive import LoggedGini
from playmolt_agora.measures.inference import confirmatory, contrasts, hypotheses
from playmolt_agora.measures.inference.arms import PcsCell
from playmolt_agora.measures.repeats import Repeats

Imported = Sequence[Mapping[str, object]]
Found = dict[str, list[Result]]
RunModel = tuple[str, str]
CONFIRMATORY: Final = ("pcs", "ri_ext", "tests", "delta_pcs")
CHOSEN: Final = (*CONFIRMATORY, "headline", "pcs_left_out", "unadjusted")
"""The tables of the confirmatory set."""
DESCRIPTIVE: Final = (
    *("shares", "ri", "drift", "shared_model", "pint", "parse", "gini"),
    *("rolling", "adherence", "network", "occupancy", "repeats"),
)
"""The tables that hold rows of every run."""


@dataclass(frozen=True)
class Analysis:
    """What a study came to.

    `tables` are those of section 11 in their order; `beside` is shown with them; `unexcluded` holds the confirmatory
    tables with the excluded models of runs in, under `unexcluded_NAME`, empty if none is; `excluded` names
    them. `provenance` has a table parallel to each of all these, row by row, under its name.
    """

    tables: dict[str, Table]
    beside: dict[str, Table]
    unexcluded: dict[str, Table]
    provenance: dict[str, Table]
    excluded: tuple[tuple[str, str], ...]
    definition: str = field(default_factory=definitions.version)


def study(
    records: Iterable[Mapping[str, object] | TurnRecord],
    *,
    ginis: Iterable[LoggedGini] = (),
    seed: str = "",
    stage1_import: Imported = (),
    events: Mapping[str, tuple[int, int]] | None = None,
) -> Analysis:
    """Analyse turn records in any order; a record that lacks a field raises ValueError.

    `ginis` are coefficients that runs logged; `stage1_import` counts (run, model, language, action, count) that replace
    Stage 1; `events` the first and last version of each run in the log.
    Equal records, seed and definitions give equal results.
    """
    turns = frame(records)
    parsed = descriptive.parse(turns)
    excluded = excluded_of(parsed)
    repeated = Repeats(turns)
    pooled = repeated.once(_pooled(turns))
    planned = repeated.once(turns.filter(~pl.col("exploratory")))
    kept = planned.filter(~EXCLUDED.over("run", "model"))
    everyone = pcs.cells(planned, stage1_import)
    cells = pcs.cells(kept, stage1_import) if excluded else everyone
    tested, figures = pcs.tested(everyone), hypotheses.figures(kept, seed)
    compared = contrasts.found(pooled)
    spans, points = contrasts.intervals([*compared, *contrasts.of_models(pooled)], seed)
    main = {
        "ri": descriptive.rituals(turns),
        "drift": drift.rows(turns, seed),
        "shared_model": hypotheses.shared_models(turns),
        "pint": descriptive.interaction(turns),
        "washout": washout.rows(pooled, seed),
        "dissoc": descriptive.dissociation(pooled),
        "contrasts": contrasts.rows(compared),
        **_confirmatory(kept, cells, figures, seed, tested, repeated),
        "parse": parsed,
        "gini": descriptive.ginis(ginis),
        "shares": [*descriptive.shares(turns, "agent"), *descriptive.shares(pooled, "cell")],
    }
    beside = {
        "pcs_left_out": pcs.left_out_rows(cells),
        "pcs_pure": pcs.pure(pooled),
        "contrast_intervals": spans,
        "contrast_shares": points,
        "merchant": hypotheses.merchant_between(pooled, seed),
        "entropy": drift.by_model(pooled),
        "rolling": drift.rolling(turns),
        "adherence": drift.adherence(turns),
        "network": descriptive.network(turns),
        "occupancy": descriptive.occupancy(turns),
        "repeats": repeated.rows(),
        "headline": _headline(kept, figures, seed, stage1_import),
        "unadjusted": hypotheses.unadjusted(figures, seed),
    }
    for each in (*beside["unadjusted"], *beside["merchant"]):
        _untested(each, "p", alike=repeated.all_alike(("A", "B")))
    whole: Found = {}
    if excluded:
        whole = _confirmatory(planned, everyone, hypotheses.figures(planned, seed), seed, tested, repeated)
    other = {f"unexcluded_{name}": rows for name, rows in whole.items()}
    apart, failing = (*_exploratory(turns), *_copies(repeated)), _failing(excluded)

    def provenance(name: str, rows: Sequence[Result]) -> Table:
        left_out = () if name in DESCRIPTIVE else apart
        return provenance_of(rows, seed, left_out + (failing if name in CHOSEN else ()), events or {})

    return Analysis(
        tables=_laid(main, TABLES),
        beside=_laid(beside, BESIDE),
        unexcluded=_laid(other, {f"unexcluded_{name}": TABLES[name] for name in whole}),
        provenance={name: provenance(name, rows) for name, rows in {**main, **beside, **other}.items()},
        excluded=tuple(sorted(excluded)),
    )


def provenance_of(
    rows: Sequence[Result], seed: str, left_out: tuple[str, ...], events: Mapping[str, tuple[int, int]]
) -> Table:
    """What each row was computed from, as a table parallel to theirs."""
    version = definitions.version()
    return table(
        PROVENANCE,
        (
            {
                "definition": version,
                "alpha": each.alpha,
                "k": 7 if each.row.get("treatment") == "seventh" else 6,
                "n": each.n,
                "unit": each.unit,
                "exclusions": left_out,
                "seed": seed,
                "runs": each.runs,
                "events": {run: events[run] for run in each.runs if run in events},
            }
            for each in rows
        ),
    )


def _pooled(turns: pl.DataFrame) -> pl.DataFrame:
    return turns.filter(~pl.col("exploratory") | pl.col("exploratory").all())


def _confirmatory(
    turns: pl.DataFrame, cells: Sequence[PcsCell], figures: hypotheses.Figures, seed: str,
    tested: Sequence[str], repeated: Repeats,
) -> Found:  # fmt: skip
    return {
        "pcs": [
            _untested(pcs.row(cell, seed), "p_perm", alike=repeated.alike_cell(cell.model, cell.language))
            for cell in cells
        ],
        "ri_ext": [
            _untested(each, "p_perm", alike=repeated.all_alike((each.row["set"],)))
            for each in ritual.fading(turns, seed)
        ],
        "tests": confirmatory.rows(turns, cells, figures, seed, tested, repeated),
        "delta_pcs": pcs.differences(cells),
    }


def _untested(each: Result, p: str, *, alike: bool) -> Result:
    """Without its p where its runs do not differ."""
    if alike:
        each.row[p] = None
    return each


def _copies(repeated: Repeats) -> tuple[str, ...]:
    return tuple(f"{run}: identical to {first}" for run, first in sorted(repeated.copies.items()))


def _exploratory(turns: pl.DataFrame) -> tuple[str, ...]:
    return tuple(f"{run}: exploratory" for run in turns.filter("exploratory")["run"].unique().sort())


def _failing(excluded: frozenset[RunModel]) -> tuple[str, ...]:
    return tuple(f"{run}, {model}: more than 20 % failed" for run, model in sorted(excluded))


def _laid(found: Found, columns: Mapping[str, tuple[str, ...]]) -> dict[str, Table]:
    return {name: table(names, (each.row for each in found[name])) for name, names in columns.items()}


def excluded_of(parsed: list[Result]) -> frozenset[RunModel]:
    """The models of runs that leave the confirmatory set."""
    return frozenset((each.row["run"], each.row["model"]) for each in parsed if each.row["excluded"])


TREATMENTS: Final[tuple[Treatment, ...]] = ("dropped", "seventh", "idle")


def _headline(
    turns: pl.DataFrame, main: hypotheses.Figures, seed: str, imported: Sequence[Mapping[str, object]] = ()
) -> list[Result]:
    """The table `headline`: PCS, RI*, P_int and the parts of H1 and H2, each three times; `main` are those of `turns`.

    Imported Stage 1 counts hold no failed turns, so they are the same every time.
    """
    found: list[Result] = []
    for treatment in TREATMENTS:
        counted = treated(turns, treatment)
        figures = main if treatment == "dropped" else hypotheses.figures(counted, seed)
        found += _treated(counted, figures, treatment, imported)
    return found


def _treated(
    turns: pl.DataFrame, found: hypotheses.Figures, treatment: Treatment, imported: Sequence[Mapping[str, Any]]
) -> Iterator[Result]:
    for cell in pcs.cells(turns, imported):
        key = {"model": cell.model, "language": cell.language}
        yield _headline_row("pcs", key, treatment, cell.n, cell.pcs, cell.runs)
    for figure, above, keys in (("ri_star", RITUAL, ("phase", "set", "model")), ("p_int", MET, ("phase", "set"))):
        sums = turns.group_by(keys, maintain_order=True).agg(
            pl.col("valid").sum(), above=above.sum(), runs=pl.col("run").unique().sort()
        )
        for row in sums.iter_rows(named=True):
            value = ratio(row["above"], row["valid"])
            yield _headline_row(figure, row, treatment, row["valid"], value, tuple(row["runs"]))
    for part, values in found.parts.items():
        yield _headline_row(part, {}, treatment, values.size, mean(values.tolist()), found.runs)


def _headline_row(
    figure: str, key: dict[str, Any], treatment: Treatment, n: int, value: float | None, runs: tuple[str, ...]
) -> Result:
    names = {name: key.get(name) for name in ("phase", "set", "model", "language")}
    row = {"figure": figure, **names, "treatment": treatment, "n": n, "value": value}
    return Result(row, runs=runs, n=n, unit="run" if figure in hypotheses.PARTS else "turn")
