"""`playmolt agora run` where nothing runs: it brings a platform up, and leaves none behind."""

import json
from pathlib import Path

import pytest
from playmolt_cli.local.folder import Folder

from tests.integration.agora.experiment_operator import playmolt_agora

PLAN = "name: by hand\nmodels: [scripted-steady]\nlanguages: [ko]\nphases: {phase1: {runs: 1, turns: 1}}\n"


@pytest.mark.timeout(200)
def test_a_run_starts_what_it_needs_and_stops_it_again(folder: Path) -> None:
    plan, data = folder / "plan.yaml", str(folder / "data")
    plan.write_text(PLAN)
    with playmolt_agora("run", str(plan), "--data", data, "--json") as run:
        out, err = run.communicate(timeout=150)
    assert run.returncode == 0, err
    assert json.loads(out)["experiment"] in err
    assert "finished: runs 1/1, turns 12/12" in err
    assert Folder(data).run() is None
