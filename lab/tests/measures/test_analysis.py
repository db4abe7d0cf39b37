import json
import random

import pytest
from playmolt_agora.measures.analysis import study
from playmolt_agora.measures.data.results import Result
from playmolt_agora.measures.data.tables import BESIDE, COLUMNS, TABLES
from playmolt_schemas.instrument.definitions import TEXTS, hashes, version


@pytest.fixture(scope="module")
def small(white_room):
    return white_room(stage1=2, phase1=2, sets="AC", turns=30, epochs=6)


@pytest.fixture(scope="module")
def analysed(small):
    return study(small, seed="s", events={record["run"]: (1, 99) for record in small})


def column(table, name):
    return [row[name] for row in table]


def test_every_row_has_the_columns_of_its_table(analysed):
    assert list(analysed.tables) == [*TABLES, *BESIDE]
    for name, table in analysed.tables.items():
        assert {frozenset(row) for row in table} <= {frozenset(COLUMNS[name])}, name


def test_every_row_says_what_it_was_computed_from(analysed):
    for name, table in analysed.tables.items():
        provenance = analysed.provenance[name]
        assert len(provenance) == len(table), name
        for row in provenance:
            assert list(row) == ["definition", "alpha", "k", "n", "unit", "exclusions", "seed", "runs", "events"]
            assert row["definition"] == version()
            assert row["events"] == dict.fromkeys(row["runs"], (1, 99)), name
    assert set(column(analysed.provenance["pcs"], "alpha")) == {0.5}


def test_the_order_of_records_and_json_change_nothing(small, analysed):
    shuffled = json.loads(json.dumps(small))
    random.Random(1).shuffle(shuffled)
    assert study(shuffled, seed="s").tables == analysed.tables


def test_another_seed_moves_what_is_drawn_and_nothing_else(small, analysed):
    other = study(small, seed="t").tables
    assert column(other["drift"], "id_null") != column(analysed.tables["drift"], "id_null")
    assert column(other["drift"], "id_raw") == column(analysed.tables["drift"], "id_raw")
    assert other["shares"] == analysed.tables["shares"]
    assert other["tests"][0]["p"] == analysed.tables["tests"][0]["p"]


def test_exploratory_runs_are_described_and_never_tested_or_pooled(small, analysed, white_room):
    pilots = [{**record, "run": f"pilot-{record['run']}", "exploratory": True} for record in small]
    both = study(small + pilots, seed="s")
    for name in ("pcs", "tests", "ri_ext", "washout", "dissoc", "contrasts"):
        assert both.tables[name] == analysed.tables[name], name
    assert len(both.tables["pint"]) == 2 * len(analysed.tables["pint"])
    assert "pilot-phase1/E/en/1: exploratory" in both.provenance["pcs"][0]["exclusions"]


def test_a_study_of_pilots_alone_is_described(small):
    pilots = [{**record, "exploratory": True} for record in small if record["phase"] == "phase2"]
    found = study(pilots, seed="s")
    tables, left_out = found.tables, {name: rows[0]["exclusions"] for name, rows in found.provenance.items() if rows}
    assert left_out["dissoc"] == left_out["washout"] == ()
    assert f"{pilots[0]['run']}: exploratory" in left_out["tests"]
    assert tables["pcs"] == []
    assert set(column(tables["tests"], "p")) == {None}
    assert tables["dissoc"]
    assert "cell" in column(tables["shares"], "level")


def test_a_model_that_fails_too_often_leaves_the_tests_and_both_versions_are_given(small):
    broken = ("phase1/E/ko/2", "E")
    failed = {
        "parse_code": "timeout",
        "action": None,
        "action_base": None,
        "fn_class": None,
        "dissoc": "U",
        "success": False,
    }
    records = [
        record | failed if (record["run"], record["model"]) == broken and record["turn"] > 3 else record
        for record in small
    ]
    found = study(records, seed="s")
    assert [(row["run"], row["model"]) for row in found.tables["parse"] if row["excluded"]] == [broken]
    kept, whole = (
        next(row for row in found.tables[name] if (row["model"], row["language"]) == ("E", "ko"))
        for name in ("pcs", "unexcluded_pcs")
    )
    assert (kept["runs_phase1"], whole["runs_phase1"]) == (1, 2)
    assert kept["n_phase1"] < whole["n_phase1"]
    assert found.provenance["pcs"][0]["exclusions"] == ("phase1/E/ko/2, E: more than 20 % failed",)
    assert found.provenance["unexcluded_pcs"][0]["exclusions"] == found.provenance["parse"][0]["exclusions"] == ()
    assert [row["excluded"] for row in found.tables["parse"] if row["run"] == broken[0]] == [True]


