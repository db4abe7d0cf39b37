"""Agora experiments on a whole platform, with scripted models and with one over HTTP that fails in every way."""

import asyncio
import hashlib
import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner
from playmolt_agora_runner.workers.recent_experiments import FRESH_SECONDS
from playmolt_cli.main import cli

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, fenced, hang, reply, status
from core.tests.waiting import wait_until
from tests.integration.agora.experiment_operator import (
    EXPERIMENTS,
    MEASURED,
    RUNS,
    Counted,
    Gated,
    Operator,
    calls_of,
    plan,
    playmolt_agora,
    said,
    square_plan,
    turns_asked,
    turns_of,
)
from tests.integration.contract import judged
from tests.platforms import Stack

COMMONS = Path(__file__).parents[3] / "docs" / "examples" / "commons"
SLOW = "slow-model"
UNKNOWN = "experiment-00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    """A server on a loop of its own, so that one platform can serve all tests."""
    loop, server = asyncio.new_event_loop(), FakeServer()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
    yield server
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


@pytest.fixture
def server(model: FakeServer) -> FakeServer:
    model.forget()
    model.otherwise = Counted()
    return model


@pytest.fixture(scope="module")
def running(session_folder: Path, model: FakeServer) -> Iterator[Stack]:
    catalogue = session_folder / "agora-models.toml"
    entries = (
        model.toml("fake", input_price=1, output_price=2),
        model.toml("one-at-a-time", model=SLOW, concurrent=1),
        model.toml("impatient", timeout_s=1),
    )
    catalogue.write_text("\n".join(entries))
    own = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_MODELS": str(catalogue)}
    with Stack(session_folder / "agora", ("--only", "agora-runner"), own) as running:
        yield running


def bare(events: list[tuple[str, Any]], ids: dict[str, str]) -> str:
    """Events without ids and measured times."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(inner) for key, inner in value.items() if key not in MEASURED}
        return [without(inner) for inner in value] if isinstance(value, list) else value

    text = json.dumps(without([list(event) for event in events]), sort_keys=True)
    for one, name in ids.items():
        text = text.replace(one, name)
    return text


async def test_the_lock_comes_first_and_every_turn_of_the_matrix_is_taken_once(running: Stack) -> None:
    async with Operator(running) as operator:
        experiment = await operator.finished(square_plan())
        lock, *rest = await operator.records(experiment)
        assert (lock.type, lock.version, rest[-1].type) == ("preregistered", 1, "experiment_finished")
        runs = await operator.runs(experiment)
        planned = {run["run"]: run["turns_planned"] for run in runs}
        assert sorted(planned.values()) == [12, 12, 12, 24, 24, 24]
        for run in runs:
            records = await operator.records(run["run"])
            assert records[0].position > lock.position, "a run was opened before the lock"
            assert (records[-2].type, records[-1].type) == (records[-2].type, "run_ended")
            assert (run["version"], run["hash"]) == (records[-2].version, records[-2].hash)
            taken = [
                (turn["turn"], turn["agent"])
                for turn in turns_of([(r.type, json.loads(bytes(r.data))) for r in records])
            ]
            assert len(taken) == planned[run["run"]]
            assert set(Counter(taken).values()) == {1}
        state = await operator.now(experiment)
        assert state["spent"]["turns"] == state["progress"]["turns_planned"] == sum(planned.values())
        assert state["scripted"] is True


async def test_the_same_plan_and_seed_give_the_same_events(running: Stack) -> None:
    async with Operator(running) as operator:
        told = []
        for _ in range(2):
            experiment = await operator.finished(square_plan(turns=1))
            runs = await operator.runs(experiment)
            ids = {run["run"]: f"{run['cell']}/{run['number']}" for run in runs} | {experiment: "EXPERIMENT"}
            told.append({name: bare(await operator.events(run), ids) for run, name in ids.items() if run != experiment})
        assert told[0] == told[1]
        other = await operator.finished(square_plan(turns=1) | {"seed": "8"})
        run = (await operator.runs(other))[0]
        name = f"{run['cell']}/{run['number']}"
        assert bare(await operator.events(run["run"]), {run["run"]: name, other: "EXPERIMENT"}) != told[0][name]


