"""`playmolt content`: a pack is written, checked and told of with file and line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli


def ran(*words: str, status: int = 0) -> str:
    done = CliRunner().invoke(cli, ["content", *words])
    assert done.exit_code == status, done.output
    return done.output


@pytest.mark.parametrize("game", ["jury", "trial", "ox"])
def test_what_is_written_passes_the_check(tmp_path: Path, game: str) -> None:
    ran("new", str(tmp_path / "pack"), "--game", game, "--language", "en", "--language", "zh")
    told = json.loads(ran("check", str(tmp_path / "pack"), "--json"))
    assert (told["ok"], told["faults"], len(told["digest"])) == (True, [], 64)
    (tmp_path / "pack" / "notes.txt").write_text("x")
    assert "notes.txt:1: unknown_file: " in ran("check", str(tmp_path / "pack"), status=1)


def test_the_shipped_case_is_checked_where_no_folder_is_named() -> None:
    assert json.loads(ran("check", "--json"))["ok"]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    ran("new", str(tmp_path), status=2)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.txt"]


def test_every_fault_is_a_line(tmp_path: Path) -> None:
    ran("new", str(tmp_path / "pack"))
    structure = tmp_path / "pack" / "structure.toml"
    structure.write_text(structure.read_text().replace("threshold = 20", "threshold = 2000"))
    (tmp_path / "pack" / "en" / "evidence.toml").unlink()
    lines = ran("check", str(tmp_path / "pack"), status=1).splitlines()
    assert "en/evidence.toml:1: missing_text: en/evidence.toml is missing: add it" in lines
    assert any(line.startswith("structure.toml:") and ": never_breaks: " in line for line in lines)
    ran("play", str(tmp_path / "pack"), "--auto", status=1)


FAULTS = {
    "no JSON": ('["a",\n', "questions.json:2: syntax"),
    "a number": ('["a",\n 7]', "questions.json:2: wrong_type"),
    "the same twice": ('["a",\n "b",\n "a"]', "questions.json:3: twice"),
    "too long": (json.dumps(["a" * 4001]), "questions.json:1: out_of_bounds"),
    "none": ("[]", "questions.json:1: out_of_bounds"),
    "an empty one": ('["a",\n\n ""]', "questions.json:3: missing_text"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_questions_are_reported(tmp_path: Path, fault: str) -> None:
    text, told = FAULTS[fault]
    ran("new", str(tmp_path / "pack"), "--game", "ox")
    (tmp_path / "pack" / "questions.json").write_text(text)
    assert told in ran("check", str(tmp_path / "pack"), status=1)


def test_sides_of_a_trial_bring_the_same_number_of_pieces(tmp_path: Path) -> None:
    ran("new", str(tmp_path / "pack"), "--game", "trial")
    cases = tmp_path / "pack" / "cases.json"
    written = json.loads(cases.read_text())
    written[0]["evidence_for"] = []
    cases.write_text(json.dumps(written))
    assert "cases.json:1: out_of_bounds: entry 1: both sides" in ran("check", str(tmp_path / "pack"), status=1)
