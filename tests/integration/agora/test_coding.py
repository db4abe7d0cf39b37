"""Thoughts coded by a judge that is killed twice and by a person on a sheet, up to the bundle that holds both."""

import asyncio
import csv
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import playmolt_agora
import pytest
from playmolt_schemas.instrument.laboratory import key_of
from playmolt_schemas.stored.agora.turn import ACTIONS

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply
from tests import platforms
from tests.integration.agora.experiment_operator import OWN, Operator, plan, turns_of
from tests.platforms import Stack

StackFactory = Callable[..., Stack]


def judges(asked: ReceivedRequest) -> Canned:
    """A judge that finds survival in long thoughts, and now and then says nothing that can be read."""
    thought = asked.last.partition("<thought>\n")[2].rpartition("\n</thought>")[0]
    labels = json.dumps({"survival": len(thought) > 20, "social": "together" in thought})
    return reply("hm" if len(thought) % 11 == 0 else labels, delay=0.1, usage=(10, 5))


def playmolt(*arguments: str, status: int = 0) -> tuple[Any, str]:
    """Run a command in a process of its own, as a person does; gives the JSON of its last line, and what it said."""
    done = platforms.playmolt("agora", *arguments, environment=OWN)
    assert done.returncode == status, done.stdout + done.stderr
    last = done.stdout.strip().split("\n")[-1]
    return json.loads(last) if last.startswith("{") else last, done.stderr


async def received(server: FakeServer, many: int) -> None:
    async with asyncio.timeout(120):
        while len(server.received) < many:
            await asyncio.sleep(0.02)


@pytest.mark.timeout(600)
async def test_a_judge_that_is_killed_twice_asks_nothing_twice_and_agreement_is_in_the_bundle(
    stack: StackFactory, folder: Path
) -> None:
    async with FakeServer() as server:
        server.otherwise = judges
        catalogue = folder / "models.toml"
        catalogue.write_text(server.toml(input_price=1, output_price=2))
        running = stack("--only", "agora-runner", "--engines", "2", PLAYMOLT_MODELS=str(catalogue))
        data = ("--data", str(running.folder.path))
        async with Operator(running) as operator:
            experiment = await operator.finished(plan("scripted-steady", turns=2, runs=4))
            capped = await operator.post(experiment, "judge", {"model": "fake", "budget": {"calls": 5}})
            assert capped.status_code == 200, capped.text
            line = await until_still(operator, experiment)
            assert (line["status"], line["spent"]["calls"], len(server.received)) == ("budget", 5, 5)
            assert (await operator.post(experiment, "judge", {"model": "fake"})).status_code == 200
            await received(server, 20)
            for number in (1, 2):  # whichever holds the judge
                running.kill(f"agora-runner-{number}")
            await received(server, 40)
            running.kill_tree()
            running.start()
            line = await until_still(operator, experiment)
            told = await operator.events(experiment)
            thoughts = {}
            for run in await operator.runs(experiment):
                for turn in turns_of(await operator.events(run["run"])):
                    if turn["thought"] and turn["action"] in ACTIONS:
                        thoughts[turn["run"], turn["agent"], turn["turn"]] = turn["thought"]
            await check_calls(server, experiment, told, thoughts, line)
            written, _ = await asyncio.to_thread(playmolt, "sheet", experiment, "--out", str(folder / "s.csv"), *data)
            assert written == f"{len(thoughts)} thoughts in {folder / 's.csv'}"
            await asyncio.to_thread(fill, folder / "s.csv", thoughts)
            mine = ("sheet", experiment, "--in", str(folder / "s.csv"), "--coder", "kim", *data, "--json")
            assert (await asyncio.to_thread(playmolt, *mine))[0] == {
                "experiment": experiment, "coder": "kim", "rows": len(thoughts),
            }  # fmt: skip
            again, _ = await asyncio.to_thread(playmolt, "judge", experiment, "--model", "fake", *data, "--json")
            assert again["coded"] + again["failed"] == len(thoughts)
            assert (await operator.events(experiment))[-1][0] == "experiment_finished", "it is over as before"
            asked = len(server.received)
            other, _ = await asyncio.to_thread(
                playmolt, "judge", experiment, "--model", "scripted-wild", *data, "--json"
            )
            assert (other["coded"] + other["failed"], other["calls"], len(server.received)) == (
                len(thoughts), len(thoughts), asked,
            )  # fmt: skip
            refused = await operator.post(experiment, "judge", {"model": "nobody"})
            assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "model")
        await asyncio.to_thread(running.stop)
        await asyncio.to_thread(check_bundle, experiment, folder / "bundle", data, len(thoughts))