async def test_a_thought_a_whispers_words_and_the_seed_are_in_no_public_byte(
    running: Stack, server: FakeServer
) -> None:
    seed, thought, words = "seed-4711-secret", "a thought nobody hears", "words for one ear"
    server.otherwise = Counted(said("whisper", "merchant_02", words, thought))
    async with (
        Operator(running) as operator,
        httpx.AsyncClient(base_url=running.run.gateway, timeout=40, event_hooks=judged()) as anybody,
    ):
        experiment = await operator.finished(plan(turns=1) | {"seed": seed})
        run = (await operator.runs(experiment))[0]["run"]
        events = await operator.events(run)
        secrets = (thought, words, seed, events[0][1]["spec"]["seed"])
        assert all(secret in json.dumps([events, seed]) for secret in secrets), "the log has it all"
        feed = await anybody.get(f"{running.run.spectator}/sse/games/{run}")
        paths = (
            f"{RUNS}/{run}/events?limit=500",
            f"/api/games/{run}/state",
            f"/api/games/{run}/events?limit=500",
            RUNS,
        )
        paths += (f"/api/games/{run}/state?at=20", f"/api/games/{run}/stream")
        paths += (f"/api/games/{run}/state?seat=merchant_02", f"/api/games/{run}/state?at=20&seat=merchant_02")
        answers = [feed, *[await anybody.get(path) for path in paths]]
        assert [answer.status_code for answer in answers] == [200] * len(answers)
        for answer in answers:
            for secret in secrets:
                assert secret not in answer.text, answer.url
        seen = [answer.json()["self"]["seen"] for answer in answers[-2:]]
        assert all(seen)
        assert seen[0] != seen[1], "at 20 it had been told less"
        nobody = await anybody.get(f"/api/games/{run}/state?seat=merchant_99")
        assert (nobody.status_code, nobody.json()["code"]) == (404, "not_found")
        told = [json.loads(line[6:]) for line in feed.text.split("\n") if line.startswith("data: ")]
        assert [message["version"] for message in told] == list(range(1, len(told) + 1))
        assert told[-1]["type"] == "run_ended"
        whispers = [message for message in told if message.get("action") == "whisper"]
        assert whispers
        assert {message["content"] for message in whispers} == {None}


async def test_only_the_operator_sees_experiments_and_logs(running: Stack) -> None:
    async with (
        Operator(running) as operator,
        httpx.AsyncClient(base_url=running.run.gateway, timeout=40, event_hooks=judged()) as anybody,
    ):
        experiment = await operator.finished(plan("scripted"))
        run = (await operator.runs(experiment))[0]["run"]
        key = (await anybody.post("/api/agents", json={"name": "curious"})).json()["api_key"]
        routes = [("POST", EXPERIMENTS, plan("scripted")), ("GET", EXPERIMENTS, None)]
        routes += [("GET", f"{EXPERIMENTS}/{experiment}{part}", None) for part in ("", "/runs", "/report", "/bundle")]
        routes += [("POST", f"{EXPERIMENTS}/{experiment}/{what}", {}) for what in ("stop", "resume")]
        routes += [("POST", f"{RUNS}/{run}/fork", {"at": 3, "set": "model=scripted-wild"})]
        for method, path, body in routes:
            nobody = await anybody.request(method, path, json=body)
            assert (nobody.status_code, nobody.json()["code"]) == (401, "unauthorized"), path
            agent = await anybody.request(method, path, json=body, headers={"Authorization": f"Bearer {key}"})
            assert (agent.status_code, agent.json()["code"]) == (403, "operator_only"), path
        for headers in ({}, {"Authorization": f"Bearer {key}"}):
            kept = await anybody.get(f"/api/games/{run}/log", headers=headers)
            assert kept.status_code in (401, 403), "a run's log holds thoughts, so it stays the operator's"
        assert (await operator.call("GET", f"/api/games/{run}/log")).status_code == 200
        unknown = await operator.call("GET", f"{EXPERIMENTS}/{UNKNOWN}")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_a_dry_run_works_a_plan_out_and_a_bad_one_is_refused_field_by_field(running: Stack) -> None:
    async with Operator(running) as operator:
        before = len((await operator.get(EXPERIMENTS))["experiments"])
        dry = await operator.sent(square_plan(), "?dry=1")
        assert (dry.status_code, dry.json()["runs"], dry.json()["turns"]) == (200, 6, 108)
        bad = await operator.sent(plan("nobody") | {"reask": 9})
        assert (bad.status_code, bad.json()["code"]) == (400, "invalid_request")
        assert "reask" in {fault["field"] for fault in bad.json()["errors"]}
        unpriced = await operator.sent(plan("impatient", budget={"money": "1"}))
        assert "budget.money" in {fault["field"] for fault in unpriced.json()["errors"]}
        assert len((await operator.get(EXPERIMENTS))["experiments"]) == before


