"""The example of interviews: its page shows the dry run that the command prints."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli

ROOT = Path(__file__).parents[1]


def test_the_dry_run_is_on_the_page() -> None:
    plan = "docs/examples/interviews"
    done = CliRunner().invoke(cli, ["agora", "plan", str(ROOT / plan)])
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"$ playmolt agora plan {plan}\n{done.stdout}```" in (ROOT / plan / "README.md").read_text("utf-8")


@pytest.mark.parametrize("named", ["baselines: [survey]", ""])
def test_a_fault_of_a_baseline_is_reported_by_the_command(named: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ROOT / "docs/examples/interviews", tmp_path / "plan"))
    plan = (folder / "plan.yaml").read_text("utf-8").replace("baselines: [survey]", named)
    (folder / "plan.yaml").write_text(plan, "utf-8")
    table = folder / "baselines" / "survey.csv"
    table.write_text(table.read_text("utf-8").replace("trust@6,3,21", "trust@6,3,-21"), "utf-8")
    done = CliRunner().invoke(cli, ["agora", "plan", str(folder)])
    assert done.exit_code == 1
    assert "baselines/survey.csv:6: count: -21 must be from 0 to 1,000,000,000\n" in done.output


def test_the_certificate_counts_the_texts_of_its_questions() -> None:
    done = CliRunner().invoke(cli, ["agora", "check", str(ROOT / "docs/examples/interviews")])
    assert done.exit_code == 0
    assert "6 of them texts of questions asked aside" in done.stdout
