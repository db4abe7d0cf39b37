"""Games, sessions and an experiment as logs of Inspect: read by its library, shown by its viewer, scanned by Scout."""

import functools
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playmolt.client import Client
from playmolt_schemas.routes import jury, legal

from tests.browser.conftest import WAIT_MS, launched
from tests.clients.parquet_values import differences
from tests.integration.legal.command import playmolt
from tests.integration.legal.person import LEASE
from tests.platforms import Stack

HERE = Path(__file__).parent
SECONDS = 200
SECRET = "a choice that is nobody's business yet"
PLAN = {
    "name": "inspected", "seed": "7", "models": ["scripted-steady", "scripted-wild"], "languages": ["en"],
    "exploratory": True, "phases": {"stage1": {"runs": 1, "turns": 2}},
}  # fmt: skip
FORMS: tuple[dict[str, Any], ...] = (
    {"focus_issues": [], "goal": "risk_minimization", "stance": "neutral"},
    {
        "proof_priority": "the handover", "evidence_level": "weak", "obtainable_evidence": ["record"],
        "constraints": ["budget_cap"], "settlement_interest": False,
    },
    {"gate": "end", "resolution": "final_report", "report_style": "settlement"},
)  # fmt: skip


class Exported(NamedTuple):
    """A platform, what was played on it, and the folder of the logs."""

    stack: Stack
    ids: dict[str, str]
    logs: Path
    found: dict[str, Any]
    """Task → log, as Inspect reads it."""

    def key(self, game: str) -> str:
        return (self.stack.folder.path / f"{game}-key").read_text().strip()