async def test_every_reply_gets_the_code_of_its_rung(running: Stack, server: FakeServer) -> None:
    act = {"thought": "so", "action": "speak", "target": None, "content": "hi"}
    server.script(
        reply(said()),
        fenced(act),
        reply(said("SPEAK ")),
        reply("no object at all"), reply(said()),
        reply("nothing"), reply("still nothing"),
        reply(said("fly")), reply(said("fly")),
        reply(refusal="I will not"),
    )  # fmt: skip
    async with Operator(running) as operator:
        experiment = await operator.finished(plan())
        events = await operator.events((await operator.runs(experiment))[0]["run"])
        codes = [turn["parse_code"] for turn in turns_of(events)]
        assert codes[:7] == [
            "ok", "ok_fenced", "ok_canonicalised", "reasked", "parse_error", "invalid_action", "refusal",
        ]  # fmt: skip
        assert set(codes[7:]) == {"ok"}
        failed = [data["record"] for kind, data in events if kind == "turn_failed"]
        assert [turn["parse_code"] for turn in failed] == ["parse_error", "invalid_action", "refusal"]
        assert {(turn["action"], turn["success"]) for turn in failed} == {(None, False)}, "never counted as idle"
        assert [turn["attempt"] for turn in turns_of(events)][3:6] == [2, 2, 2]
        kinds = [kind for _, _, kind in turns_asked(server)]
        assert Counter(kinds)["repair"] == 3
        assert "no object at all" in json.dumps(server.received[4].body["messages"]), (
            "the second question shows the first"
        )
        assert len(calls_of(events)) == len(server.received), "every call is an event of its own"


async def test_a_model_that_never_answers_in_time_costs_its_turn(running: Stack, server: FakeServer) -> None:
    server.script(*[hang()] * 4)
    async with Operator(running) as operator:
        experiment = await operator.finished(plan("impatient"))
        turns = turns_of(await operator.events((await operator.runs(experiment))[0]["run"]))
        assert [turn["parse_code"] for turn in turns] == ["timeout"] + ["ok"] * 11
        assert turns[0]["attempt"] == 4


@pytest.mark.parametrize(
    ("first", "raised"),
    [
        ({"calls": 5}, {"calls": 12}),
        ({"tokens": 20_000}, {"tokens": 4_000_000}),
        ({"money": "0.02"}, {"money": "3"}),
        ({"per_run": {"calls": 5}}, {"per_run": {"calls": 12}}),
    ],
    ids=["calls", "tokens", "money", "calls of a run"],
)
async def test_a_budget_stops_before_it_is_overrun_and_a_raised_one_goes_on(
    running: Stack, server: FakeServer, first: Any, raised: Any
) -> None:
    server.otherwise = Counted(usage=(2500, 400))
    async with Operator(running) as operator:
        experiment = await operator.open(plan(budget=first))
        state = await operator.until(experiment, "budget_stopped")
        asked, spent = len(server.received), state["spent"]
        assert 0 < asked < 12
        assert spent["calls"] == asked, "what was spent is told when it is told that it is spent"
        if "calls" in first:
            assert asked == 5
        assert spent["tokens"] <= first.get("tokens", spent["tokens"])
        assert Decimal(spent["cost"]) <= Decimal(first.get("money", spent["cost"]))
        same = await operator.post(experiment, "resume", {"budget": {"calls": 1, "tokens": 1}})
        assert same.status_code == 400, "a budget is raised, not lowered"
        assert (await operator.post(experiment, "resume", {"budget": raised, "reason": "more"})).status_code == 200
        state = await operator.until(experiment, "finished")
        assert len(server.received) == 12
        assert set(Counter(turns_asked(server)).values()) == {1}, "nothing is asked twice"
        told = {deviation["field"]: deviation["count"] for deviation in state["deviations"]}
        assert told == {"answered.fake": 12, "budget": None}, "the server answers as fake-model-1"
        types = [kind for kind, _ in await operator.events(experiment)]
        after = types[types.index("budget_stopped") + 1 :]
        assert after.index("deviation") < after.index("resumed")


async def test_repeats_of_a_call_stay_within_the_budget(running: Stack, server: FakeServer) -> None:
    server.script(*[status(500)] * 3)
    async with Operator(running) as operator:
        experiment = await operator.open(plan(budget={"calls": 2}))
        await operator.until(experiment, "budget_stopped")
        assert len(server.received) == 2
        run = (await operator.runs(experiment))[0]["run"]
        outcomes = [data["call"]["outcome"] for data in calls_of(await operator.events(run))]
        assert outcomes == ["server_error"] * 2, "calls that came to nothing are logged all the same"


