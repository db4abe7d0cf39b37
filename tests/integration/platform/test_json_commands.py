"""`--json` of every command, with the results of real games, sessions and experiments: one whole JSON document."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from playmolt_cli.main import cli

from tests.integration.legal.person import LEASE
from tests.platforms import Done, Stack, playmolt

BOT = "def bot(turn):\n    return turn.actions[0]\n"
PLAN = {
    "name": "json", "seed": "7", "models": ["scripted-steady", "scripted-wild"], "languages": ["en"],
    "phases": {"stage1": {"runs": 2, "turns": 3}, "phase1": {"runs": 2, "turns": 3}},
}  # fmt: skip

PANEL = 'language = "en"\nn = 2\ndeliberation = 0\n[[scripts.A]]\njuror = "radical"\ntext = "Be fair."\n'


class Commands:
    """Runs commands on one platform and notes which of them printed a document."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.folder = folder
        self.seen: set[str] = set()
        self.gateway = stack.run.gateway
        self._data = str(stack.folder.path)
        self._environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}

    def done(self, *words: str) -> Done:
        return playmolt(*words, environment={**self._environment, "PLAYMOLT_DATA": self._data})

    def json(self, name: str, *words: str, status: int = 0) -> Any:
        """The document that `playmolt NAME WORDS --json` prints."""
        done = self.done(*name.split(), *words, "--json")
        assert done.returncode == status, f"{name}\n{done.stdout}\n{done.stderr}"
        self.seen.add(name)
        return json.loads(done.stdout)