def test_provenance_is_of_the_tables_there_are(small, analysed):
    assert set(analysed.provenance) == set(analysed.tables)
    failed = {
        "parse_code": "timeout",
        "action": None,
        "action_base": None,
        "fn_class": None,
        "dissoc": "U",
        "success": False,
    }
    found = study([record | failed if record["run"] == "phase2/A/1" else record for record in small], seed="s")
    assert set(found.tables) - set(analysed.tables) == {
        *("unexcluded_pcs", "unexcluded_ri_ext", "unexcluded_tests", "unexcluded_delta_pcs")
    }
    assert set(found.provenance) == set(found.tables)
    assert column(found.tables["unexcluded_ri_ext"], "agents") != column(found.tables["ri_ext"], "agents")


def gini_of(epoch, kind, gini):
    return Result({"run": "r", "epoch": epoch, "kind": kind, "gini": gini}, runs=("r",), n=11, unit="agent")


def test_a_logged_coefficient_stands_as_it_is_with_its_source(small):
    logged = [gini_of(2, "energy", 0.25), gini_of(1, "shadow", 0.5), gini_of(1, "energy", 0.0)]
    found = study(small, ginis=logged, seed="s", events={"r": (1, 9)})
    found_rows = [(row["epoch"], row["kind"], row["gini"]) for row in found.tables["gini"]]
    assert found_rows == [(1, "energy", 0.0), (2, "energy", 0.25), (1, "shadow", 0.5)]
    source, *_ = found.provenance["gini"]
    assert (source["n"], source["unit"], source["runs"], source["events"]) == (11, "agent", ("r",), {"r": (1, 9)})


def test_headlines_stand_under_three_treatments_of_failed_turns(small, analysed):
    headline = analysed.tables["headline"]
    spoken = {
        row["treatment"]: row
        for row in headline
        if (row["figure"], row["model"], row["language"]) == ("pcs", "E", "ko")
    }
    cell = next(row for row in analysed.tables["pcs"] if (row["model"], row["language"]) == ("E", "ko"))
    assert spoken["dropped"]["value"] == cell["pcs"]
    turns = sum(record["model"] == "E" and record["language"] == "ko" and record["set"] is None for record in small)
    assert spoken["seventh"]["n"] == spoken["idle"]["n"] == turns
    assert len({row["value"] for row in spoken.values()}) == 3
    assert {row["figure"] for row in headline} == {"pcs", "ri_star", "p_int", "H1a", "H1b", "H2a", "H2b"}
    sevens = [
        each["k"]
        for each, row in zip(analysed.provenance["headline"], headline, strict=True)
        if row["treatment"] == "seventh"
    ]
    assert set(sevens) == {7}


def test_failed_turns_lower_ri_star_where_they_count(analysed):
    values = {
        row["treatment"]: row["value"]
        for row in analysed.tables["headline"]
        if (row["figure"], row["set"], row["model"]) == ("ri_star", "A", "E")
    }
    assert values["seventh"] == values["idle"] < values["dropped"]


def test_no_records_give_empty_tables():
    tables = study([], ginis=[gini_of(1, "energy", 0.0)]).tables
    assert column(tables["gini"], "gini") == [0.0]
    assert {name for name in TABLES if tables[name]} == {"gini", "tests"}


def test_agents_that_only_idle(turn):
    records = [
        turn(turn=at, agent=agent, persona=persona, model=model)
        for at in range(1, 101)
        for agent, persona, model in (("a", "jester", "E"), ("b", "archivist", "M"), ("c", "merchant", "H"))
    ]
    tables = study(records).tables
    assert set(column(tables["drift"], "h_norm")) == {0.0}
    assert set(column(tables["ri"], "ri_seed")) == {None}
    assert set(column(tables["ri"], "ri_star")) == {0.0}
    assert column(tables["pint"], "p_int") == [0.0]
    assert set(column(tables["shares"], "p")) == {0.0, 1.0}


def test_a_record_without_a_field_is_named(turn):
    with pytest.raises(ValueError, match="turn record 2 has no field 'residents'"):
        study([turn(), {name: value for name, value in turn().items() if name != "residents"}])


def test_no_column_is_a_bare_class():
    assert not {
        column for columns in TABLES.values() for column in columns if column.lower() in {"type_a", "a", "b", "c"}
    }


def test_definitions_have_one_version_that_follows_from_their_hashes():
    assert version().startswith("measures@")
    assert len(set(hashes().values())) == len(hashes())
    assert version({**TEXTS, "pcs": "something else"}) != version()