async def test_a_model_that_is_away_pauses_its_runs_and_never_fills_turns(running: Stack, server: FakeServer) -> None:
    seen = False

    def answer(_: ReceivedRequest) -> Canned:
        """It is away until everybody's view of a pause was looked at, each pause longer than the one before it."""
        return reply(said()) if seen else status(503, retry_after="0")

    server.script(reply(said()))
    server.otherwise = answer
    async with (
        Operator(running) as operator,
        httpx.AsyncClient(base_url=running.run.gateway, timeout=60, event_hooks=judged()) as anybody,
    ):
        experiment = await operator.open(plan())
        run = (await operator.runs(experiment))[0]["run"]
        await operator.until_event(run, "run_paused")
        early = await anybody.get(f"/api/games/{run}/state?seat=merchant_01")
        assert (early.status_code, early.json()["code"]) == (409, "not_finished")
        asked = ["agora", "status", experiment, "--json", "--data", str(running.folder.path)]

        async def shown() -> Any:
            """What two readers see of one pause; None if it ended meanwhile."""
            state = (await anybody.get(f"/api/games/{run}/state")).json()
            line = next(line for line in (await anybody.get(RUNS)).json()["runs"] if line["game_id"] == run)
            printed = await asyncio.to_thread(CliRunner().invoke, cli, asked, env={"DATABASE_URL": ""})
            assert printed.exit_code == 0, printed.output
            later = (await anybody.get(f"/api/games/{run}/state")).json()
            one_pause = state["paused"] == "model_away" and later["version"] == state["version"]
            return (line, json.loads(printed.stdout)["runs"]) if one_pause else None

        line, runs = await wait_until(shown, 180)
        seen = True
        assert line["phase"] == "paused", "everybody sees it"
        (standing,) = runs
        assert (standing["run"], standing["status"]) == (run, "open")
        assert "503" in standing["paused"]["reason"]
        assert standing["paused"]["until"].endswith("Z")
        state = await operator.until(experiment, "finished")
        assert state["prompt_cut"]["fake"] >= 10, "ten tokens are no whole prompt"
        asked = ["doctor", "--json", "--data", str(running.folder.path)]
        told = await asyncio.to_thread(CliRunner().invoke, cli, asked, env={"DATABASE_URL": "", "NATS_URL": ""})
        faults = [finding for finding in json.loads(told.stdout)["findings"] if not finding["well"]]
        told_of = {(fault["name"], fault["detail"].partition(":")[0]) for fault in faults}
        assert ("model fake", "prompt_cut") in told_of
        assert {what for _, what in told_of} == {"prompt_cut"}
        events = await operator.events(run)
        kinds = [kind for kind, _ in events]
        pauses = kinds.count("run_paused")
        assert (kinds.count("run_resumed"), kinds.count("turn_failed")) == (pauses, 0)
        assert len(turns_of(events[: kinds.index("run_paused")])) == 1
        outcomes = Counter(data["call"]["outcome"] for data in calls_of(events))
        assert outcomes == {"ok": 12, "server_error": 4 * pauses}


async def test_a_setting_that_a_server_rejects_stops_the_plan(running: Stack, server: FakeServer) -> None:
    server.rejects = {"json_schema"}
    try:
        async with Operator(running) as operator:
            experiment = await operator.open(plan(decoding="json_schema"))
            state = await operator.until(experiment, "stopped")
            assert "json_schema" in state["reason"]
            run = (await operator.runs(experiment))[0]["run"]
            assert turns_of(await operator.events(run)) == []
    finally:
        server.rejects = set()


async def test_a_stop_is_heeded_and_a_resume_goes_on_where_it_was(running: Stack, server: FakeServer) -> None:
    async with Operator(running) as operator:
        with Gated(free=2) as server.otherwise:
            experiment = await operator.open(plan(turns=2))
            await wait_until(lambda: len(server.received) == 3, 60)
            assert (await operator.post(experiment, "stop", {"reason": "lunch"})).status_code == 200
            await asyncio.sleep(FRESH_SECONDS)  # a worker that read the experiment before it goes on for as long
        async with asyncio.timeout(120):
            run = (await operator.runs(experiment))[0]["run"]
            while (await operator.get(f"/api/games/{run}/state"))["paused"] != "stopped":
                await asyncio.sleep(0.05)
        assert len(server.received) < 24
        assert (await operator.now(experiment))["reason"] == "lunch"
        assert (await operator.post(experiment, "resume", {})).status_code == 200
        await operator.until(experiment, "finished")
        kinds = [kind for kind, _ in await operator.events(run)]
        assert kinds.index("run_resumed") == kinds.index("run_paused") + 1, "no turn begins after a stop"
        assert len(server.received) == 24
        assert set(Counter(turns_asked(server)).values()) == {1}


