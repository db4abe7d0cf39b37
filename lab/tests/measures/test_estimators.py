"""The estimators give what the tables hold."""

import numpy as np
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


def rows(table):
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


def counts(records, model, language):
    cell = next(each for each in pcs.cells(frame(records)) if (each.model, each.language) == (model, language))
    return cell.stage1.counts, cell.phase1.counts


def test_pcs(records, tables):
    row = rows(tables["pcs"])[0]
    found = estimators.pcs(*counts(records, row["model"], row["language"]))
    names = ("pcs", "alpha", "ci_lo", "ci_hi", "p_min", "floor_iid", "floor_null")
    assert [getattr(found, name) for name in names] == [row[name] for name in names]
    assert found.p == row["p_perm"]
    assert estimators.pcs_interval(*counts(records, row["model"], row["language"])) == (row["ci_lo"], row["ci_hi"])
    with pytest.raises(ValueError, match="an arm has no turn"):
        estimators.pcs(np.zeros((3, 6)), np.ones((3, 6)))


def test_delta_pcs(records, tables):
    for row in rows(tables["delta_pcs"]):
        pair = [counts(records, row[name], row["language"]) for name in ("model_a", "model_b")]
        found = estimators.delta_pcs(*pair)
        assert found == (row["delta"], row["ci_lo"], row["ci_hi"], row["p"])


def test_ri_star(tables):
    agents = [row for row in rows(tables["ri"]) if row["level"] == "agent" and row["set"] in ("A", "B")]
    tested = {row["test"]: row for row in rows(tables["tests"])}
    for factor in ("model", "persona"):
        found, row = estimators.ri_star(agents, factor), tested[f"ri_star:{factor}"]
        assert (found.statistic, found.labelings) == (pytest.approx(row["statistic"], abs=1e-12), row["labelings"])
        assert found.p == pytest.approx(row["p"], abs=1e-12)


def test_h1_and_h2(records, tables):
    turns = frame(records).where(lambda seat: seat.set is not None)
    windows = []
    for seat, own in turns.groups(lambda seat: seat).items():
        entropy, excess = hypotheses.drift.of_agent(own, "s")
        windows += [
            {"set": seat.set, "run": seat.run, "model": seat.model, "persona": seat.persona, "agent": seat.agent,
             "window": at + 1, "h_norm": entropy[at], "id_excess": excess[0, at]}
            for at in range(4)
        ]  # fmt: skip
    tested = {row["test"]: row for row in rows(tables["tests"])}
    found = {**estimators.h1(windows), **estimators.h2(windows)}
    assert set(found) == {"H1a", "H1b", "H1", "H2a", "H2b", "H2"}
    for name, each in found.items():
        assert each.p == pytest.approx(tested[name]["p"], abs=1e-12), name
        assert each.labelings == tested[name]["labelings"], name


def test_ri_ext():
    rng = np.random.default_rng(4)
    series = (rng.random((6, 60)) < 0.4).astype(int)
    found = estimators.ri_ext(list(series), np.random.default_rng(2))
    assert found.beta == ritual.slope(list(series.astype(bool)))
    assert found.beta_excess == pytest.approx(found.beta - found.beta_null, abs=1e-12)
    assert estimators.ri_ext([[1, 1, 1]]) == (None, None, None, None)
