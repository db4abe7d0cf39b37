"""The figures of tables that the measures made: the rows of each chart."""

from collections.abc import Mapping, Sequence
from typing import Final

from playmolt_schemas.instrument.definitions import arm_of, rank_of

from playmolt_agora.measures.data.results import Row, grouped
from playmolt_agora.report.plots.figure import CONDITIONS, Sketch, in_order, phase_title
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import Spec, chart

STRONG: Final = ("archivist", "observer")
"""The strongly instructed personas, shown apart (agora.md, L19)."""
_DELTA: Final = ("language", "model_a", "model_b", "delta", "ci_lo", "ci_hi", "p", "p_holm", "n", "n of")

Groups = Mapping[str, Sequence[Row]]


def pcs(study: StudyData, name: str) -> Sketch | None:
    """PCS per model and language: its interval, leave-one-run-out range and floors, or the part of each action."""
    cells = [{**cell, "name": f"{cell['model']} · {cell['language']}"} for cell in study.rows("pcs")]
    return Sketch(chart(name, cells), cells) if study.has_pcs else None


def ritual(study: StudyData) -> Sketch | None:
    """RI* per run by model, and by persona with the strongly instructed ones apart; None without Phase 2."""
    found = [row for row in study.shown_rows("ri") if row["phase"] == "phase2"]
    levels = {column: _level(found, column) for column in ("model", "persona")}
    marks = [
        {"panel": f"By {column}", "group": f"{name}\nstrongly instructed" if name in STRONG else name,
         "strong": name in STRONG, "series": f"Set {row['set']}", "run": row["run"], "ri_star": row["ri_star"]}
        for column, groups in levels.items() for name, mine in groups.items() for row in mine
        if row["ri_star"] is not None
    ]  # fmt: skip
    made = chart("ri-star", marks, {"series": in_order(mark["series"] for mark in marks)})
    return Sketch(made, [row for column in levels for row in _of_level(found, column)]) if found else None


def _level(found: Sequence[Row], column: str) -> Groups:
    """The rows of a model or a persona in a run by its name, the strongly instructed personas last."""
    groups = grouped(_of_level(found, column), lambda row: row[column])
    return {name: groups[name] for name in sorted(groups, key=lambda name: (name in STRONG, name))}


def _of_level(found: Sequence[Row], column: str) -> list[Row]:
    return [row for row in found if row["level"] == f"run_{column}" and row[column]]


def drift(study: StudyData) -> Sketch:
    """Raw drift above the range of its permutation null, and the excess over it."""
    found = study.shown_rows("drift")
    lines = [{**line, "panel": name} for name, mine in _by_persona(found).items() for line in mine]
    return Sketch(chart("drift", lines), found)


def entropy(study: StudyData) -> Sketch:
    """The normalised entropy by window, which H1a and H2 are about."""
    return Sketch(chart("windows", _points(_by_persona(study.shown_rows("drift")), "window", "h_norm")))


def rolling(study: StudyData) -> Sketch | None:
    """Entropy over rolling windows, as a picture beside the windows that count; None with one window alone."""
    found = study.shown_rows("rolling")
    if len({line["first_turn"] for line in found}) < 2:
        return None
    values = {"series": ["mean"], "across": "first turn of 20", "along": "entropy, 0 to 1"}
    return Sketch(chart("epochs", _points(_by_persona(found), "first_turn", "h_norm"), values))


def washout(study: StudyData) -> Sketch:
    """How far actions with a persona exceed those of the same model without, by window."""
    found = study.rows("washout")
    ordered = sorted(found, key=lambda line: (line["persona"], line["language"]))
    groups = grouped(ordered, lambda line: f"{line['persona']} · {line['language']}")
    points = _points(groups, "window", "pw_excess", "model")
    series = in_order(line["model"] for line in found)
    made = chart("windows", points, {"series": series, "along": "excess, bits", "domain": _span(points)}, columns=2)
    return Sketch(made, found)


def _by_persona(found: Sequence[Row]) -> Groups:
    ordered = sorted(found, key=lambda row: (row["persona"] or "", row["language"]))
    return grouped(ordered, lambda row: row["persona"] or "no persona")


