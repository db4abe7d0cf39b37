"""The example of questions asked aside: its dry run is the one that its page shows."""

from pathlib import Path

from click.testing import CliRunner
from playmolt_cli.main import cli

ROOT = Path(__file__).parents[1]


def test_the_dry_run_is_on_the_page() -> None:
    plan = "docs/examples/interviews"
    done = CliRunner().invoke(cli, ["agora", "plan", str(ROOT / plan)])
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"$ playmolt agora plan {plan}\n{done.stdout}```" in (ROOT / plan / "README.md").read_text("utf-8")


def test_the_certificate_counts_the_texts_of_its_questions() -> None:
    done = CliRunner().invoke(cli, ["agora", "check", str(ROOT / "docs/examples/interviews")])
    assert done.exit_code == 0
    assert "6 of them texts of questions asked aside" in done.stdout
