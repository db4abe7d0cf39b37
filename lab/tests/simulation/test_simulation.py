"""The estimators hold what the methods page says (agora-folder.md, 10)."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from playmolt_agora.simulation import page, populations, rows, trials
from scipy import stats

METHODS = Path(__file__).parents[3] / "docs" / "agora-methods.md"
SLOW = {"ri_ext": 30, "ri_star:model": 60}


@pytest.mark.parametrize("test", rows.TESTS)
def test_the_methods_page_is_what_the_estimators_do(test):
    found = rows.simulated([test], draws=SLOW.get(test, 120), seed="another")
    assert [row.key for row in found if row.ok is False] == []
    assert list(page.differences(METHODS.read_text(encoding="utf-8"), found)) == []


@pytest.mark.parametrize(("hits", "draws"), [(0, 200), (10, 200), (190, 200), (200, 200), (31, 1000)])
def test_bounds_are_clopper_and_pearsons(hits, draws):
    span = stats.binomtest(hits, draws).proportion_ci(0.99, method="exact")
    assert rows.bounds(hits, draws) == (pytest.approx(span.low, abs=1e-9), pytest.approx(span.high, abs=1e-9))


@pytest.fixture
def drawn():
    return rows.simulated(["pcs_test"], draws=20, seed="7")


EMPTY = "before\n<!-- simulate:begin pcs_test -->\nold\n<!-- simulate:end pcs_test -->\nafter\n"


def test_a_seed_gives_the_same_rows(drawn):
    assert rows.simulated(["pcs_test"], draws=20, seed="7") == drawn
    assert rows.simulated(["pcs_test"], draws=20, seed="8") != drawn


def test_a_table_stands_between_its_marks(drawn):
    text = page.written(EMPTY, drawn)
    assert text.startswith("before\n<!-- simulate:begin pcs_test -->\n")
    assert text.endswith("<!-- simulate:end pcs_test -->\nafter\n")
    assert "old" not in text
    assert page.written(text, drawn) == text
    assert list(page.differences(text, drawn)) == []


def test_a_test_without_a_place_is_refused(drawn):
    with pytest.raises(ValueError, match="no place for pcs_test"):
        page.written("nothing", drawn)
    assert list(page.differences("nothing", drawn)) == ["pcs_test: the page has no table of it"]


def test_what_a_page_says_otherwise_is_named(drawn):
    text = page.written(EMPTY, drawn)
    assert any("is in the page alone" in each for each in page.differences(text, drawn[1:]))
    assert any("is not in the page" in each for each in page.differences(page.written(EMPTY, drawn[1:]), drawn))
    high = [msgspec.structs.replace(row, draws=1000, estimate=0.5) for row in drawn]
    assert sum("the page says 0.500" in each for each in page.differences(page.written(EMPTY, high), drawn)) >= 2
    assert any("other definitions" in each for each in page.differences(text, drawn, "measures@3-000000000000"))


def test_rows_as_files(drawn, tmp_path):
    page.save(drawn, tmp_path / "out")
    head, *lines = (tmp_path / "out" / "simulation.csv").read_text().splitlines()
    assert head == ",".join(rows.COLUMNS)
    assert len(lines) == len(drawn)
    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "out" / "simulation.parquet")
    assert parquet.column_names == list(rows.COLUMNS)
    assert parquet["estimate"].to_pylist() == [row.estimate for row in drawn]


@pytest.mark.parametrize("divergence", [0.0, 0.05, 0.37])
def test_populations_have_the_divergence_that_is_asked_for(divergence):
    shares = populations.between(divergence)
    assert shares.sum() == pytest.approx(1)
    middle = (populations.STAGE1 + shares) / 2
    halves = [stats.entropy(side, middle, base=2) / 2 for side in (populations.STAGE1, shares)]
    assert sum(halves) == pytest.approx(divergence, abs=1e-6)


def test_turns_of_a_run_are_correlated_as_stated():
    rng = np.random.default_rng(1)
    counts = populations.counts(rng, populations.STAGE1, 4000, 0.1, 60)
    variance = (counts[:, 1] / 60).var()
    alone = 0.25 / 60
    assert variance / alone == pytest.approx(1 + 59 * 0.1, rel=0.1)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_chains_hold_on_as_stated(correlation):
    series = np.array(populations.chains(np.random.default_rng(1), 400, 200, 0.3, correlation), dtype=float)
    assert series.mean() == pytest.approx(0.3, abs=0.01)
    assert np.corrcoef(series[:, :-1].ravel(), series[:, 1:].ravel())[0, 1] == pytest.approx(correlation, abs=0.02)


def test_drawn_windows_have_the_effects_that_are_asked_for():
    agents = trials.white_room()
    draw = populations.drift(agents, 4, models=0.1)
    rng = np.random.default_rng(1)
    levels, excesses = np.mean([draw(rng, 0.1, 0.04) for _ in range(600)], axis=0)
    persona = np.array([agent.persona for agent in agents])
    model = np.array([agent.model for agent in agents])
    gap = levels[persona == "jester"].mean() - levels[persona == "archivist"].mean()
    assert gap == pytest.approx(0.1, abs=0.01)
    assert np.ptp([levels[model == name].mean() for name in "EMH"]) == pytest.approx(0.2, abs=0.02)
    rising = np.diff(excesses[persona == "archivist"].mean(axis=0))[1:]
    assert rising.tolist() == pytest.approx([0.04, 0.04], abs=0.01)