async def until_still(operator: Operator, experiment: str) -> Any:
    async with asyncio.timeout(180):
        while True:
            line = (await operator.get(f"/api/agora/experiments/{experiment}/codings"))["judges"][0]
            if line["status"] != "running":
                return line
            await asyncio.sleep(0.1)


async def check_calls(server: FakeServer, experiment: str, told: Any, thoughts: Any, line: Any) -> None:
    coded = [data for kind, data in told if kind == "judge_coded"]
    settled = Counter((each["run"], each["agent"], each["turn"]) for each in coded if each["code"])
    assert settled == Counter(list(thoughts)), "every thought is settled once"
    lost = Counter[str]()
    for each in coded:
        if each["call"]["outcome"] == "lost":
            lost[f"judge:{each['run']}:{each['agent']}:{each['turn']}"] += each["call"]["lost"]
    requests = Counter(asked.turn.split(" ")[1] for asked in server.received)
    assert {asked.turn.split(" ")[::2] == [experiment, "ask"] for asked in server.received} == {True}
    for name, count in requests.items():
        assert count <= 1 + lost[name], "a reply that was whole is never asked for again"
    for asked in server.received:
        _, run, agent, turn = asked.turn.split(" ")[1].split(":")
        assert asked.last == f"<thought>\n{thoughts[run, agent, int(turn)]}\n</thought>", "the thought alone"
        shown = json.dumps(asked.body["messages"])
        assert not any(word in shown for word in ("scripted", agent, "phase1", "speak", "merchant"))
    assert line["status"] == "done"
    assert line["coded"] + line["failed"] == len(thoughts)
    assert line["failed"] == sum(each["code"] == "parse_error" for each in coded) > 0
    assert line["spent"]["calls"] == sum(requests.values()) + unasked(lost, requests)
    assert line["spent"]["unknown_calls"] == sum(lost.values())


def unasked(lost: Counter[str], requests: Counter[str]) -> int:
    """Lost calls that no server got: a worker was killed between mark and request, one a question and kill at most."""
    more = {name: 1 + many - requests[name] for name, many in lost.items()}
    assert all(0 <= each <= 2 for each in more.values())
    return sum(more.values())


def fill(sheet: Path, thoughts: Any) -> None:
    keys = {key_of(*place): thought for place, thought in thoughts.items()}
    body = sheet.read_bytes()
    assert body.startswith(b"\xef\xbb\xbfkey,language,thought,survival,social,note\r\n")
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["key"]: row["thought"] for row in rows} == keys
    assert list(keys) != [row["key"] for row in rows], "in shuffled order"
    for row in rows:
        row |= {"survival": "예" if len(row["thought"]) > 20 else "no", "social": "0"}
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def check_bundle(experiment: str, bundle: Path, data: tuple[str, ...], many: int) -> None:
    playmolt("export", experiment, "--out", str(bundle), *data)
    verify = [sys.executable, "-I", str(bundle / "verify.py"), str(bundle)]
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=120, check=False)
    assert "VERIFIED" in checked.stdout, checked.stdout
    study = playmolt_agora.open(bundle)
    rows = study.tables["kappa"].to_polars().to_dicts()
    pairs = [*combinations(("lexicon", "judge:fake", "judge:scripted-wild", "coder:kim"), 2)]
    assert [(row["label"], row["coder_a"], row["coder_b"]) for row in rows] == [
        (label, *pair) for label in ("survival", "social", "code") for pair in pairs
    ]
    with_judge = next(row for row in rows if row["coder_a"] == "judge:fake" and row["coder_b"] == "coder:kim")
    assert (with_judge["agree"], with_judge["n"] < many) == (1, True), "a reply without labels is not coded"
    assert "Coding of thoughts: agreement" in (bundle / "report.html").read_text("utf-8")
    anew = bundle.parent / "anew"
    playmolt("analyze", str(bundle), "--out", str(anew))
    assert (anew / "kappa.csv").read_bytes() == (bundle / "kappa.csv").read_bytes()
