"""A plan's folder on a disk: what cannot be read of it."""

import json
import time
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.source import FILE_BYTES, Source
from playmolt_agora_runner.plan import reading
from playmolt_cli.agora.plan import folder_files
from playmolt_cli.main import cli
from playmolt_schemas.stored.agora.plan import Plan

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"
PASTURE, GRABBER = "worlds/pasture.toml", "personas/grabber.toml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    found = reading.read((COMMONS / "plan.yaml").read_text("utf-8"))
    assert isinstance(found, Plan)
    return found


def read(plan: Plan, beside: Path) -> list[tuple[str, int | None, str]]:
    found = folder_reading.read(plan, Source(folder_files(beside)))
    return [(fault.file, fault.line, fault.code) for fault in found.faults]


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"\xff\xfe", "not_text"), (b"\xef\xbb\xbfturns = 1", "not_text"), (b"turns = 1\0", "not_text")],
)
def test_what_is_not_text_is_refused(plan: Plan, tmp_path: Path, content: bytes, code: str) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    (beside / PASTURE).write_bytes(content)
    assert (PASTURE, None, code) in read(plan, beside)


def test_a_file_over_its_bound_is_refused_unread(plan: Plan, tmp_path: Path) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    with (beside / GRABBER).open("wb") as file:
        file.truncate(10 * 1024**3)  # a hole: reading it would fill the memory
    began = time.process_time()
    found = read(plan, beside)
    assert (GRABBER, None, "file_too_large") in found
    assert time.process_time() - began < 5
    assert FILE_BYTES < 10 * 1024**3


def test_links_are_not_followed(plan: Plan, tmp_path: Path) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    (beside / GRABBER).unlink()
    (beside / GRABBER).symlink_to(COMMONS / GRABBER)
    assert (GRABBER, None, "unreadable") in read(plan, beside)


def test_faults_of_rooms_have_their_lines_in_the_plan(tmp_path: Path) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    text = (beside / "plan.yaml").read_text("utf-8").replace("name: pasture", "name: phase1")
    (beside / "plan.yaml").write_text(text, "utf-8")
    line = text[: text.index("name: phase1")].count("\n") + 1
    for command in ("plan", "check", "run"):
        found = CliRunner().invoke(cli, ["agora", command, str(beside)])
        assert f"plan.yaml:{line}: rooms[0].name: phase1 is a phase's name" in found.output


def test_a_declared_difference_is_listed_in_the_certificate(tmp_path: Path) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    (beside / "texts").mkdir()
    declared = {"text": GRABBER, "ko": "딴말", "en": "other words", "reason": "A figure of speech."}
    lines = "".join(f'{name} = "{value}"\n' for name, value in declared.items())
    (beside / "texts" / "symmetry.toml").write_text(f"[[declared]]\n{lines}", "utf-8")
    checked, as_json = (CliRunner().invoke(cli, ["agora", "check", str(beside), *more]) for more in ((), ("--json",)))
    assert checked.exit_code == 0, checked.output
    assert f'declared {GRABBER}: "딴말" / "other words". A figure of speech.' in checked.stdout
    assert json.loads(as_json.stdout)["declared"] == [declared]


def test_a_declared_difference_has_a_reason(plan: Plan, tmp_path: Path) -> None:
    beside = tmp_path / "plan"
    copytree(COMMONS, beside)
    (beside / "texts").mkdir()
    declared = f'[[declared]]\ntext = "{GRABBER}"\nko = "딴말"\nen = "other words"\nreason = ""\n'
    (beside / "texts" / "symmetry.toml").write_text(declared, "utf-8")
    assert read(plan, beside) == [("texts/symmetry.toml", 5, "out_of_range")]
