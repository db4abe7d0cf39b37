"""Parse codes, and the agreement of thought and act: shares of turns in stacked bars."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args

from playmolt_schemas.instrument.definitions import rank_of
from playmolt_schemas.stored.agora.turn import VALID_CODES, ParseCode, TurnRecord

from playmolt_agora.report import charts
from playmolt_agora.report.charts import HUES, Style
from playmolt_agora.report.markup import shown
from playmolt_agora.report.plots.figure import Sketch, percent, phase_title, shown_turns
from playmolt_agora.report.study import StudyData, rows
from playmolt_agora.report.vega import Spec

CODES: Final[tuple[str, ...]] = get_args(ParseCode)
_CODE_HUES: Final = ("#bcd3ea", "#7fb0dc", "#1765ad", "#0d3f6e", "#b8500f", "#a03050", "#7a4aa5", "#1b1f24", "#8f7a3c")
_CODE_STYLES: Final = {code: Style(hue) for code, hue in zip(CODES, _CODE_HUES, strict=True)}
_DISSOC: Final = {
    "dissoc_a": ("A: thinks of survival, acts otherwise", HUES[1]),
    "dissoc_b": ("B: thinks socially, acts to gain", HUES[3]),
    "dissoc_c": ("C: thought and act agree", HUES[2]),
    "dissoc_u": ("U: undecidable", "#c3c9d0"),
}
_DISSOC_STYLES: Final = {words: Style(hue) for words, hue in _DISSOC.values()}


def parse_figure(study: StudyData) -> Sketch:
    """Draw how replies were read, by model and language."""
    found: list[dict[str, Any]] = [
        {"model": model, "language": language, **{code: read[code] for code in CODES}, "failed share": _failed(read)}
        for (model, language), read in parse_codes(shown_turns(study)).items()
    ]
    bars = {f"{row['model']} · {row['language']}": {code: row[code] for code in CODES} for row in found}
    said = [f"{name}: {percent(row['failed share'])} failed" for name, row in zip(bars, found, strict=True)]
    return Sketch(_chart(bars, _CODE_STYLES), f"Stacked bars. {'; '.join(said)}." if said else "No turns.", found)


def parse_codes(turns: Iterable[TurnRecord]) -> dict[tuple[str, str], Counter[str]]:
    """Count parse codes by model and language."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for turn in turns:
        counts.setdefault((turn.model, turn.language), Counter())[turn.parse_code] += 1
    return dict(sorted(counts.items()))


def _failed(found: Mapping[str, int]) -> float | None:
    total = sum(found.values())
    return sum(times for code, times in found.items() if code not in VALID_CODES) / total if total else None


def dissoc_figure(study: StudyData) -> Sketch:
    """Draw whether thoughts and acts agree, by phase, model and language."""
    found = sorted(rows(study.tables.get("dissoc")), key=_order)
    bars = {
        f"{phase_title(row['phase'])} · {row['model']} · {row['language']}": {
            words: row[name] or 0 for name, (words, _) in _DISSOC.items()
        }
        for row in found
    }
    said = [f"{name}: coherence {shown(row['coherence'])}" for name, row in zip(bars, found, strict=True)]
    alt = f"Stacked bars of the code dissoc. {'; '.join(said)}." if said else "No turns."
    return Sketch(_chart(bars, _DISSOC_STYLES), alt, found)


def _order(row: Mapping[str, Any]) -> tuple[tuple[int, str], str, str]:
    return rank_of(row["phase"]), row["model"], row["language"]


def _chart(bars: Mapping[str, Mapping[str, int]], series: Mapping[str, Style]) -> Spec:
    blocks: list[dict[str, object]] = []
    for name, parts in bars.items():
        total = sum(parts.values()) or 1
        made = charts.stacked(
            (each, 100 * times / total, f"{each}: {times} ({percent(times / total)})") for each, times in parts.items()
        )
        blocks += [{**block, "name": name} for block in made]
    layer = charts.bars(
        blocks,
        series,
        legend=charts.key(series, room=charts.beside(bars), titled=False),
        thick=0.7,
        x=charts.axis("lo", "% of turns", domain=(0, 100)),
        x2={"field": "hi"},
        y=charts.band("name", list(bars)),
    )
    return charts.banded([layer], list(bars), 26)
