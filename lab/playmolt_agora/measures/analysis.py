"""A study's turns through every measure (`measures.md`): the tables, what each row was computed from, both versions.

Per-run rows describe every run; identical runs count once in all others. Pooled rows describe the runs that are not
exploratory; a study of nothing but exploratory runs (pilots) pools those. `pcs`, `delta_pcs`, `ri_ext` and `tests` take
the confirmatory set: no exploratory run and no model of a run with more than a fifth of its turns failed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from playmolt_schemas.instrument import definitions
from playmolt_schemas.stored.agora.turn import TurnRecord

from playmolt_agora.measures import adherence, descriptive, drift, pcs, ritual, washout
from playmolt_agora.measures import gini as inequality
from playmolt_agora.measures.data import treatments
from playmolt_agora.measures.data.frame import Frame, frame
from playmolt_agora.measures.data.results import Result, Table, table
from playmolt_agora.measures.data.tables import BESIDE, PROVENANCE, TABLES
from playmolt_agora.measures.gini import LoggedGini
from playmolt_agora.measures.inference import confirmatory, contrasts, hypotheses
from playmolt_agora.measures.repeats import Repeats

Imported = Sequence[Mapping[str, object]]
Found = dict[str, list[Result]]
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
    excluded = treatments.excluded(parsed)
    repeated = Repeats(turns)
    pooled = repeated.once(_pooled(turns))
    planned = repeated.once(turns.where(lambda seat: not seat.exploratory))
    kept = planned.where(lambda seat: (seat.run, seat.model) not in excluded)
    everyone = pcs.cells(planned, stage1_import)
    cells = everyone if kept is planned else pcs.cells(kept, stage1_import)
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
        "gini": inequality.rows(ginis),
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
        "adherence": adherence.rows(turns),
        "network": descriptive.network(turns),
        "occupancy": descriptive.occupancy(turns),
        "repeats": repeated.rows(),
        "headline": treatments.rows(kept, figures, seed, stage1_import),
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


def _pooled(turns: Frame) -> Frame:
    planned = turns.where(lambda seat: not seat.exploratory)
    return planned if planned.seats else turns


def _confirmatory(
    turns: Frame, cells: Sequence[pcs.PcsCell], figures: hypotheses.Figures, seed: str,
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


def _exploratory(turns: Frame) -> tuple[str, ...]:
    return tuple(sorted({f"{seat.run}: exploratory" for seat in turns.seats if seat.exploratory}))


def _failing(excluded: frozenset[treatments.RunModel]) -> tuple[str, ...]:
    return tuple(f"{run}, {model}: more than 20 % failed" for run, model in sorted(excluded))


def _laid(found: Found, columns: Mapping[str, tuple[str, ...]]) -> dict[str, Table]:
    return {name: table(names, (each.row for each in found[name])) for name, names in columns.items()}
