"""Panels on a whole platform: played, listed, reported, stopped by a budget, killed, voted on the chain."""

import asyncio
import fcntl
import io
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from core.tests.llm.fake_server import FakeServer
from tests.integration.jury.person import Bench, Overseer
from tests.integration.models.fake_model import fake_model, platform_with
from tests.platforms import Done, Stack, playmolt

DAY_SESSIONS = 12
STEPS = """
[[scripts.A]]
juror = "ophiuchus"
text = "There is reasonable doubt."
[[scripts.A]]
juror = "radical"
evidence = "E1"
"""
B = STEPS.replace("scripts.A", "scripts.B").replace("E1", "E2")


def plan(n: int = 2, steps: str = STEPS, **keys: object) -> str:
    named = {"language": "en", "n": n, "seed": 3, "deliberation": 1, **keys}
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in named.items()) + steps


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_model() as server:
        yield server


@pytest.fixture(scope="module")
def hall(model: FakeServer, session_folder: Path) -> Iterator[Stack]:
    settings = {"PLAYMOLT_PANELS": "keys", "PLAYMOLT_KEY_DAY_SESSIONS": str(DAY_SESSIONS)}
    with platform_with(model, session_folder / "panels", "--only", "trial-engine", **settings) as running:
        yield running


@pytest.fixture
async def owner(hall: Stack) -> AsyncIterator[Overseer]:
    async with Overseer(hall.run.gateway) as person:
        yield person


def operators(hall: Stack) -> dict[str, str]:
    return {"Authorization": f"Bearer {hall.run.operator_key}"}


async def opened(person: Overseer, text: str, headers: dict[str, str] | None = None) -> str:
    answer = await person.client.post("/api/jury/panels", json={"plan": text}, headers=headers or person.headers)
    assert answer.status_code == 202, answer.text
    found: str = answer.json()["id"]
    return found