async def test_an_experiment_does_not_wait_for_a_run_that_the_operator_ends(running: Stack, server: FakeServer) -> None:
    async with Operator(running) as operator:
        with Gated(free=1) as server.otherwise:
            experiment = await operator.open(plan(turns=2, runs=2))
            first = (await operator.runs(experiment))[0]["run"]
            await operator.until_event(first, "agent_acted")
            ended = await operator.call("POST", f"/api/admin/games/{first}/end", {"reason": "enough"})
            assert ended.status_code == 200
        await operator.until(experiment, "finished")
        outcomes = {run["run"]: run["outcome"] for run in await operator.runs(experiment)}
        assert (outcomes.pop(first), set(outcomes.values())) == ("aborted", {"completed"})


async def test_an_experiment_does_not_wait_for_a_run_that_is_ended_while_nobody_is_at_it(
    running: Stack, server: FakeServer
) -> None:
    async with Operator(running) as operator:
        with Gated(free=1) as server.otherwise:
            experiment = await operator.open(plan(turns=2, runs=2))
            first = (await operator.runs(experiment))[0]["run"]
            await operator.until_event(first, "agent_acted")
            await operator.post(experiment, "stop", {"reason": "a look"})
            await asyncio.sleep(FRESH_SECONDS)
        await operator.until_event(first, "run_paused")
        ended = await operator.call("POST", f"/api/admin/games/{first}/end", {"reason": "enough"})
        assert ended.status_code == 200
        await operator.post(experiment, "resume", {})
        await operator.until(experiment, "finished")
        outcomes = {run["run"]: run["outcome"] for run in await operator.runs(experiment)}
        assert (outcomes.pop(first), set(outcomes.values())) == ("aborted", {"completed"})


async def test_an_operator_ends_an_experiment_with_its_runs(running: Stack, server: FakeServer) -> None:
    async with Operator(running) as operator:
        with Gated(free=1) as server.otherwise:
            experiment = await operator.open(plan(turns=2, runs=2))
            runs = [run["run"] for run in await operator.runs(experiment)]
            for run in runs:  # one that is not opened yet would have nothing to end
                await operator.until_event(run, "agent_acted")
            seen = await operator.get(f"/api/admin/games/{experiment}")
            assert (seen["gameType"], seen["phase"], seen["needed"]) == ("experiment", "running", 2)
            ended = await operator.call("POST", f"/api/admin/games/{experiment}/end", {"reason": "enough"})
            assert (ended.status_code, ended.json()["phase"]) == (200, "aborted")
        for run in runs:
            await operator.until_event(run, "game_aborted")
        again = await operator.call("POST", f"/api/admin/games/{experiment}/end", {"reason": "enough"})
        assert (again.status_code, again.json()["code"]) == (409, "game_over")
        listed = await operator.get("/api/admin/games?gameType=experiment&phase=aborted")
        assert experiment in {line["game_id"] for line in listed["games"]}


async def test_an_end_stops_a_judge_and_closes_the_stream(running: Stack, server: FakeServer) -> None:
    asked, gate = Counter[str](), threading.Event()

    def answers(request: ReceivedRequest) -> Canned:
        judge = request.turn.startswith("experiment-")
        asked["judge" if judge else "turn"] += 1
        answer = reply('{"survival": false, "social": true}' if judge else said(), usage=(10, 5))
        return msgspec.structs.replace(answer, gate=gate) if judge or asked["turn"] > 4 else answer

    server.otherwise = answers
    async with Operator(running) as operator:
        experiment = await operator.open(plan(turns=2))
        run = (await operator.runs(experiment))[0]["run"]
        await wait_until(lambda: asked["turn"] == 5, 60)
        assert (await operator.post(experiment, "judge", {"model": "fake", "turns": "all"})).status_code == 200
        await wait_until(lambda: asked["judge"] > 0, 60)
        ended = await operator.call("POST", f"/api/admin/games/{experiment}/end", {"reason": "enough"})
        assert ended.status_code == 200
        gate.set()
        await operator.until_event(run, "game_aborted")
        judge = (await operator.get(f"{EXPERIMENTS}/{experiment}/codings"))["judges"][0]
        assert (judge["status"], asked["turn"]) == ("stopped", 5)
        kinds = [kind for kind, _ in await operator.events(experiment)]
        assert kinds[-2:] == ["judging_ended", "game_aborted"]