def _points(groups: Groups, x: str, y: str, series: str = "") -> list[Row]:
    return [
        {"panel": name, "x": line[x], "y": line[y], "run": line.get("run"), "series": line.get(series, "mean")}
        for name, lines in groups.items()
        for line in lines
    ]


def _span(points: Sequence[Row]) -> tuple[float, float]:
    """What the values extend over, with 0."""
    known = [point["y"] for point in points if point["y"] is not None]
    return min([0.0, *known]), max([0.01, *known])


def gini(study: StudyData) -> Sketch:
    """The Gini coefficient of each run by epoch."""
    return _by_epoch(study, study.rows("gini"), "gini", {})


def treasury(study: StudyData) -> Sketch:
    """What the treasury of each run held after each epoch."""
    most = max([1, *(row["treasury"] for row in study.treasury)])
    return _by_epoch(study, study.treasury, "treasury", {"domain": [0, most]})


def _by_epoch(study: StudyData, found: Sequence[Row], column: str, values: Mapping[str, object]) -> Sketch:
    notes = {run.run: run for run in study.shown_runs()}
    panels: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(found, key=lambda row: int(row["epoch"])):
        note = notes.get(row["run"])
        if note is not None and row[column] is not None:
            point = {"run": note.run, "series": note.language, "x": row["epoch"], "y": float(row[column])}
            panels.setdefault((arm_of(note.cell, note.phase), row.get("kind", "")), []).append(point)
    points: list[Row] = []
    for arm, kind in sorted(panels, key=lambda panel: (rank_of(panel[0]), panel[1])):
        name = " · ".join(filter(None, (phase_title(arm), kind)))
        points += [{**point, "panel": name} for point in panels[arm, kind]]
    return Sketch(chart("epochs", points, values))


def dissoc(study: StudyData) -> Sketch:
    """Whether thoughts and acts agree, by phase, model and language."""
    found = sorted(study.rows("dissoc"), key=lambda row: (rank_of(row["phase"]), row["model"], row["language"]))
    bars = [{**row, "name": f"{phase_title(row['phase'])} · {row['model']} · {row['language']}"} for row in found]
    return Sketch(chart("dissoc", bars), found)


def contrasts(study: StudyData) -> Sketch:
    """The divergence of the two sides of each contrast, per model, with its interval where there is one."""
    name = "contrast_intervals" if study.rows("contrast_intervals") else "contrasts"
    found = study.counted(name)
    return Sketch(_dots("contrasts", found, "jsd"), found, table=name)


def pcs_models(study: StudyData) -> Sketch:
    """The differences of PCS between models, with their intervals."""
    found: list[Row] = [
        {**row, "contrast": "PCS", "phase": row["language"], "condition": None,
         "model": f"{row['model_a']} − {row['model_b']}"}
        for row in study.counted("delta_pcs")
    ]  # fmt: skip
    made = _dots("contrasts", found, "delta", {"across": "difference of PCS, bits"})
    return Sketch(made, found, _DELTA)


def contrast_shares(study: StudyData) -> Sketch:
    """The differences of shares in percentage points, one panel a contrast, with intervals."""
    shares = study.counted("contrast_shares")
    found = [row for row in shares if row["contrast"] != "model"]
    return Sketch(_dots("contrast-shares", found, "points"), shares)


def _dots(name: str, found: Sequence[Row], column: str, values: Mapping[str, object] = {}) -> Spec:
    """A mark in its interval for each row, the models of a contrast below each other."""
    marks = [
        {"name": contrast, "series": row["model"], "action": row.get("action"), "value": row[column],
         "lo": row.get("ci_lo"), "hi": row.get("ci_hi"), "hollow": bool(row.get("indicative"))}
        for contrast, mine in grouped(found, _contrast).items() for row in mine
    ]  # fmt: skip
    return chart(name, marks, {"series": in_order(row["model"] for row in found), **values})


def _contrast(row: Row) -> str:
    condition = str(row["condition"] or "")
    said = " ".join(CONDITIONS.get(part, part) for part in condition.split("/"))
    last = said if row["phase"] == "phase2" else condition.rpartition("/")[2]
    parts = (row["contrast"], phase_title(row["phase"]), last)
    return " · ".join(part for part in parts if part and part not in CONDITIONS)
