"""`playmolt agora run` where nothing runs: it brings a platform up, plays a folder's world, leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from playmolt_cli.local.folder import Folder

from tests.integration.agora.experiment_operator import playmolt_agora

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"


@pytest.mark.timeout(240)
def test_the_commons_go_from_plan_to_bundle(folder: Path) -> None:
    plan, data = copytree(COMMONS, folder / "commons"), str(folder / "data")
    text = (plan / "plan.yaml").read_text("utf-8")
    text = (
        text.replace("runs: 2", "runs: 1")
        .replace("turns: 12", "turns: 8")
        .replace("languages: [ko, en]", "languages: [en]")
    )
    (plan / "plan.yaml").write_text(text)
    with playmolt_agora("run", str(plan), "--data", data, "--json") as run:
        out, err = run.communicate(timeout=150)
    assert run.returncode == 0, err
    experiment = json.loads(out)["experiment"]
    assert experiment in err
    assert "finished: runs 2/2, turns 128/128" in err
    assert Folder(data).run() is None
    (plan / "worlds" / "pasture.toml").write_text("edited after the lock")
    with playmolt_agora("export", experiment, "--out", str(folder / "bundle"), "--data", data) as export:
        _, err = export.communicate(timeout=60)
    assert export.returncode == 0, err
    assert (folder / "bundle/folder/worlds/pasture.toml").read_text("utf-8") == (
        COMMONS / "worlds/pasture.toml"
    ).read_text("utf-8")
    assert (folder / "bundle/measure_harvest_share.csv").read_text().startswith("run,agent,persona,harvested,share")
    verify = [sys.executable, str(folder / "bundle/verify.py")]
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
