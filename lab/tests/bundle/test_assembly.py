"""A study is read off the log: what was locked, what ran, what it cost, what the treasury held."""

import json
import operator
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from playmolt_agora.report import page
from playmolt_agora.report.assembly import StudyRecords, analysed, event_ranges, ginis, run_note, treasuries, turns_of
from playmolt_agora.report.study import StudyData, StudyFault
from playmolt_schemas.records import Record

from .conftest import Played


def test_what_was_locked_is_what_the_log_says(study_played: StudyData, played: Played) -> None:
    lock = msgspec.json.decode(played.experiment[0].data)
    assert study_played.lock is not None
    assert (study_played.lock.plan_hash, study_played.lock.text) == (lock["plan_hash"], lock["text"])
    assert study_played.locked_at == played.experiment[0].at
    assert study_played.name == "two-arms"
    assert study_played.stage1 == lock["pins"]["stage1"]
    assert study_played.stage1.startswith("stage1@")
    assert [model.answered for model in study_played.models] == [(model.alias,) for model in study_played.models]


def test_a_run_is_reported_by_its_first_and_last_event(study_played: StudyData, played: Played) -> None:
    assert [note.run for note in study_played.runs] == list(played.runs)
    for note in study_played.runs:
        records = played.runs[note.run]
        assert (note.first, note.last, note.outcome, note.scripted) == (1, len(records), "completed", True)
    assert event_ranges(played.runs) == {run: (1, len(records)) for run, records in played.runs.items()}


def test_turns_are_those_of_the_log_in_its_order(played: Played) -> None:
    turns = turns_of(played.runs)
    assert len(turns) == 3 * 12 * 2 * 2 + 3 * 6 * 3
    assert [turn.run for turn in turns] == sorted((turn.run for turn in turns), key=list(played.runs).index)


def test_ginis_and_treasuries_come_from_events(played: Played, study_played: StudyData) -> None:
    kinds = {(each.row["kind"], each.row["run"]) for each in ginis(played.runs)}
    by_phase = {note.phase: {kind for kind, run in kinds if run == note.run} for note in study_played.runs}
    assert by_phase == {"stage1": {"energy", "influence"}, "phase1": {"energy", "influence", "shadow"}, "phase2": set()}
    settled = treasuries(played.runs)
    assert {row["epoch"] for row in settled} == {1, 2}
    assert {row["run"] for row in settled} == {note.run for note in study_played.runs if note.phase != "phase2"}
    found = study_played.tables["gini"]
    key = operator.itemgetter("run", "epoch", "kind")
    assert {key(row): row for row in found} == {key(each.row): each.row for each in ginis(played.runs)}


def test_every_row_that_is_written_has_its_provenance(sealed: Path) -> None:
    lines = [json.loads(line) for line in (sealed / "provenance.jsonl").read_text().splitlines()]
    counted = {path.stem: len(path.read_text().splitlines()) - 1 for path in sealed.glob("*.csv")}
    counted = {name: rows for name, rows in counted.items() if name not in ("costs", "runs")}  # counted, not measured
    assert {name: sum(line["table"] == name for line in lines) for name in counted} == counted
    assert {line["table"] for line in lines} <= counted.keys()
    assert {line["n"] for line in lines if line["table"] == "gini"} == {12}


def test_deviations_and_looks_are_counted(played: Played) -> None:
    data = {
        "number": 1,
        "by": "op",
        "field": "budget",
        "before": "1",
        "after": "2",
        "reason": "too small",
        "budget": None,
    }
    look = {"number": 1, "by": "op", "measure": "pcs", "intervals": {}, "adaptive": False, "finished": 3}
    more = [
        *played.experiment,
        _record(played.experiment, "deviation", data),
        _record(played.experiment, "looked", look),
    ]
    study = analysed(StudyRecords(more, played.runs))
    assert study.looks == 1
    assert [deviation.text for deviation in study.deviations] == ["budget: 1 → 2 (too small; by op)"]
    assert "budget: 1 → 2 (too small; by op)" in page.render(study, {})


def _record(records: Sequence[Record], kind: str, data: dict[str, object]) -> Record:
    last = records[-1]
    raw = msgspec.Raw(msgspec.json.encode(data))
    return msgspec.structs.replace(last, version=last.version + 1, type=kind, data=raw)


def test_an_experiment_without_its_lock_is_a_fault(played: Played) -> None:
    with pytest.raises(StudyFault, match="do not begin with preregistered"):
        analysed(StudyRecords(played.experiment[1:], played.runs))


def test_a_run_without_its_beginning_is_a_fault(played: Played) -> None:
    records = next(iter(played.runs.values()))
    with pytest.raises(StudyFault, match="do not begin with run_opened"):
        run_note(records[1:])


def test_an_event_that_nobody_can_read_is_a_fault(played: Played) -> None:
    strange = [*played.experiment, _record(played.experiment, "dreamt", {})]
    with pytest.raises(StudyFault, match="dreamt is not a known event"):
        analysed(StudyRecords(strange, played.runs))


def test_the_measures_of_a_played_experiment_make_a_whole_page(study_played: StudyData) -> None:
    html = page.render(study_played)
    for name in ("pcs", "action-mix", "contrast-shares", "pcs-models", "network-support", "treasury"):
        assert f'<figure id="{name}">' in html
    assert "Headline figures under three treatments" in html
    assert "None" not in html.replace("none", "")