async def test_a_models_limits_hold_over_all_runs(running: Stack, server: FakeServer) -> None:
    server.otherwise = Counted(delay=0.05)
    async with Operator(running) as operator:
        await operator.finished(plan("one-at-a-time", runs=2))
        begun = [asked.at for asked in server.received]
        assert len(begun) == 24
        assert min(later - earlier for earlier, later in pairwise(begun)) >= 0.05


def by_hand(running: Stack, *arguments: str) -> tuple[int, str, str]:
    """Run a command of `playmolt agora` beside the platform to its end; gives exit status and what it said."""
    with playmolt_agora(*arguments, "--data", str(running.folder.path)) as command:
        out, err = command.communicate(timeout=150)
    return command.returncode, out, err


def test_a_person_interrupts_a_run_takes_it_up_again_and_branches_off(
    running: Stack, server: FakeServer, folder: Path
) -> None:
    server.otherwise = Counted(delay=1)  # rooms wait for each other: it takes far longer than a person to interrupt it
    text = json.dumps(plan(turns=12) | {"name": "by hand"})
    file = folder / "plan.yaml"
    file.write_text(text)
    with playmolt_agora("run", str(file), "--data", str(running.folder.path), "--json") as first:
        assert first.stderr is not None
        assert "locked" in first.stderr.readline()
        first.send_signal(signal.SIGINT)
        out, err = first.communicate(timeout=120)
    assert (first.returncode, out) == (130, "")
    assert "Run the same command to continue" in err

    server.otherwise = Counted()
    code, out, err = by_hand(running, "run", str(file), "--json")
    assert code == 0, err
    experiment = json.loads(out)["experiment"]
    assert "finished: runs 1/1, turns 144/144" in err
    file.write_text(
        "# another budget is the same plan\n" + json.dumps(json.loads(text) | {"budget": {"calls": 100_000}})
    )
    code, out, err = by_hand(running, "run", str(file))
    assert (code, experiment in out, "running" in out) == (0, True, False), "a finished experiment is left alone"

    with httpx.Client(
        base_url=running.run.gateway, headers={"Authorization": f"Bearer {running.run.operator_key}"}, timeout=60
    ) as one:
        parent = one.get(f"{EXPERIMENTS}/{experiment}/runs").json()["runs"][0]["run"]
        change = ("fork", parent, "--at", "100", "--set", "model=scripted-wild")
        code, out, err = by_hand(running, *change, "--json")
        assert code == 0, err
        fork = json.loads(out)
        assert fork["experiment"] == experiment
        code, out, _ = by_hand(running, *change, "--json")
        assert (code, json.loads(out)) == (0, fork), "the same fork is made once"
        runs = {run["run"]: run for run in one.get(f"{EXPERIMENTS}/{experiment}/runs").json()["runs"]}
        assert (len(runs), runs[fork["run"]]["parent"], runs[fork["run"]]["status"]) == (2, parent, "finished")
    for at, change_, fault in (
        ("9999", "model=scripted", "the run's version"),
        ("100", "colour=blue", "is not a change"),
    ):
        code, _, err = by_hand(running, "fork", parent, "--at", at, "--set", change_)
        assert (code, fault in err) == (2, True), err


async def test_pcs_is_looked_at_on_the_way_and_every_look_is_logged(running: Stack, server: FakeServer) -> None:
    compared = {arm: {"runs": 1, "turns": 1} for arm in ("stage1", "phase1")}
    async with Operator(running) as operator:
        with Gated(model=SLOW) as server.otherwise:  # nothing ends before the look that the test waits for
            experiment = await operator.open(plan() | {"models": ["fake", "one-at-a-time"], "phases": compared})
            state = await operator.now(experiment)
            assert (state["pcs_cells"], state["looks"]) == (["phase1/fake/en", "phase1/one-at-a-time/en"], [])
            async with asyncio.timeout(100):
                figure: dict[str, Any] = {}
                while (figure.get("n_stage1"), figure.get("n_phase1")) != (12, 12):  # when all of its agents have acted
                    looked = await operator.post(experiment, "look")
                    assert looked.status_code == 200
                    state = looked.json()
                    figure = state["looks"][-1]["pcs"].get("phase1/fake/en", {}) if state["looks"] else {}
        assert (figure["pcs"], state["looks"][-1]["turns"] >= 24) == ("0", True)
        state = await operator.until(experiment, "finished")
        assert (await operator.post(experiment, "look")).json()["looks"] == state["looks"], "the report has them now"
        kinds = [kind for kind, _ in await operator.events(experiment)]
        assert (kinds.count("pcs_seen"), kinds[-1]) == (len(state["looks"]), "experiment_finished")
        without = await operator.finished(plan())
        assert (await operator.post(without, "look")).status_code == 400


