"""Answers of people in a plan's folder: which files are read, locked and refused."""

import json
from typing import Any

from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import reading
from playmolt_agora_runner.plan.preview import examined
from playmolt_core.llm.catalogue import Catalogue

from tests.agora_locks import power

PLAN: dict[str, Any] = {
    "name": "n", "models": ["scripted"], "phases": {"phase1": {"runs": 2, "turns": 3}},
    "interviews": [
        {"id": "trust", "at": [3], "ask": {"ko": "믿습니까?", "en": "Do you?"}, "scale": {"from": 1, "to": 3}}
    ],
}  # fmt: skip
HEAD = "# source: a survey\r\n# licence: CC0\r\ncondition,item,answer,count\r\n"
MARKED = f"\ufeff{HEAD}phase1,trust,1,2\r\n"


def read(files: dict[str, str], **changes: Any) -> tuple[PlanFolder, list[str]]:
    found = reading.reading(json.dumps({**PLAN, **changes}))
    assert found.plan is not None
    folder = folder_reading.read(found.plan, Source(files))
    preview = examined(found, Catalogue({}), folder=folder, power=power)
    return folder, [str(fault) for fault in preview.faults]


def test_all_files_are_read_and_locked_byte_for_byte() -> None:
    files = {"baselines/students.csv": MARKED, "baselines/voters.csv": f"{HEAD}phase1/ko,trust,3,7\n"}
    folder, faults = read(files)
    assert (faults, folder.warnings) == ([], ())
    assert [each.name for each in folder.baselines] == ["students", "voters"]
    assert folder.folder is not None
    assert [file.bytes for file in folder.folder.files] == [len(text.encode()) for text in files.values()]
    assert folder.texts == files


def test_the_plan_chooses() -> None:
    files = {"baselines/students.csv": MARKED, "baselines/voters.csv": "nonsense"}
    chosen, faults = read(files, baselines=["students"])
    assert (faults, [each.name for each in chosen.baselines]) == ([], ["students"])
    assert chosen.warnings == ("baselines/voters.csv is in the folder but not used by the plan.",)
    none, faults = read(files, baselines=[])
    assert (faults, none.baselines, none.folder) == ([], (), None)


def test_faults_are_in_the_plans_list_with_file_and_line() -> None:
    wrong = {"baselines/students.csv": f"{HEAD}phase2,trust,1,-2\n", "baselines/voters.csv": "condition\n"}
    _, faults = read(wrong, baselines=["students", "voters", "missing"])
    assert [fault.partition(": ")[0] for fault in faults] == [
        "baselines/students.csv:4", "baselines/students.csv:4", "baselines/voters.csv:1", "baselines/voters.csv:1",
        "baselines/voters.csv:1", "baselines/voters.csv:1", "baselines/voters.csv:1", "baselines/missing.csv",
    ]  # fmt: skip


def test_people_need_a_question_that_models_answer() -> None:
    _, faults = read({"baselines/students.csv": MARKED}, interviews=[])
    assert faults == [
        "baselines/students.csv:4: item: 'trust' is not in the plan; it has none: a question with a scale or choices "
        "is needed"
    ]


def test_a_spreadsheet_may_quote_the_first_lines_and_fill_them_up() -> None:
    head = '"# source: Kim, ""Trust"", 2024",,,\n# licence: CC0,,,\ncondition,item,answer,count\n'
    folder, faults = read({"baselines/students.csv": f"{head}phase1,trust,1,2\n"})
    assert faults == []
    assert [(each.source, each.licence) for each in folder.baselines] == [('Kim, "Trust", 2024', "CC0")]
