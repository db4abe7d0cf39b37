"""`playmolt agora run` where nothing runs: it brings a platform up, plays a folder's world, leaves nothing behind."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree

from playmolt_cli.local.folder import Folder

from tests import platforms
from tests.integration.agora.experiment_operator import OWN

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"


def playmolt(*arguments: str) -> tuple[str, str]:
    """Run a command to its end; gives what it printed and what it said beside."""
    done = platforms.playmolt("agora", *arguments, environment=OWN, seconds=150)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_the_commons_go_from_plan_to_bundle_in_both_languages(folder: Path) -> None:
    plan, data = copytree(COMMONS, folder / "commons"), str(folder / "data")
    text = (plan / "plan.yaml").read_text("utf-8").replace("runs: 2", "runs: 1").replace("turns: 12", "turns: 8")
    (plan / "plan.yaml").write_text(text)
    told = json.loads(playmolt("plan", str(plan), "--json")[0])
    assert (told["faults"], told["runs"], told["turns"], told["cost"]) == ([], 4, 256, "0")
    assert json.loads(playmolt("check", str(plan), "--json")[0])["faults"] == []
    out, err = playmolt("run", str(plan), "--data", data, "--json")
    experiment = json.loads(out)["experiment"]
    assert experiment in err
    assert "finished: runs 4/4, turns 256/256" in err
    assert Folder(data).run() is None
    (plan / "worlds" / "pasture.toml").write_text("edited after the lock")
    analyzed = json.loads(playmolt("analyze", experiment, "--out", str(folder / "study"), "--data", data, "--json")[0])
    turns = [json.loads(line) for line in (folder / "study/turns.jsonl").read_text("utf-8").splitlines()]
    assert {turn["language"] for turn in turns} == {"ko", "en"}
    assert {turn["resources"] is None for turn in turns} == {False}
    assert [(each["name"], each["code"], each["rows"]) for each in analyzed["measures"]] == [
        ("harvest_share", None, 32)
    ]
    playmolt("export", experiment, "--out", str(folder / "bundle"), "--data", data)
    assert (folder / "bundle/folder/worlds/pasture.toml").read_text("utf-8") == (
        COMMONS / "worlds/pasture.toml"
    ).read_text("utf-8")
    for made in ("bundle", "study"):
        shares = (folder / made / "measure_harvest_share.csv").read_text("utf-8")
        assert shares.startswith("run,agent,persona,harvested,share")
    verify = [sys.executable, str(folder / "bundle/verify.py")]
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=60, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