async def test_files_are_put_under_their_hash_and_a_plan_names_them(running: Stack, server: FakeServer) -> None:
    texts = {
        path.relative_to(COMMONS).as_posix(): path.read_text("utf-8")
        for path in COMMONS.rglob("*.*")
        if path.name != "plan.yaml"
    }
    named = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}
    room = {"name": "pasture", "world": "pasture", "runs": 1, "turns": 1, "seats": [{"persona": "elder", "count": 2}]}
    body = plan("scripted") | {"phases": {}, "rooms": [room], "measures": []}
    async with Operator(running) as operator:
        early = await operator.call("POST", EXPERIMENTS, {"plan": body, "files": named})
        assert (early.status_code, early.json()["code"]) == (400, "invalid_request")
        assert {fault["field"] for fault in early.json()["errors"]} == {f"files.{path}" for path in texts}
        for path, text in texts.items():
            for _ in range(2):
                assert (await put(running, text, named[path])).status_code == 204
        for text, sha256, key in (("a", named["worlds/pasture.toml"], None), ("x" * 61_441, "0" * 64, None)):
            refused = await put(running, text, sha256, key)
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")
        assert (await put(running, "a", hashlib.sha256(b"a").hexdigest(), "nobody")).status_code == 401
        experiment = await operator.open({"plan": body, "files": named})
        state = await operator.until(experiment, "finished")
        locked = {file["path"]: file["sha256"] for file in state["folder"]["files"]}
        assert locked == {path: named[path] for path in ("personas/elder.toml", "worlds/pasture.toml")}
        assert state["spent"]["turns"] == 2


TRUST = {
    "id": "trust",
    "at": [0, 1, 2],
    "ask": {"ko": "이웃을 얼마나 믿습니까?", "en": "How much do you trust your neighbours?"},
    "scale": {"from": 1, "to": 7},
}


class Echo:
    """A model whose every reply follows from all that it was asked, so that one byte more would change all that
    follows."""

    def __call__(self, asked: ReceivedRequest) -> Canned:
        digest = hashlib.sha256(json.dumps(asked.body, sort_keys=True).encode()).hexdigest()
        if " interview:" in asked.turn:
            return reply(json.dumps({"answer": 1 + int(digest, 16) % 7}), usage=(10, 5))
        return reply(said(content=digest[:12]), usage=(10, 5))


@pytest.mark.parametrize("decoding", ["prompt", "json_schema"])
async def test_no_request_of_a_turn_differs_by_a_byte_where_questions_are_asked_aside(
    running: Stack, server: FakeServer, decoding: str
) -> None:
    server.otherwise = Echo()
    bodies: list[dict[str, Any]] = []
    async with Operator(running) as operator:
        for interviews in ([], [TRUST]):
            body = plan(turns=2, runs=2) | {"interviews": interviews, "decoding": decoding}
            dry = (await operator.sent(body, "?dry=1")).json()
            server.forget()
            server.otherwise = Echo()
            experiment = await operator.finished(body)
            state = await operator.now(experiment)
            runs = {run["run"]: run["number"] for run in await operator.runs(experiment)}
            assert state["spent"]["calls"] == dry["calls"] == len(server.received)
            assert Decimal(state["spent"]["cost"]) <= Decimal(dry["cost"])
            asked = [(*each.turn.split(" "), each.body) for each in server.received]
            bodies.append({f"{runs[run]} {turn} {kind}": sent for run, turn, kind, sent in asked})
        without, with_them = bodies
        aside = {name for name in with_them if " interview:" in name}
        assert len(aside) == 2 * 12 * 3
        assert {name: sent for name, sent in with_them.items() if name not in aside} == without
        for run in runs:
            events = await operator.events(run)
            answers = [data for kind, data in events if kind == "interviewed"]
            assert {answer["parse_code"] for answer in answers} == {"ok"}
            assert [answer["turn"] for answer in answers] == [0] * 12 + [1] * 12 + [2] * 12
            assert all(answer["usage"]["prompt_tokens"] == 10 and answer["cost"] == "0.00002" for answer in answers)


async def put(running: Stack, text: str, sha256: str, key: str | None = None) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key or running.run.operator_key}", "Content-Type": "text/plain"}
    async with httpx.AsyncClient(base_url=running.run.gateway, headers=headers, timeout=60) as client:
        return await client.put(f"/api/agora/files/{sha256}", content=text.encode())