async def until(person: Overseer, panel: str, *states: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    async with asyncio.timeout(200):
        while True:
            answer = await person.client.get(f"/api/jury/panels/{panel}", headers=headers or person.headers)
            if answer.status_code == 200 and answer.json()["state"] in states:
                found: dict[str, Any] = answer.json()
                return found
            await asyncio.sleep(0.2)


async def reported(person: Overseer, panel: str, form: str = "json") -> httpx.Response:
    async with asyncio.timeout(200):
        while True:
            answer = await person.client.get(f"/api/jury/panels/{panel}/report?format={form}", headers=person.headers)
            if answer.status_code != 202:
                assert answer.status_code == 200, answer.text
                return answer


async def logged(person: Overseer, session: str) -> list[dict[str, Any]]:
    answer = await person.client.get(f"/api/jury/sessions/{session}/log", headers=person.headers)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def sessions(person: Overseer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await person.client.get("/api/jury/sessions", headers=person.headers)).json()[
        "sessions"
    ]
    return found


async def test_a_panel_is_played_listed_and_reported_to_its_owner_alone(hall: Stack, owner: Overseer) -> None:
    panel = await opened(owner, plan(steps=STEPS + B, compare=["A", "B"]))
    view = await until(owner, panel, "finished")
    assert (view["played"], view["n"], view["missing"], view["stopped"]) == (4, 4, 0, None)
    listed = (await owner.client.get(f"/api/jury/sessions?panel={panel}", headers=owner.headers)).json()["sessions"]
    assert [(each["panel"]["script"], each["panel"]["number"]) for each in listed] == [
        ("A", 1), ("B", 1), ("A", 2), ("B", 2),
    ]  # fmt: skip
    assert len({each["panel"]["seed"] for each in listed}) == 2
    own = await owner.client.post("/api/jury/sessions", json={"language": "en"}, headers=owner.headers)
    assert {each["id"] for each in await sessions(owner)} == {own.json()["id"], *(each["id"] for each in listed)}
    answer = await owner.client.get("/api/jury/sessions?panel=none", headers=owner.headers)
    assert [each["id"] for each in answer.json()["sessions"]] == [own.json()["id"]]
    for each in listed:
        records = await logged(owner, each["id"])
        assert records[0]["data"]["panel"] == each["panel"]
        (read,) = [record["data"] for record in records if record["type"] == "verdict_read"]
        assert (read["contract"], read["chain_id"]) == (None, None)
        assert {(vote["tx_hash"], vote["address"]) for vote in read["votes"]} == {(None, None)}
        assert read["verdict"] == each["verdict"]
    report = (await reported(owner, panel)).json()
    assert {name: found["n"] for name, found in report["scripts"].items()} == {"A": 2, "B": 2}
    assert report["comparison"]["pairs"] == 2
    rows = pq.read_table(io.BytesIO((await reported(owner, panel, "parquet")).content)).to_pylist()
    assert list(rows[0]) == ["script", "seed", "session", "step", "cause", "juror", "before", "after"]
    means = {(found["script"], found["step"]): found["mean"] for found in report["arguments"]}
    for (script, step), mean in means.items():
        moved = [row["after"] - row["before"] for row in rows if (row["script"], row["step"]) == (script, step)]
        assert mean == sum(moved) / 2
    assert "<h1>" in (await reported(owner, panel, "html")).text
    async with Overseer(hall.run.gateway) as stranger:
        lists = {
            name: (await stranger.client.get("/api/jury/panels", headers=headers)).json()["panels"]
            for name, headers in (("owner", owner.headers), ("stranger", stranger.headers), ("all", operators(hall)))
        }
        assert (lists["owner"], lists["stranger"]) == ([view], [])
        assert view in lists["all"]
        for path in (f"panels/{panel}", f"panels/{panel}/report", f"sessions?panel={panel}"):
            assert (await stranger.client.get(f"/api/jury/{path}", headers=stranger.headers)).status_code == 404
        refused = await stranger.client.post(f"/api/jury/panels/{panel}/stop", headers=stranger.headers)
        assert refused.status_code == 404
    for path in ("", "/log", "/verdict", "/transcript"):
        answer = await owner.client.get(f"/api/jury/sessions/{listed[0]['id']}{path}", headers=operators(hall))
        assert answer.status_code == 404  # a person's jury is not the operator's
    chat = await owner.client.post(
        f"/api/jury/sessions/{listed[0]['id']}/chat/radical", json={"text": "Me too."}, headers=owner.headers
    )
    assert (chat.status_code, chat.json()["code"]) == (409, "wrong_phase")
    gone = (await owner.client.delete(f"/api/jury/sessions/{listed[0]['id']}", headers=owner.headers)).json()
    again = await owner.client.get(f"/api/jury/sessions?panel={panel}", headers=owner.headers)
    erased = {"id": listed[0]["id"], "phase": "erased", "erased_at": gone["at"]}
    assert again.json()["sessions"] == [erased, *listed[1:]]


async def test_every_fault_of_a_plan_comes_with_its_line_and_nothing_is_opened(owner: Overseer) -> None:
    text = plan(n=1, compare=["A", "C"])
    for query in ("", "?dry=1"):
        answer = await owner.client.post(f"/api/jury/panels{query}", json={"plan": text}, headers=owner.headers)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_form")
        assert [(fault["line"], fault["field"]) for fault in answer.json()["errors"]] == [
            (2, "plan.n"), (5, "plan.compare[1]"),
        ]  # fmt: skip
    for body in ({}, {"plan": 7}, {"plan": text, "n": 1}):
        answer = await owner.client.post("/api/jury/panels", json=body, headers=owner.headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


async def test_a_dry_run_asks_no_model(owner: Overseer, model: FakeServer) -> None:
    asked = len(model.received)
    text = plan(n=100, steps=STEPS + B, compare=["A", "B"], jurors="fake")
    answer = await owner.client.post("/api/jury/panels?dry=1", json={"plan": text}, headers=owner.headers)
    assert answer.status_code == 200
    found = answer.json()
    assert found["juries"] == 200
    assert found["calls"] >= 200 * 11
    assert found["power"]["power"] == pytest.approx(0.771, abs=0.001)
    assert found["power"]["at_80"] == pytest.approx(0.207)
    assert len(model.received) == asked


@pytest.mark.usefixtures("one_day")
async def test_a_key_that_has_used_up_its_day_stops_its_panel(hall: Stack) -> None:
    async with Overseer(hall.run.gateway) as person:
        panel = await opened(person, plan(n=DAY_SESSIONS + 4))
        view = await until(person, panel, "stopped")
        assert view["stopped"]["by"] == "budget"
        async with asyncio.timeout(120):  # juries that had their place may still be opened
            while len(await sessions(person)) < DAY_SESSIONS:
                await asyncio.sleep(0.1)
        assert len(await sessions(person)) == DAY_SESSIONS
        again = await person.client.post("/api/jury/panels", json={"plan": plan()}, headers=person.headers)
        assert (again.status_code, again.json()["code"]) == (429, "budget_spent")
        assert int(again.headers["retry-after"]) > 0


async def test_an_engine_that_is_killed_in_the_middle_asks_for_nothing_that_is_stored(
    hall: Stack, model: FakeServer
) -> None:
    model.otherwise = Bench()
    async with Overseer(hall.run.gateway) as person:
        panel = await opened(person, plan(n=4, jurors="fake"))
        for more in (8, 25):
            before = len(model.received)
            async with asyncio.timeout(120):
                while len(model.received) < before + more:
                    await asyncio.sleep(0.02)
            hall.kill("trial-engine-1")
        view = await until(person, panel, "finished")
        assert (view["played"], view["missing"]) == (4, 0)
        listed = (await person.client.get(f"/api/jury/sessions?panel={panel}", headers=person.headers)).json()
        for each in listed["sessions"]:
            attempts = [r["data"] for r in await logged(person, each["id"]) if r["type"] == "attempt_made"]
            asked = Counter(json.dumps([a["turn"], a["attempt"]["request"]]) for a in attempts)
            assert set(asked.values()) == {1}
            assert {a["attempt"]["request"]["seed"] for a in attempts} == {each["panel"]["seed"]}


async def test_a_panel_is_stopped_and_resumed(hall: Stack) -> None:
    headers = operators(hall)
    async with Overseer(hall.run.gateway) as person:
        panel = await opened(person, plan(n=60), headers)
        stopped = await person.client.post(f"/api/jury/panels/{panel}/stop", headers=headers)
        assert (stopped.status_code, stopped.json()["stopped"]["by"]) == (200, "owner")
        again = await person.client.post(f"/api/jury/panels/{panel}/stop", headers=headers)
        assert again.json()["state"] == "stopped"
        other = {"plan": plan(n=61)}
        refused = await person.client.post(f"/api/jury/panels/{panel}/resume", json=other, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
        resumed = await person.client.post(f"/api/jury/panels/{panel}/resume", headers=headers)
        assert resumed.json()["state"] == "running"
        assert (await until(person, panel, "finished", headers=headers))["played"] == 60
        over = await person.client.post(f"/api/jury/panels/{panel}/stop", headers=headers)
        assert (over.status_code, over.json()["code"]) == (409, "game_over")


def run(hall: Stack, folder: Path, text: str, *words: str) -> Done:
    (folder / "plan.toml").write_text(text)
    out = () if "--dry" in words else ("--out", str(folder / "out"))
    command = ("jury", "panel", "run", str(folder / "plan.toml"), *out, "--data", str(hall.folder.path), *words)
    environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}
    return playmolt(*command, environment=environment)


def test_a_budget_that_ends_in_the_middle_stops_the_command_and_a_raised_one_goes_on(
    hall: Stack, tmp_path: Path
) -> None:
    def budget(calls: int) -> str:
        return plan(n=6, steps=f"\n[budget]\ncalls = {calls}\n{STEPS}")

    done = run(hall, tmp_path, budget(50))
    assert done.returncode == 1, done.stderr
    first = json.loads((tmp_path / "out" / "panel.json").read_text())
    assert first["stopped"]["by"] == "budget"
    assert 30 <= first["spent"]["calls"] <= 50
    changed = run(hall, tmp_path, budget(5000).replace("n = 6", "n = 7"))
    assert changed.returncode == 2
    assert "Only the budget may change" in changed.stderr
    done = run(hall, tmp_path, budget(5000))
    assert done.returncode == 0, done.stderr
    last = json.loads((tmp_path / "out" / "panel.json").read_text())
    assert (last["stopped"], last["scripts"]["A"]["n"], last["panel"]) == (None, 6, first["panel"])
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(hall, whole, plan(n=6)).returncode == 0
    free = json.loads((whole / "out" / "panel.json").read_text())
    assert (free["arguments"], free["scripts"], free["spent"]) == (last["arguments"], last["scripts"], last["spent"])


def test_without_a_platform_the_engine_of_juries_and_its_chain_start_alone(session_folder: Path) -> None:
    folder = session_folder / "alone"
    folder.mkdir()
    (folder / "plan.toml").write_text(plan(chain="last"))
    command = ("jury", "panel", "run", str(folder / "plan.toml"), "--out", str(folder / "out"))
    environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}
    done = playmolt(*command, "--data", str(folder / "data"), environment=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "out" / "panel.json").read_text())["scripts"]["A"]["n"] == 2
    started = {log.stem for log in (folder / "data" / "logs").glob("*-1.log")}
    assert started == {"postgres-1", "nats-1", "evm-1", "relay-1", "trial-engine-1", "gateway-1", "spectator-1"}


