"""Parse codes, the agreement of thought and act, and contrasts of languages and personas."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from playmolt_schemas.instrument.definitions import rank_of
from playmolt_schemas.stored.agora.turn import VALID_CODES, ParseCode

from playmolt_agora.report import prose
from playmolt_agora.report.chart import HUES, ChartCanvas, Panel, Style, legend
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import WIDTH, Plot, percent, phase_title, shown_runs, shown_turns
from playmolt_agora.report.study import StudyData, rows
from playmolt_agora.report.tallies import parse_codes

CODES: Final[tuple[ParseCode, ...]] = get_args(ParseCode)
_CODE_HUES: Final = ("#bcd3ea", "#7fb0dc", "#1765ad", "#0d3f6e", "#b8500f", "#a03050", "#7a4aa5", "#1b1f24", "#8f7a3c")
_DISSOC: Final = (
    ("dissoc_a", "A: thinks of survival, acts otherwise", HUES[1]),
    ("dissoc_b", "B: thinks socially, acts to gain", HUES[3]),
    ("dissoc_c", "C: thought and act agree", HUES[2]),
    ("dissoc_u", "U: undecidable", "#c3c9d0"),
)
_LEFT: Final = 210.0


def parse_figure(study: StudyData) -> Plot:
    """Draw how replies were read, by model and language."""
    counts = parse_codes(shown_turns(study))
    bars = {
        f"{model} · {language}": [(code, found[code]) for code in CODES] for (model, language), found in counts.items()
    }
    looks: dict[str, Style] = {code: Style(hue, "", "square") for code, hue in zip(CODES, _CODE_HUES, strict=True)}
    said = [f"{name}: {percent(_failed(dict(parts)))} failed" for name, parts in bars.items()]
    alt = f"Stacked bars. {'; '.join(said)}." if said else "No turns."
    return Plot(
        name="parse-codes",
        title="Parse codes by model and language",
        caption=prose.CAPTIONS["parse-codes"],
        alt=alt,
        svg=_bars("parse-codes", "Parse codes by model and language", bars, looks, {code: code for code in CODES}, alt),
        measure="parse",
        runs=shown_runs(study),
        columns=("model", "language", *CODES, "failed share"),
        lines=tuple(
            (model, language, *(found[code] for code in CODES), _failed(found))
            for (model, language), found in counts.items()
        ),
    )


def _failed(found: Mapping[str, int]) -> float | None:
    total = sum(found.values())
    return sum(times for code, times in found.items() if code not in VALID_CODES) / total if total else None


def dissoc_figure(study: StudyData) -> Plot:
    """Draw whether thoughts and acts agree, by phase, model and language."""
    found = sorted(rows(study.tables.get("dissoc")), key=_order)
    bars = {
        f"{phase_title(row['phase'])} · {row['model']} · {row['language']}": [
            (name, row[name] or 0) for name, _, _ in _DISSOC
        ]
        for row in found
    }
    looks = {name: Style(hue, "", "square") for name, _, hue in _DISSOC}
    said = [f"{name}: coherence {shown(row['coherence'])}" for name, row in zip(bars, found, strict=True)]
    alt = f"Stacked bars of the code dissoc. {'; '.join(said)}." if said else "No turns."
    columns = ("phase", "model", "language", *(name for name, _, _ in _DISSOC), "coherence")
    return Plot(
        name="dissoc",
        title="Thought and act (code dissoc)",
        caption=prose.CAPTIONS["dissoc"],
        alt=alt,
        svg=_bars("dissoc", "Thought and act", bars, looks, {name: words for name, words, _ in _DISSOC}, alt),
        measure="dissoc",
        table="dissoc",
        runs=shown_runs(study),
        columns=columns,
        lines=tuple(tuple(row.get(column) for column in columns) for row in found),
    )


def _order(row: Mapping[str, Any]) -> tuple[tuple[int, str], str, str]:
    return rank_of(row["phase"]), row["model"], row["language"]


def _bars(
    name: str, title: str, bars: Mapping[str, Sequence[tuple[str, int]]], looks: Mapping[str, Style],
    words: Mapping[str, str], alt: str,
) -> str:  # fmt: skip
    height = 26.0 * len(bars)
    drawing = ChartCanvas(WIDTH, 104 + height)
    legend(drawing, 10, 16, [(words[each], looks[each]) for each in looks], lines=False, right=WIDTH)
    panel = Panel(drawing, _LEFT, 56, WIDTH - _LEFT - 20, height, x=(0, 100), y=(len(bars), 0))
    panel.axes(x_label="% of turns", y_ticks=())
    for number, (heading, parts) in enumerate(bars.items()):
        total, at = sum(times for _, times in parts), 0.0
        drawing.text(_LEFT - 8, panel.y(number + 0.5) + 4, heading, size=10.8, anchor="end")
        for each, times in parts:
            if times:
                left, right = panel.x(at), panel.x(at + 100 * times / total)
                note = f"{each}: {times} ({percent(times / total)})"
                drawing.rect(left, panel.y(number) + 4, right - left - 0.5, 18, hue=looks[each].hue, note=note)
                at += 100 * times / total
    return drawing.svg(f"fig-{name}", title, alt)
