"""`playmolt agora run` where nothing runs: it brings a platform up, plays a folder's world, leaves nothing behind."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from shutil import copytree

import httpx
from playmolt_cli.local.folder import Folder

from tests import platforms
from tests.integration.agora.experiment_operator import EXPERIMENTS, OWN
from tests.platforms import Stack

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"


def playmolt(*arguments: str) -> tuple[str, str]:
    """Run a command to its end; gives what it printed and what it said beside."""
    done = platforms.playmolt("agora", *arguments, environment=OWN)
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
    started = {log.stem for log in (folder / "data" / "logs").glob("*-1.log")}
    assert started == {"postgres-1", "nats-1", "relay-1", "agora-runner-1", "gateway-1", "spectator-1"}
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
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


BAD_MEASURES: dict[str, tuple[str, str]] = {
    "raises": ('raise ValueError("at once")', "measure_failed"),
    "writes": ('open("x", "w")', "measure_forbidden"),
    "differs": (
        "import os; return turns.select('run').unique().with_columns(share=float(os.getpid()))",
        "measure_unstable",
    ),
}


def bad_plan(folder: Path, body: str) -> Path:
    """The commons with one more measure."""
    plan = copytree(COMMONS, folder)
    text = (plan / "plan.yaml").read_text("utf-8").replace("runs: 2", "runs: 1").replace("turns: 12", "turns: 8")
    (plan / "plan.yaml").write_text(text.replace("harvest_share", "bad"), "utf-8")
    (plan / "measures" / "bad.py").write_text(
        'KEYS = ("run",)\nCOLUMNS = {"run": "str", "share": "float"}\n'
        'LABELS = {"share": {"ko": "몫", "en": "Share"}}\n\n\ndef measure(turns):\n    ' + body + "\n",
        "utf-8",
    )
    return plan


def posted(http: httpx.Client, body: object, query: dict[str, str], key: str) -> httpx.Response:
    """The result of a plan. On a busy machine it takes longer than the call waits."""
    until = time.monotonic() + 240
    while True:
        answer = http.post(EXPERIMENTS, params=query, json=body, headers={"Idempotency-Key": key})
        if answer.status_code == 202:
            while (looked := http.get(answer.headers["Location"])).status_code == 202:
                assert time.monotonic() < until, looked.text
                time.sleep(0.2)
            return looked
        if answer.status_code != 503:
            return answer
        assert time.monotonic() < until, answer.text
        time.sleep(float(answer.headers["Retry-After"]))


def test_a_measure_that_does_not_hold_is_refused_before_the_lock_whichever_way_its_plan_comes(folder: Path) -> None:
    """On the platform that runs already, by its URL, over HTTP, and on one that the command starts."""
    with Stack(folder / "data", ("--only", "agora-runner"), OWN) as stack:
        run = stack.run
        with httpx.Client(
            base_url=run.gateway, headers={"Authorization": f"Bearer {run.operator_key}"}, timeout=60
        ) as http:
            for name, (body, code) in BAD_MEASURES.items():
                plan = bad_plan(folder / name, body)
                for place in (("--data", str(folder / "data")), ("--url", run.gateway, "--key", run.operator_key)):
                    done = platforms.playmolt("agora", "run", str(plan), *place, environment=OWN)
                    assert done.returncode in (1, 2), done.stdout
                    assert "measures/bad.py" in done.stderr, (name, place, done.stderr)
                files = {
                    str(path.relative_to(plan)): path.read_text("utf-8")
                    for path in sorted(plan.rglob("*"))
                    if path.is_file() and path.parent != plan
                }
                hashes = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}
                for path, named in hashes.items():
                    put = http.put(f"/api/agora/files/{named}", content=files[path].encode())
                    assert put.status_code == 204, put.text
                whole = {"plan": (plan / "plan.yaml").read_text("utf-8"), "files": hashes}
                for dry in ({}, {"dry": "1"}):
                    answer = posted(http, whole, dry, f"{name}-{len(dry)}")
                    assert answer.status_code == 400, answer.text
                    assert "errors" in answer.json(), answer.text
                    (fault,) = answer.json()["errors"]
                    assert fault["field"].startswith("measures/bad.py"), answer.text
                    assert fault.get("code", code) == code, answer.text
            assert http.get(EXPERIMENTS).json()["experiments"] == []
    done = platforms.playmolt("agora", "run", str(folder / "raises"), "--data", str(folder / "own"), environment=OWN)
    assert done.returncode in (1, 2)
    assert "measures/bad.py" in done.stderr


def test_a_plan_that_changes_on_disk_is_another_experiment_and_the_command_says_so(folder: Path) -> None:
    """Edited after `plan` and again after a stop; restored, the first experiment goes on."""
    plan, world = copytree(COMMONS, folder / "commons"), folder / "commons" / "worlds" / "pasture.toml"
    text = (plan / "plan.yaml").read_text("utf-8").replace("runs: 2", "runs: 1").replace("turns: 12", "turns: 8")
    (plan / "plan.yaml").write_text(f"{text}\nbudget: {{calls: 5}}\n", "utf-8")
    seen = json.loads(playmolt("plan", str(plan), "--json")[0])["folder"]["hash"]
    assert f"folder {seen} (" in playmolt("plan", str(plan))[0]
    first = f"{world.read_text('utf-8')}# one\n"
    with Stack(folder / "data", ("--only", "agora-runner"), OWN):

        def run(status: int) -> tuple[str, str]:
            """The experiment, and what was said about it."""
            command = ("agora", "run", str(plan), "--data", str(folder / "data"), "--json")
            done = platforms.playmolt(*command, environment=OWN)
            assert done.returncode == status, done.stdout + done.stderr
            return json.loads(done.stdout)["experiment"], done.stderr

        world.write_text(first, "utf-8")
        begun, said = run(1)
        assert f", folder {seen[:16]}," not in said
        assert "not continued" not in said
        world.write_text(f"{first}# two\n", "utf-8")
        another, said = run(1)
        assert another != begun
        assert f"{begun} of the same name is budget_stopped" in said
        assert "not continued: worlds/pasture.toml differs" in said
        world.write_text(first, "utf-8")
        (plan / "plan.yaml").write_text(text, "utf-8")
        assert run(0)[0] == begun, "what was restored goes on, and a raised budget is the same plan"
