"""The figures of tables that the measures made: the rows of each chart, and what it shows in words."""

from collections.abc import Mapping, Sequence
from typing import Final

from playmolt_schemas.instrument.definitions import arm_of, rank_of
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.results import Row, grouped, mean
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import CONDITIONS, Sketch, in_order, in_words, phase_title
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import Spec, chart

STRONG: Final = ("archivist", "observer")
"""The strongly instructed personas, shown apart (agora.md, L19)."""
_FLOORS: Final = ("floor_null", "floor_iid")
_DELTA: Final = ("language", "model_a", "model_b", "delta", "ci_lo", "ci_hi", "p", "p_holm", "n", "n of")

Groups = Mapping[str, Sequence[Row]]


def pcs(study: StudyData) -> Sketch | None:
    """PCS per model and language with interval, leave-one-run-out range and floors."""
    cells = _cells(study)
    said = (
        f"{cell['model']} {cell['language']}: PCS {shown(cell['pcs'])}, interval {shown(cell['ci_lo'])} to "
        f"{shown(cell['ci_hi'])}, floors {', '.join(shown(cell[name]) for name in _FLOORS)}"
        for cell in cells
    )
    return Sketch(chart("pcs", cells), in_words("Dot plot.", said), cells) if study.has_pcs else None


def pcs_parts(study: StudyData) -> Sketch | None:
    """How much each action contributes to PCS."""
    cells = _cells(study)
    said = []
    for cell in cells:
        if cell["pcs"] is not None:
            parts = sorted(((cell[f"contrib_{action}"] or 0.0, action) for action in ACTIONS), reverse=True)
            largest = ", ".join(f"{action} {part:.4f}" for part, action in parts[:3])
            said.append(f"{cell['model']} {cell['language']}: {largest} of {shown(cell['pcs'])}")
    sketch = Sketch(chart("pcs-parts", cells), in_words("Stacked bars, largest parts.", said), cells)
    return sketch if study.has_pcs else None


def _cells(study: StudyData) -> list[Row]:
    return [{**cell, "name": f"{cell['model']} · {cell['language']}"} for cell in study.rows("pcs")]


def ritual(study: StudyData) -> Sketch:
    """RI* per run by model, and by persona with the strongly instructed ones apart."""
    found = [row for row in study.shown_rows("ri") if row["phase"] == "phase2"]
    levels = {column: _level(found, column) for column in ("model", "persona")}
    marks = [
        {"panel": f"By {column}", "group": f"{name}\nstrongly instructed" if name in STRONG else name,
         "strong": name in STRONG, "series": f"Set {row['set']}", "run": row["run"], "ri_star": row["ri_star"]}
        for column, groups in levels.items() for name, mine in groups.items() for row in mine
        if row["ri_star"] is not None
    ]  # fmt: skip
    said = ["RI* by run."]
    for column, groups in levels.items():
        means = (f"{name} {shown(mean(row['ri_star'] for row in mine))}" for name, mine in groups.items())
        said.append(in_words(f"Means by {column}:", means, f"No {column} has a value.", ", "))
    made = chart("ri-star", marks, {"series": in_order(mark["series"] for mark in marks)})
    return Sketch(made, " ".join(said), [row for column in levels for row in _of_level(found, column)])


def _level(found: Sequence[Row], column: str) -> Groups:
    """The rows of a model or a persona in a run by its name, the strongly instructed personas last."""
    groups = grouped(_of_level(found, column), lambda row: row[column])
    return {name: groups[name] for name in sorted(groups, key=lambda name: (name in STRONG, name))}


def _of_level(found: Sequence[Row], column: str) -> list[Row]:
    return [row for row in found if row["level"] == f"run_{column}" and row[column]]


def drift(study: StudyData) -> Sketch:
    """Raw drift above the range of its permutation null, and the excess over it."""
    found = study.shown_rows("drift")
    groups = _by_persona(found)
    lines = [{**line, "panel": name} for name, mine in groups.items() for line in mine]
    return Sketch(chart("drift", lines), _by_window("Instruction Drift", groups, "id_excess"), found)


def entropy(study: StudyData) -> Sketch:
    """The normalised entropy by window, which H1a and H2 are about."""
    groups = _by_persona(study.shown_rows("drift"))
    made = chart("windows", _points(groups, "window", "h_norm"))
    return Sketch(made, _by_window("Normalised entropy", groups, "h_norm"))


def rolling(study: StudyData) -> Sketch | None:
    """Entropy over rolling windows, as a picture beside the windows that count; None with one window alone."""
    found = study.shown_rows("rolling")
    groups = _by_persona(found)
    if len({line["first_turn"] for line in found}) < 2:
        return None
    points = _points(groups, "first_turn", "h_norm")
    values = {"series": ["mean"], "across": "first turn of 20", "along": "entropy, 0 to 1"}
    made = chart("epochs", points, values)
    return Sketch(made, f"Normalised entropy over rolling windows of 20 turns, {len(groups)} panels by persona.")