def test_two_runs_never_write_into_one_folder(hall: Stack, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(hall, tmp_path, plan())
    assert done.returncode == 2
    assert "Another run is writing" in done.stderr


def test_a_refused_plan_is_printed_with_file_and_line(hall: Stack, tmp_path: Path) -> None:
    done = run(hall, tmp_path, plan(n=1, seed=-1), "--dry")
    assert done.returncode == 2
    path = tmp_path / "plan.toml"
    assert f"{path}:2: out_of_bounds: n is 1; choose 2 to 500" in done.stderr
    assert f"{path}:3: out_of_bounds: seed is -1" in done.stderr


def test_the_last_jury_votes_on_the_chain_if_the_plan_says_so(hall: Stack, tmp_path: Path) -> None:
    assert run(hall, tmp_path, plan(chain="last")).returncode == 0
    panel = json.loads((tmp_path / "out" / "panel.json").read_text())["panel"]
    answer = httpx.get(f"{hall.run.gateway}/api/jury/sessions?panel={panel}", headers=operators(hall), timeout=60)
    first, last = (each["id"] for each in answer.json()["sessions"])
    for session, on_chain in ((first, False), (last, True)):
        path = f"{hall.run.gateway}/api/jury/sessions/{session}"
        verdict = httpx.get(f"{path}/verdict", headers=operators(hall), timeout=60).json()
        assert (verdict["contract"] is not None, verdict["chain_id"] is not None) == (on_chain, on_chain)
        records = httpx.get(f"{path}/log", headers=operators(hall), timeout=60).text.splitlines()
        assert json.loads(records[0])["data"]["panel"]["id"] == panel
    environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": ""}
    data = ("--data", str(hall.folder.path))
    agreed = playmolt("verify-verdict", last, *data, environment=environment)
    assert (agreed.returncode, agreed.stdout[:5]) == (0, "AGREE")
    without = playmolt("verify-verdict", first, *data, environment=environment)
    assert without.returncode == 2
    assert "voted without a chain" in without.stderr
    checked = playmolt("log", "check", *data, environment=environment)
    assert checked.returncode == 0, checked.stdout