async def test_a_fork_replays_without_calls_and_goes_on_with_one_change(running: Stack, server: FakeServer) -> None:
    async with Operator(running) as operator:
        experiment = await operator.finished(plan())
        parent = (await operator.runs(experiment))[0]["run"]
        before = await operator.events(parent)
        at = [place for place, (kind, _) in enumerate(before, 1) if kind == "agent_acted"][5]
        asked = len(server.received)
        body = {"at": at, "set": "model=scripted-wild"}
        made = await operator.call("POST", f"{RUNS}/{parent}/fork", body, **{"Idempotency-Key": "fork"})
        again = await operator.call("POST", f"{RUNS}/{parent}/fork", body, **{"Idempotency-Key": "fork"})
        assert (made.status_code, again.status_code, again.json()["run"]) == (201, 200, made.json()["run"])
        await operator.until(experiment, "finished")
        runs = {run["run"]: run for run in await operator.runs(experiment)}
        fork = runs[made.json()["run"]]
        assert (len(runs), fork["parent"], fork["exploratory"]) == (2, parent, True)
        events = await operator.events(fork["run"])
        replayed = [data["record"] for kind, data in before[:at] if kind == "agent_acted"]
        taken = turns_of(events)
        assert len(taken) == 12
        assert [(turn["agent"], turn["content"]) for turn in taken[:6]] == [
            (turn["agent"], turn["content"]) for turn in replayed
        ]
        assert {turn["model"] for turn in taken[6:]} == {"scripted-wild"}
        assert (len(server.received), fork["spent"]["turns"]) == (asked, 6), (
            "what is replayed is neither asked nor counted"
        )
        assert await operator.events(parent) == before, "a fork changes nothing of its parent"
        silent = await operator.call("POST", f"{RUNS}/{parent}/fork", {"at": 1, "set": "content=hi"})
        assert (silent.status_code, silent.json()["errors"][0]["field"]) == (400, "set"), silent.text
        assert len(await operator.runs(experiment)) == 2, "no fork was scheduled"
        beyond = await operator.call("POST", f"{RUNS}/{parent}/fork", {"at": 10_000, "set": "model=scripted"})
        assert (beyond.status_code, beyond.json()["code"]) == (400, "invalid_request")
        no_run = await operator.call("POST", f"{RUNS}/{experiment}/fork", {"at": 3, "set": "model=scripted"})
        assert (no_run.status_code, no_run.json()["code"]) == (404, "not_found")


async def test_a_content_filter_refuses_turns_and_never_ends_a_plan(running: Stack, server: FakeServer) -> None:
    """As services tell it: by the status and body of an error, or by the end of a reply."""
    filters = [
        status(400, "The response was filtered.", error="content_filter"),
        status(400, "Request blocked: PROHIBITED_CONTENT"),
        status(403, "Input was flagged by moderation"),
        status(500, "Output blocked by content filtering policy"),
    ]
    asked = 0

    def answer(_: Any) -> Any:
        nonlocal asked
        asked += 1
        return filters[asked // 3 % len(filters)] if asked % 3 == 0 else reply(said())

    server.otherwise = answer
    async with Operator(running) as operator:
        experiment = await operator.finished(plan(turns=2))
        [run] = await operator.runs(experiment)
        turns = turns_of(await operator.events(run["run"]))
        assert Counter(turn["parse_code"] for turn in turns) == {"ok": 16, "refusal": 8}
        assert asked == 24, "nothing is asked again"
        assert {turn["cost"] for turn in turns if turn["parse_code"] == "refusal"} == {"0"}
        state = await operator.now(experiment)
        assert (state["spent"]["failed_calls"], state["spent"]["unknown_calls"]) == (8, 0)


async def test_a_model_without_a_valid_turn_pauses_its_run_until_it_is_resumed(
    running: Stack, server: FakeServer
) -> None:
    server.otherwise = Counted("no object at all")
    async with Operator(running) as operator:
        experiment = await operator.open(plan(turns=2, reask=0))
        [run] = await operator.runs(experiment)
        await operator.until_event(run["run"], "run_paused")
        paused = [data for kind, data in await operator.events(run["run"]) if kind == "run_paused"]
        assert [(each["code"], "0 of 20 turns valid" in each["detail"]) for each in paused] == [("no_valid_turn", True)]
        assert len(server.received) == 20
        server.otherwise = Counted()
        assert (await operator.post(experiment, "resume")).status_code == 200
        await operator.until(experiment, "finished")
        assert len(turns_of(await operator.events(run["run"]))) == 24
