"""Figures: known by name, written as Prometheus reads them, listed on the page."""

from pathlib import Path

import pytest
from playmolt_core.llm.figures import ModelMetrics
from playmolt_core.llm.port import Attempt, Usage
from playmolt_core.ops.metrics import METRICS, Histogram, Sample, label, render, table

PAGE = Path(__file__).parents[3] / "docs" / "telemetry.md"


def test_the_page_lists_every_figure() -> None:
    text = PAGE.read_text("utf-8")
    assert text.split("<!-- figures -->\n")[1].split("<!-- /figures -->")[0] == table(), (
        "see `playmolt_core.ops.metrics`"
    )
    assert all(f"| `{name}` |" in text for name in METRICS)


def test_an_unknown_name_is_a_bug() -> None:
    with pytest.raises(KeyError, match="playmolt_secret"):
        render([Sample("playmolt_secret", 1)])


def test_each_name_is_described_once_whatever_its_labels() -> None:
    page = render([Sample("playmolt_commits_total", n, label("game", game)) for n, game in ((1, "ox"), (2, "trial"))])
    assert page == (
        "# HELP playmolt_commits_total Transactions committed.\n# TYPE playmolt_commits_total counter\n"
        'playmolt_commits_total{game="ox"} 1\nplaymolt_commits_total{game="trial"} 2\n'
    )


def test_a_histogram_counts_up_to_each_bound() -> None:
    histogram = Histogram((1, 2))
    for value in (0.5, 1, 1.5, 7):
        histogram.observe(value)
    assert histogram.lines("x", 'a="b"') == [
        'x_bucket{a="b",le="1"} 2', 'x_bucket{a="b",le="2"} 3', 'x_bucket{a="b",le="+Inf"} 4',
        'x_sum{a="b"} 10.000000', 'x_count{a="b"} 4',
    ]  # fmt: skip
    assert histogram.lines("x", "")[-2:] == ["x_sum 10.000000", "x_count 4"]


def test_a_label_cannot_break_out() -> None:
    assert label("phase", 'a"b\\c\nd') == 'phase="a\\"b\\\\c\\nd"'


def attempt(
    outcome: str, usage: Usage | None = None, cost: str | None = None, warnings: tuple[str, ...] = ()
) -> Attempt:
    return Attempt(
        number=1, alias="judge", model_asked="m", model_answered=None, headers={}, request={}, decoding="prompt",
        outcome=outcome, status=None, detail="", reply="", tool_calls=(), finish_reason=None, usage=usage, cost=cost,
        latency_ms=300, warnings=warnings,
    )  # type: ignore[arg-type]  # fmt: skip


def test_models_are_counted_and_nothing_is_guessed() -> None:
    figures = ModelMetrics()
    figures.observe(attempt("ok", Usage(10, 5), "0.1"))
    figures.observe(attempt("ok", Usage(1, 2), "0.2"))
    figures.observe(attempt("timeout", warnings=("prompt_cut",)))
    page = render(figures.samples())
    for line in (
        'playmolt_llm_requests_total{model="judge",outcome="ok"} 2',
        'playmolt_llm_requests_total{model="judge",outcome="timeout"} 1',
        'playmolt_llm_tokens_total{model="judge",kind="prompt"} 11',
        'playmolt_llm_tokens_total{model="judge",kind="completion"} 7',
        'playmolt_llm_cost_total{model="judge"} 0.3',
        'playmolt_llm_prompts_cut_total{model="judge"} 1',
        'playmolt_llm_seconds_count{model="judge"} 3',
    ):
        assert f"{line}\n" in page