def washout(study: StudyData) -> Sketch:
    """How far actions with a persona exceed those of the same model without, by window."""
    found = study.rows("washout")
    ordered = sorted(found, key=lambda line: (line["persona"], line["language"]))
    groups = grouped(ordered, lambda line: f"{line['persona']} · {line['language']}")
    points = _points(groups, "window", "pw_excess", "model")
    series = in_order(line["model"] for line in found)
    made = chart("windows", points, {"series": series, "along": "excess, bits", "domain": _span(points)}, columns=2)
    return Sketch(made, _by_window("Persona washout", groups, "pw_excess"), found)


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


def _by_window(title: str, groups: Groups, column: str) -> str:
    said = []
    for name, lines in groups.items():
        known = sorted((line for line in lines if line[column] is not None), key=lambda line: int(line["window"]))
        windows = grouped(known, lambda line: line["window"])
        if windows:
            means = (shown(mean(line[column] for line in found)) for found in windows.values())
            said.append(f"{name} {', '.join(means)}")
    return in_words(f"{title}, means of {column} by window:", said, f"{title}: no value.")


def gini(study: StudyData) -> Sketch:
    """The Gini coefficient of each run by epoch."""
    return _by_epoch(study, "Gini", study.rows("gini"), "gini", {})


def treasury(study: StudyData) -> Sketch:
    """What the treasury of each run held after each epoch."""
    most = max([1, *(row["treasury"] for row in study.treasury)])
    return _by_epoch(study, "Treasury", study.treasury, "treasury", {"domain": [0, most]})


def _by_epoch(study: StudyData, title: str, found: Sequence[Row], column: str, values: Mapping[str, object]) -> Sketch:
    notes = {run.run: run for run in study.shown_runs()}
    panels: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(found, key=lambda row: int(row["epoch"])):
        note = notes.get(row["run"])
        if note is not None and row[column] is not None:
            point = {"run": note.run, "series": note.language, "x": row["epoch"], "y": float(row[column])}
            panels.setdefault((arm_of(note.cell, note.phase), row.get("kind", "")), []).append(point)
    points: list[Row] = []
    said = []
    for arm, kind in sorted(panels, key=lambda panel: (rank_of(panel[0]), panel[1])):
        name, mine = " · ".join(filter(None, (phase_title(arm), kind))), panels[arm, kind]
        points += [{**point, "panel": name} for point in mine]
        last = {point["run"]: point["y"] for point in mine}
        said.append(f"{name}: mean at the end {shown(mean(last.values()))} over {len(last)} runs")
    alt = in_words(f"{title} by epoch.", said, f"{title}: nothing was recorded.")
    return Sketch(chart("epochs", points, values), alt)


def dissoc(study: StudyData) -> Sketch:
    """Whether thoughts and acts agree, by phase, model and language."""
    found = sorted(study.rows("dissoc"), key=lambda row: (rank_of(row["phase"]), row["model"], row["language"]))
    bars = [{**row, "name": f"{phase_title(row['phase'])} · {row['model']} · {row['language']}"} for row in found]
    said = (f"{bar['name']}: coherence {shown(bar['coherence'])}" for bar in bars)
    return Sketch(chart("dissoc", bars), in_words("Stacked bars of the code dissoc.", said, "No turns."), found)


def contrasts(study: StudyData) -> Sketch:
    """The divergence of the two sides of each contrast, per model, with its interval where there is one."""
    name = "contrast_intervals" if study.rows("contrast_intervals") else "contrasts"
    found = study.counted(name)
    made = _dots("contrasts", found, "jsd")
    return Sketch(made, _by_contrast("Divergence by contrast", found, "jsd"), found, table=name)


def pcs_models(study: StudyData) -> Sketch:
    """The differences of PCS between models, with their intervals."""
    found: list[Row] = [
        {**row, "contrast": "PCS", "phase": row["language"], "condition": None,
         "model": f"{row['model_a']} − {row['model_b']}"}
        for row in study.counted("delta_pcs")
    ]  # fmt: skip
    made = _dots("contrasts", found, "delta", {"across": "difference of PCS, bits"})
    return Sketch(made, _by_contrast("Differences of PCS", found, "delta"), found, _DELTA)


def contrast_shares(study: StudyData) -> Sketch:
    """The differences of shares in percentage points, one panel a contrast, with intervals."""
    shares = study.counted("contrast_shares")
    found = [row for row in shares if row["contrast"] != "model"]
    said = _by_contrast("Differences of shares in percentage points", found, "points", "action")
    return Sketch(_dots("contrast-shares", found, "points"), said, shares)


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


def _by_contrast(title: str, found: Sequence[Row], column: str, *keys: str) -> str:
    said = []
    for contrast, mine in grouped(found, _contrast).items():
        values = (" ".join((*(row[key] for key in ("model", *keys)), shown(row[column]))) for row in mine)
        said.append(f"{contrast}: {', '.join(values)}")
    return in_words(f"{title}.", said, f"{title}: none can be made.")