def export(python: Path, stack: Stack, out: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [python, "-m", "playmolt_cli.main", "inspect", "export", *words, "--out", out]
    command += ["--data", str(stack.folder.path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def _game(stack: Stack, game: str) -> str:
    seats = json.loads(playmolt(stack, "bots", game, "--n", {"ox": "5", "trial": "6"}[game], "--json"))
    return str(seats[0]["game_id"])


def _jury(stack: Stack) -> str:
    played = json.loads(playmolt(stack, "jury", "play", "--auto", "--language", "en", "--aim", "guilty", "--json"))
    return str(played["session"]["id"])


def _legal(stack: Stack, folder: Path) -> str:
    opening = ("--case-type", "civil", "--jurisdiction", "KR", "--title", "Deposit", "--language", "en")
    session = json.loads(playmolt(stack, "legal", "new", *opening, "--model", "scripted", "--json"))["id"]
    (folder / "facts.json").write_text(json.dumps(LEASE), "utf-8")
    playmolt(stack, "legal", "facts", "--file", str(folder / "facts.json"), "--json")
    gate = json.loads(playmolt(stack, "legal", "gate", "--json"))
    for form in (FORMS[0] | {"focus_issues": gate["issues"][:1]}, *FORMS[1:]):
        playmolt(stack, "legal", "gate", "--form", json.dumps(form), "--json")
    return str(session)


def _experiment(stack: Stack, folder: Path) -> str:
    (folder / "plan.yaml").write_text(json.dumps(PLAN), "utf-8")
    ran = json.loads(playmolt(stack, "agora", "run", str(folder / "plan.yaml"), "--json"))["experiment"]
    playmolt(stack, "agora", "judge", ran, "--model", "scripted-wild", "--json")
    return str(ran)


@pytest.fixture(scope="module")
def exported(platform: Stack, inspect_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("inspect")
    with ThreadPoolExecutor(5) as threads:
        playing = {
            "ox": threads.submit(_game, platform, "ox"), "trial": threads.submit(_game, platform, "trial"),
            "jury": threads.submit(_jury, platform), "legal": threads.submit(_legal, platform, folder),
            "experiment": threads.submit(_experiment, platform, folder),
        }  # fmt: skip
        ids = {name: each.result(SECONDS) for name, each in playing.items()}
    logs = folder / "logs"
    done = export(inspect_python, platform, logs, *ids.values())
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == sorted(str(path) for path in logs.iterdir())
    return Exported(platform, ids, logs, {each["task"]: each for each in _read(inspect_python, logs)})


def _read(python: Path, logs: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [python, HERE / "inspect_reader.py", logs], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_each_log_is_its_own(exported: Exported) -> None:
    assert set(exported.found) == set(exported.ids)
    for task, log in exported.found.items():
        assert (log["eval_id"], log["status"]) == (exported.ids[task], "success")
        assert log["listed"] == exported.ids[task].partition("-")[2].replace("-", ""), "Inspect's lister knows it"
        for sample in log["samples"]:
            assert sample["times"] == sorted(sample["times"]), "in order"


def test_a_game_has_what_each_seat_said_and_its_results(exported: Exported) -> None:
    with Client(exported.stack.run.gateway) as client:
        events = {task: list(client.events(exported.ids[task])) for task in ("ox", "trial")}
    spoken = [f"{each['name']}: {each['text']}" for each in events["trial"] if each["type"] == "speak"]
    for task, told in events.items():
        log = exported.found[task]
        [sample] = log["samples"]
        assert sample["id"] == exported.ids[task]
        assert (log["model"], sample["models"]) == ("none/none", []), "bots from outside have no model events of ours"
        results = told[-1]["results"]
        assert sample["scores"]["points"] == {each["name"]: each["points"] for each in results}
        assert log["results"]["points"] == {each["name"]: each["points"] for each in results}
    said = [text for role, text, _ in exported.found["trial"]["samples"][0]["messages"] if role == "assistant"]
    assert [text for text in said if text in spoken] == spoken
    [sample] = exported.found["ox"]["samples"]
    choices = [each for event in events["ox"] if event["type"] == "reveal" for each in event["choices"]]
    revealed = [about for _, _, about in sample["messages"] if about["type"] == "reveal"]
    assert [about["agent_id"] for about in revealed] == [each["agent_id"] for each in choices]
    texts = [text for _, text, about in sample["messages"] if about["type"] == "reveal"]
    assert texts == [f"{each['name']}: choice: {each['choice']}\ncomment: {each['comment']}" for each in choices]


def _log(exported: Exported, game: str) -> list[dict[str, Any]]:
    route = {"jury": jury.LOG, "legal": legal.READ_LOG}[game]
    with Client(exported.stack.run.gateway, exported.key(game)) as client:
        records = client.call(route, exported.ids[game])
    return [{"type": each.type, **json.loads(bytes(each.data))} for each in records]


def _calls(attempts: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (
            [message["content"] for message in each["request"]["messages"]], each["reply"],
            each["usage"]["prompt_tokens"], each["usage"]["completion_tokens"],
        )
        for each in attempts
    ]  # fmt: skip


def _called(models: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [
        (each["input"], each["reply"], each["usage"]["input_tokens"], each["usage"]["output_tokens"]) for each in models
    ]


def test_a_jury_has_its_calls_tools_and_verdict(exported: Exported) -> None:
    stored = _log(exported, "jury")
    [sample] = exported.found["jury"]["samples"]
    attempts = [each for each in stored if each["type"] == "attempt_made"]
    assert _called(sample["models"]) == _calls([each["attempt"] for each in attempts])
    for call, attempt in zip(sample["models"], attempts, strict=True):
        kind, _, rest = attempt["turn"].partition(":")
        agent = "classifier" if kind == "classify" else rest.partition(":")[0]
        assert (call["agent"], call["role"], call["model"]) == (agent, agent, "scripted")
    used = [each for each in stored if each["type"] == "tool_called"]
    assert used
    found = [(each["agent"], each["function"], each["arguments"], each["result"]) for each in sample["tools"]]
    wanted = [(each["juror_id"], each["tool"], each["input"], each["result"]) for each in used]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    assert {each["id"] for each in sample["tools"]} <= set(sample["asked"])
    said = [text for role, text, _ in sample["messages"] if role == "assistant"]
    spoken = [each for each in stored if each["type"] in ("juror_said", "speech")]
    assert said == [f"{each['juror_id']}: {each['text']}" for each in spoken]
    verdict = next(each for each in stored if each["type"] == "verdict_read")
    assert sample["scores"]["verdict"] == verdict["verdict"]
    assert sample["scores"]["stance"] == {each["juror_id"]: each["stance"] for each in verdict["votes"]}
    assert sample["scores"]["guilty"] == {each["juror_id"]: each["guilty"] for each in verdict["votes"]}
    usages = [each["attempt"]["usage"] for each in attempts]
    assert exported.found["jury"]["usage"] == {
        "scripted": sum(usage["prompt_tokens"] + usage["completion_tokens"] for usage in usages)
    }


def test_a_legal_session_has_what_each_role_said(exported: Exported) -> None:
    stored = _log(exported, "legal")
    [sample] = exported.found["legal"]["samples"]
    attempts = [each for each in stored if each["type"] == "attempt_made"]
    assert _called(sample["models"]) == _calls([each["attempt"] for each in attempts])
    roles = [each["phase"].partition("_R")[0].lower() for each in attempts]
    assert [each["agent"] for each in sample["models"]] == roles
    turns = [each["phase"] for each in stored if each["type"] == "turn_recorded"]
    said = [about["phase"] for role, _, about in sample["messages"] if role == "assistant"]
    assert said == turns
    assert sum(role == "user" for role, _, _ in sample["messages"]) == 4, "facts and three gates"


def test_an_experiment_has_a_sample_for_each_run_and_its_prompts(exported: Exported) -> None:
    log = exported.found["experiment"]
    assert len(log["samples"]) == 2
    for sample in log["samples"]:
        turns = [each for each in sample["models"] if each["role"] != "classifier"]
        assert len(turns) >= 24
        for call in turns:
            assert len(call["input"]) >= 2, "the prompt, which the log names by its hash"
            assert all(call["input"]), call["agent"]
            assert call["usage"]["input_tokens"] > 0
        agents = {about["agent"] for _, _, about in sample["messages"]}
        assert agents == {each["agent"] for each in turns}
        assert sample["scores"]["outcome"] == "completed"
        assert 0 < sample["scores"]["valid_turns"] <= 1
    judged = [each for sample in log["samples"] for each in sample["models"] if each["role"] == "classifier"]
    assert judged
    assert {each["agent"] for each in judged} == {"scripted-wild"}


def test_every_reader_of_parquet_finds_equal_values_in_its_bundle(
    exported: Exported, foreign_python: Path, tmp_path: Path
) -> None:
    playmolt(exported.stack, "agora", "export", exported.ids["experiment"], "--out", str(tmp_path / "bundle"))
    tables = sorted((tmp_path / "bundle").glob("*.parquet"))
    assert len(tables) > 20
    assert differences(foreign_python, tables) == []


def test_scout_scans_them(exported: Exported, inspect_python: Path) -> None:
    done = subprocess.run(
        [inspect_python, HERE / "inspect_scanner.py", exported.logs], capture_output=True, text=True, timeout=SECONDS,
        cwd=exported.logs.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    samples = [sample for log in exported.found.values() for sample in log["samples"]]
    said = {one["id"]: sum(role == "assistant" for role, _, _ in one["messages"]) for one in samples}
    assert found["said"] == said
    called = {one["id"]: len(one["models"]) + len(one["tools"]) for one in samples}
    assert {name: count for name, count in found["called"].items() if count} == {
        name: count for name, count in called.items() if count
    }


@pytest.fixture
def viewer(exported: Exported, inspect_python: Path, tmp_path: Path) -> Iterator[str]:
    """The address of `inspect view bundle` over the logs."""
    command = [inspect_python.with_name("inspect"), "view", "bundle", "--log-dir", exported.logs, "--output-dir"]
    subprocess.run([*command, tmp_path / "view"], check=True, capture_output=True, timeout=SECONDS)
    handler = functools.partial(_Quiet, directory=tmp_path / "view")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


def test_the_viewer_shows_them(exported: Exported, viewer: str) -> None:
    [sample] = exported.found["jury"]["samples"]
    spoken = next(text for role, text, _ in sample["messages"] if role == "assistant")
    file = exported.found["jury"]["file"]
    with launched() as browser:
        page = browser.new_page(locale="en-US")  # with a POSIX locale the viewer's numbers stop it
        page.set_default_timeout(WAIT_MS)
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(viewer)
        for task in exported.ids:
            page.get_by_text(task, exact=True).first.wait_for()
        page.goto(f"{viewer}#/logs/{file}/samples/sample/{sample['id']}/1/messages")
        page.get_by_text(spoken[:60]).first.wait_for()
        assert not faults


def test_a_running_game_shows_nothing_secret_and_the_same_game_the_same_bytes(
    exported: Exported, inspect_python: Path, tmp_path: Path
) -> None:
    clients = [Client(exported.stack.run.gateway) for _ in range(5)]
    for number, client in enumerate(clients):
        client.register(f"seat {number}")
    opened = clients[0].open_game("ox", deadline_seconds=3600)
    for client in clients[1:]:
        client.join("ox", invite=opened.invite)
    clients[0].act(opened.game_id, {"type": "first_choice", "choice": "O", "comment": SECRET})
    words = (opened.game_id, "--key", clients[0].key)
    done = export(inspect_python, exported.stack, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    first = Path(done.stdout.strip()).read_bytes()
    [found] = _read(inspect_python, tmp_path)
    assert found["status"] == "started"
    assert SECRET not in json.dumps(found)
    assert found["samples"][0]["scores"] == {}
    assert export(inspect_python, exported.stack, tmp_path, *words).returncode == 0
    assert Path(done.stdout.strip()).read_bytes() == first
    for client in clients:
        client.close()


def test_a_session_is_its_owners(exported: Exported, inspect_python: Path, tmp_path: Path) -> None:
    with Client(exported.stack.run.gateway) as stranger:
        stranger.register("stranger")
        keys = (stranger.key, exported.stack.run.operator_key, exported.key("jury"))
    for key in keys:
        done = export(inspect_python, exported.stack, tmp_path / "none", exported.ids["legal"], "--key", key)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "none").exists()


def test_help_imports_no_inspect(inspect_python: Path) -> None:
    program = (
        "import sys; from playmolt_cli.main import cli; cli(['inspect', 'export', '--help'], standalone_mode=False);"
        "print([name for name in sys.modules if name.startswith('inspect_')])"
    )
    done = subprocess.run([inspect_python, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_one_line_says_what_to_install(exported: Exported, tmp_path: Path) -> None:
    done = export(Path(sys.executable), exported.stack, tmp_path, exported.ids["ox"])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Logs of Inspect need inspect-ai. Install playmolt-cli[inspect].\n"
