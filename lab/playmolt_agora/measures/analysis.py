"""A study's turns through every measure (`measures.md`): the tables, what each row was computed from, both versions.

Per-run rows describe every run; identical runs count once in all others. Pooled rows describe the runs that are not
exploratory; a study of nothing but exploratory runs (pilots) pools those. `pcs`, `delta_pcs`, `ri_ext` and `tests` take
the confirmatory set: no exploratory run and no model of a run with more than a fifth of its turns failed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

import polars as pl
from playmolt_schemas.instrument import definitions
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures import descriptive, drift, pcs, ritual, washout
from playmolt_agora.measures.data.frame import EXCLUDED, MET, RITUAL, RUNS, Treatment, frame, treated
from playmolt_agora.measures.data.results import Result, Row, mean, results
from playmolt_agora.measures.data.tables import BESIDE, TABLES
from playmolt_agora.measures.descriptive import share
from playmolt_agora.measures.inference import confirmatory, contrasts, hypotheses
from playmolt_agora.measures.inference.arms import PcsCell
from playmolt_agora.measures.repeats import Repeats

Imported = Sequence[Mapping[str, object]]
Found = dict[str, list[Result]]
CHOSEN: Final = ("pcs", "ri_ext", "tests", "delta_pcs", "headline", "pcs_left_out", "unadjusted")
"""The tables of the confirmatory set."""
DESCRIPTIVE: Final = (
    *("shares", "ri", "drift", "shared_model", "pint", "parse", "gini"),
    *("rolling", "adherence", "network", "occupancy", "repeats"),
)
"""The tables that hold rows of every run."""


@dataclass(frozen=True)
class Analysis:
    """What a study came to.

    `tables` are those of section 11 in their order, those beside them, and as `unexcluded_NAME` the confirmatory ones
    with the excluded models of runs in, where any is. `provenance` says what each of their rows was computed from,
    `events` where the log was asked for them. `copies` is run → the first run that it is identical to.
    """

    tables: dict[str, list[Row]]
    provenance: dict[str, list[Row]]
    copies: Mapping[str, str]


def study(
    records: Iterable[Mapping[str, object] | TurnRecord],
    *,
    ginis: Iterable[Result] = (),
    seed: str = "",
    stage1_import: Imported = (),
    events: Mapping[str, tuple[int, int]] | None = None,
) -> Analysis:
    """Analyse turn records in any order; a record that lacks a field raises ValueError.

    `ginis` are rows of coefficients that runs logged; `stage1_import` counts (run, model, language, action, count) that
    replace Stage 1; `events` the first and last version of each run in the log.
    Equal records, seed and definitions give equal results.
    """
    turns = frame(records)
    parsed = descriptive.parse(turns)
    excluded = tuple((each.row["run"], each.row["model"]) for each in parsed if each.row["excluded"])
    repeated = Repeats(turns)
    # A filter copies also where it keeps everything.
    planned = repeated.once(turns.filter(~pl.col("exploratory")) if turns["exploratory"].any() else turns)
    pooled = planned if planned.height else repeated.once(turns)
    kept = planned.filter(~EXCLUDED.over("run", "model")) if excluded else planned
    everyone = pcs.cells(planned, stage1_import)
    cells = pcs.cells(kept, stage1_import) if excluded else everyone
    tested, figures = pcs.tested(everyone), hypotheses.figures(kept, seed)
    compared = contrasts.found(pooled)
    spans, points = contrasts.intervals([*compared, *contrasts.of_models(pooled)], seed)
    found = {
        "ri": descriptive.rituals(turns),
        "drift": drift.rows(turns, seed),
        "shared_model": hypotheses.shared_models(turns),
        "pint": descriptive.interaction(turns),
        "washout": washout.rows(pooled, seed),
        "dissoc": descriptive.dissociation(pooled),
        "contrasts": contrasts.rows(compared),
        **_confirmatory(kept, cells, figures, seed, tested, repeated),
        "parse": parsed,
        "gini": sorted(ginis, key=lambda each: (each.row["run"], each.row["kind"], each.row["epoch"])),
        "shares": [*descriptive.shares(turns, "agent"), *descriptive.shares(pooled, "cell")],
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
        "headline": list(_headline(kept, figures, seed, stage1_import)),
        "unadjusted": hypotheses.unadjusted(figures, seed),
    }
    for each in (*found["unadjusted"], *found["merchant"]):
        _untested(each, "p", alike=repeated.all_alike(("A", "B")))
    if excluded:
        whole = _confirmatory(planned, everyone, hypotheses.figures(planned, seed), seed, tested, repeated)
        found |= {f"unexcluded_{name}": rows for name, rows in whole.items()}
    exploratory = tuple(f"{run}: exploratory" for run in turns.filter("exploratory")["run"].unique().sort())
    alike = tuple(f"{run}: identical to {first}" for run, first in sorted(repeated.copies.items()))
    failing = tuple(f"{run}, {model}: more than 20 % failed" for run, model in excluded)

    def provenance(name: str, rows: Sequence[Result]) -> list[Row]:
        pilots_alone = planned.is_empty() and name.removeprefix("unexcluded_") not in CHOSEN
        apart = alike if pilots_alone else exploratory + alike
        left_out = () if name in DESCRIPTIVE else apart
        return provenance_of(rows, seed, left_out + (failing if name in CHOSEN else ()), events or {})

    return Analysis(
        tables={name: [each.row for each in found[name]] for name in dict.fromkeys((*TABLES, *BESIDE, *found))},
        provenance={name: provenance(name, rows) for name, rows in found.items()},
        copies=repeated.copies,
    )


def provenance_of(
    rows: Sequence[Result], seed: str, left_out: tuple[str, ...], events: Mapping[str, tuple[int, int]]
) -> list[Row]:
    """What each row was computed from."""
    version = definitions.version()
    return [
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
    ]


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


def _headline(
    turns: pl.DataFrame, main: hypotheses.Figures, seed: str, imported: Sequence[Mapping[str, object]] = ()
) -> Iterator[Result]:
    """The table `headline`: PCS, RI*, P_int and the parts of H1 and H2, each three times; `main` are those of `turns`.

    Imported Stage 1 counts hold no failed turns, so they are the same every time.
    """
    nothing = dict.fromkeys(BESIDE["headline"])
    for treatment in get_args(Treatment):
        counted = treated(turns, treatment)
        for cell in pcs.cells(counted, imported):
            key = {"figure": "pcs", "model": cell.model, "language": cell.language, "treatment": treatment}
            row = nothing | key | {"n": cell.n, "value": cell.divergence}
            yield Result(row, runs=cell.runs, n=cell.n, unit="turn")
        valid = pl.col("valid").sum()
        for figure, above, keys in (("ri_star", RITUAL, ("phase", "set", "model")), ("p_int", MET, ("phase", "set"))):
            shares = counted.group_by(keys, maintain_order=True).agg(RUNS, n=valid, value=share(above.sum(), valid))
            named = shares.with_columns(figure=pl.lit(figure), treatment=pl.lit(treatment))
            yield from results("headline", named, n="n")
        figures = main if treatment == "dropped" else hypotheses.figures(counted, seed)
        for part, values in figures.parts.items():
            row = {"figure": part, "treatment": treatment, "n": values.size, "value": mean(values.tolist())}
            yield Result(nothing | row, runs=figures.runs, n=values.size, unit="run")
