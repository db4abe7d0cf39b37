"""Tables for other tools: what is written reads back as it was, null as null, columns in their order."""

import csv
import json
import math
from pathlib import Path

import msgspec
import pyarrow as arrow
import pytest
from playmolt_agora.measures.data.tables import BESIDE, TABLES, arrow_table, csv_text
from playmolt_agora.report.files import write_tables
from playmolt_agora.report.study import StudyData, StudyFault
from playmolt_schemas.stored.agora.turn import TurnRecord
from pyarrow import parquet

MIXED = [
    {"run": "b", "model": "m", "turns": 3, "failed": 0, "fail_share": 0.1 + 0.2, "excluded": True},
    {"run": "a", "model": None, "turns": None, "failed": None, "fail_share": None, "excluded": None},
]


def test_each_table_becomes_a_csv_and_a_parquet_file_of_its_name(study: StudyData, tmp_path: Path) -> None:
    written = write_tables(study.tables, study.turns, tmp_path / "new")
    expected = [
        "turns.jsonl",
        *(f"{name}.{kind}" for name in study.tables for kind in ("csv", "parquet")),
        "provenance.jsonl",
    ]
    assert [path.name for path in written] == expected
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(expected)


def test_a_line_of_turns_is_the_turns_record(study: StudyData, tmp_path: Path) -> None:
    write_tables({}, study.turns, tmp_path)
    lines = (tmp_path / "turns.jsonl").read_bytes().splitlines()
    assert tuple(msgspec.json.decode(line, type=TurnRecord) for line in lines) == tuple(study.turns)
    first = study.turns[0]
    kept = [name for name in TurnRecord.__struct_fields__ if getattr(first, name) is not msgspec.UNSET]
    assert list(json.loads(lines[0])) == kept
    assert set(TurnRecord.__struct_fields__) - set(kept) <= {"action_base", "amount", "resources", "feasible_base"}, (
        "only what rooms add may be absent"
    )


def test_csv_keeps_order_writes_null_as_nothing_and_reads_back_the_same_number() -> None:
    lines = list(csv.reader(csv_text(list(MIXED[0]), MIXED).splitlines()))
    assert lines[0] == list(MIXED[0])
    assert lines[1] == ["b", "m", "3", "0", "0.30000000000000004", "true"]
    assert lines[2] == ["a", "", "", "", "", ""]


@pytest.mark.parametrize("column", ["text", "target", "agent", "own"])
@pytest.mark.parametrize(
    ("text", "cell"), [("=1+1", "'=1+1"), (" ＝1", "' ＝1"), ("a;=1", "a;'=1"), ("\t1", "'\t1"), ("agent-1", "agent-1")]
)
def test_no_text_of_a_table_is_a_formula_for_a_spreadsheet(column: str, text: str, cell: str) -> None:
    """Models choose what they name as a target; columns of a measure hold whatever its author puts there."""
    assert csv_text(["n", column], [{"n": -1, column: text}]) == f"n,{column}\n-1,{cell}\n"


def test_parquet_keeps_order_types_and_nulls(tmp_path: Path) -> None:
    write_tables({"parse": MIXED}, (), tmp_path)
    read = parquet.read_table(tmp_path / "parse.parquet")
    assert read.to_pylist() == [dict.fromkeys(TABLES["parse"]) | row for row in MIXED]
    assert tuple(read.schema.names) == TABLES["parse"]
    assert [read.schema.field(name).type for name in MIXED[0]] == [
        arrow.string(), arrow.string(), arrow.int64(), arrow.int64(), arrow.float64(), arrow.bool_(),
    ]  # fmt: skip


@pytest.mark.parametrize("name", [*TABLES, *BESIDE])
def test_a_column_has_one_type_whatever_rows_there_are(name: str, study: StudyData) -> None:
    """A table of an experiment without rows must have the types of one with rows, or they cannot be put together."""
    table = arrow_table(name, study.rows(name))
    assert table.schema == arrow_table(name, []).schema
    assert table.to_pylist() == [dict.fromkeys(table.column_names) | row for row in study.rows(name)]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused_before_anything_is_written(value: float, tmp_path: Path) -> None:
    with pytest.raises(StudyFault, match="table pcs, column pcs"):
        write_tables({"gini": [{"run": "a"}], "pcs": [{"pcs": value}]}, (), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_provenance_has_a_line_for_every_row(tmp_path: Path) -> None:
    origins = {"pcs": [{"n": 5, "runs": ("a",), "events": {"a": (1, 9)}}, {"n": 6, "runs": ("b",), "events": {}}]}
    write_tables({"pcs": [{"model": "x"}, {"model": "y"}]}, (), tmp_path, origins)
    lines = [json.loads(line) for line in (tmp_path / "provenance.jsonl").read_text().splitlines()]
    assert lines[0] == {"table": "pcs", "row": 1, "n": 5, "runs": ["a"], "events": {"a": [1, 9]}}
    assert [line["row"] for line in lines] == [1, 2]
