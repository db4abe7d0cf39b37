"""The estimators give what the tables hold."""

import numpy as np
import pandas
import pytest
from playmolt_agora import estimators
from playmolt_agora.measures import pcs, ritual
from playmolt_agora.measures.analysis import study
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.inference import hypotheses


@pytest.fixture(scope="module")
def records(white_room):
    return white_room(stage1=5, phase1=3, sets="AB", turns=100, epochs=10)


@pytest.fixture(scope="module")
def tables(records):
    return study(records, seed="s").tables


def counts(records, model, language):
    cell = next(each for each in pcs.cells(frame(records)) if (each.model, each.language) == (model, language))
    return cell.first.counts, cell.second.counts


def test_pcs(records, tables):
    row = tables["pcs"][0]
    found = estimators.pcs(*counts(records, row["model"], row["language"]))
    names = ("pcs", "alpha", "ci_lo", "ci_hi", "p_min", "floor_iid", "floor_null")
    assert [getattr(found, name) for name in names] == [row[name] for name in names]
    assert found.p == row["p_perm"]
    assert estimators.pcs_interval(*counts(records, row["model"], row["language"])) == (row["ci_lo"], row["ci_hi"])
    with pytest.raises(ValueError, match="an arm has no turn"):
        estimators.pcs(np.zeros((3, 6)), np.ones((3, 6)))


def test_delta_pcs(records, tables):
    for row in tables["delta_pcs"]:
        pair = [counts(records, row[name], row["language"]) for name in ("model_a", "model_b")]
        found = estimators.delta_pcs(*pair)
        assert found == (row["delta"], row["ci_lo"], row["ci_hi"], row["p"])


def test_ri_star(tables):
    agents = [row for row in tables["ri"] if row["level"] == "agent" and row["set"] in ("A", "B")]
    tested = {row["test"]: row for row in tables["tests"]}
    for factor in ("model", "persona"):
        found, row = estimators.ri_star(agents, factor), tested[f"ri_star:{factor}"]
        assert (found.statistic, found.labelings) == (pytest.approx(row["statistic"], abs=1e-12), row["labelings"])
        assert found.p == pytest.approx(row["p"], abs=1e-12)


def test_h1_and_h2(records, tables):
    turns = frame(records)
    windows = []
    for own in turns.filter(turns["set"].is_not_null()).partition_by("seat"):
        seat = own.select("set", "run", "model", "persona", "agent").row(0, named=True)
        entropy, excess = hypotheses.drift.of_agent(own, "s", 4)
        windows += [
            {**seat, "window": at + 1, "h_norm": entropy[at], "id_excess": excess[0, at]}
            for at in range(4)
        ]  # fmt: skip
    tested = {row["test"]: row for row in tables["tests"]}
    found = {**estimators.h1(windows), **estimators.h2(windows)}
    assert set(found) == {"H1a", "H1b", "H1", "H2a", "H2b", "H2"}
    for name, each in found.items():
        assert each.p == pytest.approx(tested[name]["p"], abs=1e-12), name
        assert each.labelings == tested[name]["labelings"], name


def windows_of(agents, *, change=0.0):
    return [
        {"set": name, "run": run, "model": model, "persona": persona, "agent": f"{persona}{model}", "window": at + 1,
         "h_norm": 0.4 + 0.1 * place + 0.01 * at + change * run, "id_excess": 0.02 * at * place, "ri_star": 0.1 * place}
        for name in "AB" for run in range(3)
        for place, (model, persona) in enumerate(agents) for at in range(4)
    ]  # fmt: skip


AGENTS = [(model, persona) for persona in ("archivist", "merchant", "jester") for model in "EM"]


def test_runs_that_do_not_differ_give_no_p():
    same, other = windows_of(AGENTS), windows_of(AGENTS, change=0.01)
    for tested in (estimators.h1, estimators.h2):
        assert {each.p for each in tested(same).values()} == {None}
        assert tested(other)[tested.__name__.upper() + "a"].p == 1 / 64
    counts = [[9, 1, 2, 3, 4, 5]] * 3
    assert estimators.pcs(counts, [row[::-1] for row in counts]).p is None
    assert estimators.delta_pcs((counts, counts), (counts, [row[::-1] for row in counts]))[1:] == (None, None, None)


@pytest.mark.parametrize(("runs", "p"), [(1, 5 / 8), (2, 23 / 64)])
def test_runs_of_equal_ri_star_need_not_be_equal(runs, p):
    """The golden example of `measures.md`, section 5."""
    agents = [("E", "a", 1), ("M", "a", 2), ("M", "b", 4), ("H", "b", 8), ("H", "c", 16), ("E", "c", 32)]
    rows = [
        {"set": "A", "run": run, "model": model, "persona": persona, "agent": f"{model}{persona}", "ri_star": rate}
        for run in range(runs) for model, persona, rate in agents
    ]  # fmt: skip
    assert estimators.ri_star(rows, "model").p == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA, np.float64("nan")])
def test_an_agent_without_a_value_is_left_out(missing):
    rows = [{**row, "ri_star": row["ri_star"] + 0.01 * row["run"]} for row in windows_of(AGENTS) if row["window"] == 1]
    without = estimators.ri_star(rows[1:], "model")
    assert without.p is not None
    assert without.p > 0
    assert type(without.p) is float
    rows[0]["ri_star"] = missing
    for given in (rows, pandas.DataFrame(rows), pandas.DataFrame(rows).convert_dtypes()):
        assert estimators.ri_star(given, "model") == without


@pytest.mark.parametrize("count", [-1, float("nan")])
def test_counts_that_are_none_are_refused(count):
    with pytest.raises(ValueError, match="missing or negative"):
        estimators.pcs([[count, 1, 1, 1, 1, 1]], [[1, 1, 1, 1, 1, 1]])


def test_ri_ext():
    rng = np.random.default_rng(4)
    series = (rng.random((6, 60)) < 0.4).astype(int)
    found = estimators.ri_ext(list(series), np.random.default_rng(2))
    assert found.beta == ritual.slope(list(series.astype(bool)))
    assert found.beta_excess == pytest.approx(found.beta - found.beta_null, abs=1e-12)
    assert estimators.ri_ext([[1, 1, 1]]) == (None, None, None, None)
