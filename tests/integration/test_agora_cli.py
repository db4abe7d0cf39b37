"""`playmolt agora run` as a researcher uses it: interrupted, taken up again, finished; nothing else runs beside it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playmolt_cli.folder import Folder
from playmolt_cli.stack import Stack

PLAN = """\
# Two rooms of one scripted model.
name: by hand
models: [scripted-steady]
languages: [ko, en]
phases:
  phase1: {runs: 1, turns: 50}
"""
OWN = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}


def start(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "playmolt_cli", "agora", *arguments]
    return subprocess.Popen(command, env=OWN, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(*arguments: str) -> tuple[int, str, str]:
    process = start(*arguments)
    out, err = process.communicate(timeout=180)
    return process.returncode, out, err


@pytest.mark.timeout(400)
def test_a_run_is_interrupted_taken_up_and_finished_once(folder: Path) -> None:
    plan, data = folder / "plan.yaml", str(folder / "data")
    plan.write_text(PLAN)
    first = start("run", str(plan), "--data", data, "--json")
    assert first.stderr is not None
    assert "locked" in first.stderr.readline()
    time.sleep(1)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=180)
    assert (first.returncode, out) == (130, "")
    assert "the same command goes on" in err
    assert Folder(data).run() is None, "what was started for it is stopped with it"

    with Stack(folder / "data", (), OWN):  # now beside an `up` that runs
        code, out, err = finish("run", str(plan), "--data", data, "--json")
        assert code == 0, err
        told = json.loads(out.strip().split("\n")[-1])
        assert list(told) == ["experiment"]
        assert "finished: runs 2/2, turns 1,200/1,200" in err

        plan.write_text(PLAN + "budget: {calls: 100000}  # another budget is the same plan\n")
        code, out, err = finish("run", str(plan), "--data", data)
        assert code == 0, err
        assert told["experiment"] in out
        assert "running" not in out, "a finished experiment is left alone"

    code, out, err = finish("analyze", told["experiment"], "--out", str(folder / "study"), "--data", data)
    assert code == 0, err
    lines = (folder / "study" / "turns.jsonl").read_text().splitlines()
    turns = {(turn["run"], turn["turn"], turn["agent"]) for turn in map(json.loads, lines)}
    assert (len(lines), len(turns)) == (1200, 1200)