def _with_json(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from _with_json(command, (*path, name))
        elif command is not None and any("--json" in each.opts for each in command.params):
            yield " ".join((*path, name))


@pytest.fixture
def platform(folder: Path) -> Iterator[Stack]:
    with Stack(folder / "data", environment={"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}) as stack:
        yield stack


@pytest.mark.timeout(600)
def test_every_command_prints_its_real_results_as_one_document(platform: Stack, folder: Path) -> None:
    commands = Commands(platform, folder)
    (folder / "bot.py").write_text(BOT, encoding="utf-8")
    (folder / "plan.yaml").write_text(json.dumps(PLAN), encoding="utf-8")
    (folder / "facts.json").write_text(json.dumps(LEASE), encoding="utf-8")
    _games(commands)
    _owners(commands)
    _tournaments(commands)
    _reports(commands)
    _experiments(commands)
    _sessions(commands)
    _log(commands)
    assert set(_with_json(cli)) - commands.seen == {"legal retry"}, "it needs a failed turn, and prints as `legal redo`"


def _games(commands: Commands) -> None:
    bot = str(commands.folder / "bot.py")
    assert len(commands.json("bots ox", "--n", "5")) == 5
    assert len(commands.json("bots trial", "--n", "6")) == 6
    checks = commands.json("bots check", "--python", bot, "--game", "ox", status=1)
    assert {check["verdict"] for check in checks} == {"pass", "fail"}
    report = commands.json("match", bot, "house:mixed", "--n", "10", "--out", str(commands.folder / "match"))
    assert report["pairs"][0]["points_interval"]
    game = report["games"][0]
    log = ("--log", str(commands.folder / "match" / game["log"]))
    assert commands.json("replay", game["game_id"], *log)["diverged_at"] is None
    assert commands.json("bots replay-test", bot, game["game_id"], *log, status=1)["decisions"]
    branch = ("--at", "8", "--seat", bot, "--bot", "house:mixed", "--n", "5")
    assert commands.json("what-if", game["game_id"], *branch, *log)
    pack = commands.folder / "pack"
    assert commands.done("content", "new", str(pack), "--game", "ox").returncode == 0
    assert commands.json("content check", str(pack))["ok"]
    assert commands.json("content play", str(pack), "--auto")["phase"] == "end"


def _owners(commands: Commands) -> None:
    owner = commands.json("owner new", "Ada", "--contact", "ada@example.org")
    key = ("--key", owner["owner_key"])
    agent = commands.json("owner register", "mine", *key)
    found = commands.json("owner new-key", agent["id"], *key)
    assert commands.json("owner release", agent["id"], *key)["owner"] is None
    assert commands.json("owner claim", found["api_key"], *key)["id"] == agent["id"]
    assert [one["id"] for one in commands.json("owner show", *key)["agents"]] == [agent["id"]]
    code = commands.json("owner codes", *key)["recovery_codes"][0]
    recovered = commands.json("owner recover", owner["id"], "--code", code)
    assert commands.json("owner erase", "--yes", "--key", recovered["owner_key"]) == {"erased": True}


def _reports(commands: Commands) -> None:
    agent = commands.json("owner register", "a slur", "--key", commands.json("owner new", "Bob")["owner_key"])
    body = {"kind": "name", "agent_id": agent["id"], "reason": "a slur"}
    reported = httpx.post(f"{commands.gateway}/api/reports", json=body, trust_env=False, timeout=60).json()["id"]
    assert [one["id"] for one in commands.json("moderate list")] == [reported]
    assert commands.json("moderate show", reported)["shown"] == "a slur"
    decided = commands.json("moderate decide", reported, "rename", "--note", "a slur")
    assert (decided["decision"], decided["note"]) == ("rename", "a slur")
    assert commands.json("moderate list") == []
    assert commands.json("moderate show", reported)["shown"] == f"agent-{agent['id'][-6:]}"


def _tournaments(commands: Commands) -> None:
    simulated = commands.json("tournament simulate", "--game", "ox", "--entrants", "20", "--rounds", "3")
    assert len(simulated["rounds"]) == 3
    made = commands.json("tournament new", "--game", "ox", "--rounds", "1", "--min", "5", "--max", "9", "--house", "5")
    assert commands.json("tournament start", made["id"])["id"] == made["id"]
    assert commands.json("tournament show", made["id"])["state"] in ("running", "ended")
    assert set(commands.json("scores")) == {"overall", "model"}


def _experiments(commands: Commands) -> None:
    assert commands.json("agora probe", str(commands.folder / "plan.yaml"))["probes"]
    plan = str(commands.folder / "plan.yaml")
    assert commands.json("agora plan", plan)["faults"] == []
    assert commands.json("agora check", plan)["faults"] == []
    assert commands.json("agora simulate", "ri_star:model", "--short")["rows"]
    experiment = commands.json("agora run", plan)["experiment"]
    runs = commands.json("agora status", experiment)["runs"]
    assert len(runs) == 8
    change = ("--at", "30", "--set", "model=scripted-wild")
    assert commands.json("agora fork", runs[-1]["run"], *change)["experiment"] == experiment
    assert commands.json("agora judge", experiment, "--model", "scripted-wild")["coded"]
    sheet = commands.folder / "sheet.csv"
    assert commands.json("agora sheet", experiment, "--out", str(sheet))["rows"]
    study = commands.json("agora analyze", experiment, "--out", str(commands.folder / "study"))
    assert study["measures"] == []
    assert commands.json("agora export", experiment, "--out", str(commands.folder / "bundle"))["manifest"]


def _sessions(commands: Commands) -> None:
    opening = ("--case-type", "civil", "--jurisdiction", "KR", "--title", "Deposit", "--language", "en")
    session = commands.json("legal new", *opening, "--model", "scripted")["id"]
    (commands.folder / "note.txt").write_text("The bank statement.", encoding="utf-8")
    assert commands.json("legal attach", str(commands.folder / "note.txt"))["chars"]
    assert commands.json("legal facts", "--file", str(commands.folder / "facts.json"))["id"] == session
    assert commands.json("legal show")["id"] == session
    assert commands.json("legal list")[0]["id"] == session
    gate = commands.json("legal gate")
    forms: tuple[dict[str, Any], ...] = (
        {"focus_issues": gate["issues"][:1], "goal": "risk_minimization", "stance": "neutral"},
        {
            "proof_priority": "the handover", "evidence_level": "weak", "obtainable_evidence": ["record"],
            "constraints": ["budget_cap"], "settlement_interest": False,
        },
        {"gate": "end", "resolution": "final_report", "report_style": "settlement"},
    )  # fmt: skip
    for form in forms:
        assert commands.json("legal gate", "--form", json.dumps(form))["steering"] is not None
    assert commands.json("legal report")["order"]
    second = commands.json("legal new", *opening, "--model", "scripted")["id"]
    commands.json("legal facts", second, "--file", str(commands.folder / "facts.json"))
    commands.json("legal gate", second)
    assert commands.json("legal fact", "F1", second, "--correct", "the lease was signed in May")
    assert commands.json("legal redo", second)["id"] == second
    panel = commands.folder / "panel.toml"
    panel.write_text(PANEL)
    found = commands.json("jury panel run", str(panel), "--out", str(commands.folder / "panel"))
    assert found["panel"]["state"] == "finished"
    assert [each["id"] for each in commands.json("jury panel list")["panels"]] == [found["panel"]["id"]]
    played = commands.json("jury play", "--auto", "--language", "en", "--aim", "guilty")
    assert commands.json("verify-verdict", played["session"]["id"])
    assert commands.json("erase", session)["erased"]


def _log(commands: Commands) -> None:
    assert commands.json("doctor")["well"]
    assert commands.json("migrate") == {"applied": []}
    assert commands.json("log stats")
    assert commands.json("log verify")["diverged"] == 0
    assert commands.json("log check")
    assert commands.json("log lost", "--against", "nats")["lost"] == 0
    assert commands.json("log archive", "--idle-days", "0", "--out", str(commands.folder / "archive"))
    assert commands.json("seal rotate")
    lines = commands.done("log", "tail", "--json").stdout.splitlines()
    assert all(json.loads(line)["stream"] for line in lines)
    commands.seen.add("log tail")
