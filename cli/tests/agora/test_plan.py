"""`agora plan` and `agora check`: what is said of a plan before anything runs."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from playmolt_cli.agora import prompt_symmetry
from playmolt_cli.agora.plan import selected
from playmolt_cli.main import cli
from playmolt_cli.terminal.failures import Failure

PLAN = """\
name: mine
models: [scripted-steady]
languages: [ko]
phases:
  phase1: {runs: 1, turns: 2}
"""
COUNTS = "run,model,language,action,count\n" + "".join(
    f"r{number},scripted-steady,ko,{action},10\n" for number in range(5) for action in ("speak", "trade")
)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(
        cli, ["agora", *arguments], env={"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN)
    return path


def test_the_white_room_is_section_6_exactly() -> None:
    for arguments in (("--preset", "white-room"), ("white-room",)):
        result = _run("plan", *arguments, "--json")
        told = json.loads(result.stdout)
        assert (result.exit_code, told["runs"], told["agents"], told["turns"]) == (0, 30, 288, 18_000)
        assert {"calls", "cost", "squares", "tests"} <= set(told)


def test_the_example_is_a_plan_with_comments(tmp_path: Path) -> None:
    text = _run("plan", "--example").stdout
    assert text.startswith("# ")
    (tmp_path / "example.yaml").write_text(text)
    assert _run("plan", str(tmp_path / "example.yaml")).exit_code == 0
    assert "white-room" in _run("plan", "--example", "--preset", "white-room").stdout
    assert json.loads(_run("plan", "--example", "--json").stdout)["name"] == "example"


def test_a_preview_prints_all_that_was_asked_for(file: Path) -> None:
    text = _run("plan", "white-room").stdout
    for part in ("30 runs, 288 agents, 18,000 turns", "Sets A, B: Model × Persona, balanced", "0.03125",
                 "persona × model", "warning: ", "scripted"):  # fmt: skip
        assert part in text
    file.write_text(PLAN.replace("scripted-steady", "unknown"), encoding="utf-8")
    assert "models: unknown is not in the catalogue" in _run("plan", str(file)).stdout
    aside = "interviews: [{id: a, at: [0, 2], ask: {ko: '얼마나?', en: 'How?'}, scale: {from: 1, to: 7}}]\n"
    file.write_text(PLAN + aside, encoding="utf-8")
    assert "48 calls, 24 of them questions asked aside" in _run("plan", str(file)).stdout


def test_a_plan_is_reported_as_a_table(file: Path) -> None:
    result = _run("plan", str(file))
    assert result.exit_code == 0
    assert "1 runs, 12 agents, 24 turns" in result.stdout
    assert "phase1/scripted-steady/ko" in result.stdout


def test_a_plan_that_would_be_refused_says_why_and_exits_1(file: Path) -> None:
    file.write_text(PLAN.replace("scripted-steady", "gpt-nobody"), encoding="utf-8")
    result = _run("plan", str(file))
    assert (result.exit_code, "plan.yaml:2: models: gpt-nobody is not in the catalogue" in result.stdout) == (1, True)


def test_a_plan_that_does_not_read_names_every_fault_under_its_field(file: Path) -> None:
    file.write_text(PLAN.replace("[ko]", "[ko, xx]") + "reask: 9\nsurprise: 1\n", encoding="utf-8")
    told = _run("plan", str(file), "--json")
    found = {
        (fault["file"], fault["line"], fault["field"], fault["code"]) for fault in json.loads(told.stdout)["faults"]
    }
    assert told.exit_code == 1
    assert found == {
        ("plan.yaml", 3, "languages[1]", "out_of_range"),
        ("plan.yaml", 6, "reask", "out_of_range"),
        ("plan.yaml", 7, "surprise", "unknown_field"),
    }
    refused = _run("run", str(file))
    assert refused.exit_code == 2
    assert all(part in refused.stderr for part in ("plan.yaml:7: surprise", "--example"))


def test_one_fault_of_each_kind_is_one_line_each(file: Path) -> None:
    file.write_text(
        "name: n\nmodels: [scripted-steady, scripted-trader, scripted-social, nobody]\ncolour: red\n"
        "phases: {phase2: {runs: 3, turns: 100}}\nallow_unbalanced: true\nreask: two\nstage1_import: none.csv\n"
        "hypotheses:\n- H7\n- H1\n- pcs:scripted-steady\nsampling: {temperature: 3}\n",
        encoding="utf-8",
    )
    told = json.loads(_run("plan", str(file), "--json").stdout)
    assert sorted(fault["code"] for fault in told["faults"]) == sorted(
        ("unknown_field", "wrong_type", "missing_file", "unknown_test", "out_of_range", "unknown_model", "underpowered")
    )


def test_a_folder_holds_one_plan(file: Path) -> None:
    assert selected(str(file.parent), None).plan == selected(str(file), None).plan
    (file.parent / "plan.json").write_text("{}")
    assert _run("plan", str(file.parent)).exit_code == 2


def test_a_key_that_is_not_set_is_a_warning_of_plan_and_a_fault_of_run(file: Path, tmp_path: Path) -> None:
    models = tmp_path / "models.toml"
    models.write_text('[models.m]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\napi_key_env = "NOT_SET_ANYWHERE"\n')
    file.write_text(PLAN.replace("scripted-steady", "m"), encoding="utf-8")
    for command, status, told in (("plan", 0, "warning: NOT_SET_ANYWHERE"), ("run", 2, "NOT_SET_ANYWHERE")):
        result = CliRunner().invoke(cli, ["agora", command, str(file)], env={"PLAYMOLT_MODELS": str(models)})
        assert (result.exit_code, told in result.output) == (status, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--preset NAME"),
        (("nowhere.yaml",), "No file or preset named nowhere.yaml"),
        (("--preset", "nope"), "white-room-stage1"),
    ],
)
def test_a_missing_plan_says_what_could_be_given(arguments: tuple[str, ...], said: str) -> None:
    result = _run("plan", *arguments)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_a_file_keeps_its_text_for_the_lock(file: Path) -> None:
    assert selected(str(file), None).body == PLAN


def test_comments_and_budget_leave_a_plan_the_same_and_its_seed_does_not(file: Path) -> None:
    first = selected(str(file), None)
    file.write_text("# a comment\n" + PLAN + "budget: {calls: 100}\n", encoding="utf-8")
    assert selected(str(file), None).key == first.key
    file.write_text(PLAN + 'seed: "8"\n', encoding="utf-8")
    assert selected(str(file), None).key != first.key


def test_imported_counts_are_read_beside_the_plan_and_sent_along(file: Path) -> None:
    file.write_text(PLAN + "stage1_import: counts.csv\n", encoding="utf-8")
    with pytest.raises(Failure, match=r"counts\.csv does not exist beside the plan"):
        selected(str(file), None)
    (file.parent / "counts.csv").write_text(COUNTS)
    body = selected(str(file), None).body
    assert body["stage1_import"]["file"] == "counts.csv"
    assert len(body["stage1_import"]["runs"]) == 5
    assert msgspec.json.encode(body)


def test_the_certificate_is_printed_and_holds() -> None:
    result = _run("check")
    assert (result.exit_code, result.stdout.rstrip().endswith("symmetric")) == (0, True)
    assert "L17" in result.stdout


def test_an_undeclared_difference_stops_check_and_run(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = prompt_symmetry.Certificate(version="x", prompts=1, pairs=1, exceptions=(), faults=("ko says more",))
    monkeypatch.setattr(prompt_symmetry, "check", lambda **_: broken)
    checked, run = _run("check"), _run("run", str(file))
    assert (checked.exit_code, run.exit_code) == (1, 1)
    assert "ko says more" in checked.stdout
    assert "ko says more" in run.stderr


def test_a_platform_elsewhere_wants_the_operators_key(file: Path) -> None:
    result = _run("run", str(file), "--url", "http://127.0.0.1:9")
    assert (result.exit_code, "--key" in result.stderr) == (2, True)
    assert "is not a server URL" in _run("run", str(file), "--url", "nowhere", "--key", "k").stderr


def test_a_plan_with_an_unknown_model_is_refused_before_anything_starts(file: Path, tmp_path: Path) -> None:
    file.write_text(PLAN.replace("scripted-steady", "gpt-nobody"), encoding="utf-8")
    result = _run("run", str(file), "--data", str(tmp_path / "data"))
    assert (result.exit_code, "gpt-nobody is not in the catalogue" in result.stderr) == (2, True)
    assert not (tmp_path / "data").exists()
