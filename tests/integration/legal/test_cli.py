"""Whole legal sessions from the terminal: by options and files as a script, and question by question as a person."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from playmolt_cli.main import cli

from core.tests.llm.fake_server import FakeServer, reply
from tests.integration.legal.person import LEASE
from tests.platforms import Stack

SECONDS = 120


class Terminal:
    """Somebody who types `playmolt legal …` on a data folder of their own."""

    def __init__(self, platform: Stack, folder: Path) -> None:
        self.environment = {"PLAYMOLT_DATA": str(folder), "DATABASE_URL": "", "NATS_URL": ""}
        self.place = ["--url", platform.run.gateway]

    def run(self, command: str, *arguments: str, typed: str = "") -> Result:
        words = ["legal", command, *arguments, *self.place]
        return CliRunner().invoke(cli, words, input=typed, env=self.environment)

    def done(self, command: str, *arguments: str, typed: str = "") -> str:
        result = self.run(command, *arguments, typed=typed)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, command: str, *arguments: str) -> Any:
        return json.loads(self.done(command, *arguments, "--json"))


@pytest.fixture
def terminal(platform: Stack, server: FakeServer, tmp_path: Path) -> Terminal:
    return Terminal(platform, tmp_path / "mine")


def opened(terminal: Terminal, case_type: str = "civil", language: str = "en", model: str = "scripted") -> str:
    options = ["--case-type", case_type, "--language", language, "--jurisdiction", "KR", "--title", "Deposit"]
    return str(terminal.json("new", *options, "--model", model)["id"])


def test_a_script_holds_a_session_with_options_and_files(terminal: Terminal, tmp_path: Path) -> None:
    session = opened(terminal)
    (tmp_path / "facts.json").write_text(json.dumps(LEASE))
    assert terminal.json("facts", session, "--file", str(tmp_path / "facts.json"))["phase"] == "FACTS_STIPULATE"
    gate = terminal.json("gate", session)
    assert (gate["name"], gate["schema"]["required"]) == ("round1", ["gate", "focus_issues", "goal", "stance"])
    fields = [
        "--set",
        f"focus_issues={gate['issues'][0]}",
        "--set",
        "goal=risk_minimization",
        "--set",
        "stance=neutral",
    ]
    assert terminal.json("gate", session, *fields)["steering"]["focus_issues"] == gate["issues"][:1]
    form = {
        "proof_priority": "the handover", "evidence_level": "weak", "obtainable_evidence": ["record"],
        "constraints": ["budget_cap"], "settlement_interest": False,
    }  # fmt: skip
    (tmp_path / "form.json").write_text(json.dumps(form))
    assert (
        terminal.json("gate", session, "--file", str(tmp_path / "form.json"))["steering"]["settlement_interest"]
        is False
    )
    end = '{"gate": "end", "resolution": "final_report", "report_style": "settlement"}'
    assert terminal.json("gate", session, "--form", end)["phase"] == "FINALIZE_DONE"
    assert terminal.json("report", session)["order"][0] == "settlement"
    for kind, start in {"md": b"# ", "html": b"<!doctype", "docx": b"PK", "pdf": b"%PDF", "json": b"{"}.items():
        out = tmp_path / f"report.{kind}"
        terminal.done("report", session, "--out", str(out))
        assert out.read_bytes().lower().startswith(start.lower()), kind
    assert terminal.done("report", session).startswith("# ")
    assert [listed["id"] for listed in terminal.json("list")] == [session]
    streamed = terminal.done("show", session, "--follow", "--json").splitlines()
    assert [json.loads(line)["version"] for line in streamed] == list(range(1, len(streamed) + 1))
    assert json.loads(streamed[-1])["type"] == "session_done"


def test_a_korean_session_is_answered_question_by_question(terminal: Terminal) -> None:
    terminal.done("new", typed="2\n형사\n대한민국\n횡령 사건\n3\n")
    facts = ["법인카드를 썼다고 한다.", "", "주말에 카드를 썼다.", ""]
    timeline = ["봄", "카드를 썼다", "네", ""]
    evidence = ["명세서", "사용 내역", ""]
    terminal.done("facts", typed="\n".join([*facts, *timeline, *evidence, "업무에 썼다", "", ""]))
    first = terminal.done("gate", typed="1\n\n위험\n리스크최소\n2\n\n")
    assert "게이트: round1" in first
    assert "구성요건에 해당하는 행위가 있었는지" in first
    terminal.done("gate", typed="사용의 업무 관련성\n3\n확인서\n일정표\n\n1\n외부 감사 없음\n\n짧게\n")
    session = terminal.json("show")
    steering = session["steering"]
    assert (steering["goal"], steering["stance"], steering["evidence_level"]) == (
        "risk_minimization", "neutral", "moderate",
    )  # fmt: skip
    assert (steering["obtainable_evidence"], steering["note"]) == (["확인서", "일정표"], "짧게")
    assert steering["constraints"] == ["decide_within_2_weeks", "외부 감사 없음"]
    assert session["facts"]["timeline"][0] == {"id": "T1", "when": "봄", "what": "카드를 썼다", "agreed": True}
    terminal.done("gate", typed="1\n1\n\n")
    shown = terminal.done("show")
    assert "재판장 · 3라운드 (JUDGE_R3)" in shown
    assert "핵심 쟁점(최대 2개): 구성요건에 해당하는 행위가 있었는지" in shown
    assert "단계: FINALIZE_DONE" in shown
    assert "시뮬레이션" in terminal.done("report")


def test_open_questions_are_answered_by_id_and_a_new_session_keeps_the_facts(terminal: Terminal) -> None:
    session = opened(terminal, model="scripted-unsure")
    terminal.done(
        "facts", session, "--overview", "A deposit.", "--acts", "It was kept.", "--evidence", "lease", "signed"
    )
    shown = terminal.done("gate", session, "--show")
    assert "Q1" in shown
    assert "choice = add_facts | proceed_unclear" in shown
    asked = terminal.json("show", session)["facts"]["questions"]
    assert len(asked) >= 3
    answers = "\n".join(f"answer {item['id']}" for item in asked)
    terminal.done(
        "gate", session, typed=f"add facts, then continue\nno more\n{answers}\nspring\nthe lease was signed\ny\n\n\n"
    )
    session_now = terminal.json("show", session)
    assert session_now["facts"]["timeline"][0]["agreed"] is True
    issue = terminal.json("gate", session)["issues"][0]
    terminal.done(
        "gate", session, "--set", f"focus_issues={issue}", "--set", "goal=early_settlement", "--set", "stance=flexible"
    )
    # Interested in settling, so that what could be conceded is asked, too.
    terminal.done("gate", session, typed="the handover\nweak\nrecord\n\nbudget_cap\n\n\ny\nhalf\n")
    assert terminal.json("show", session)["steering"]["concession_range"] == "half"
    ended = terminal.json("gate", session, "--set", "resolution=new_session", "--set", "report_style=risk")
    assert terminal.json("list")[0]["id"] == ended["next_session"]
    terminal.done("facts", typed="y\n")
    carried = terminal.json("show")
    assert (carried["previous_session"], carried["facts"]["evidence"]) == (session, session_now["facts"]["evidence"])
    refused = terminal.run("report", session)
    assert (refused.exit_code, "not_finished" in refused.stderr) == (2, True)


def test_a_turn_that_failed_is_told_and_asked_again(terminal: Terminal, server: FakeServer) -> None:
    server.script(*[reply("no JSON")] * 3)
    session = opened(terminal, model="fake")
    told = terminal.run("facts", session, "--file", "-", typed=json.dumps(LEASE))
    assert told.exit_code == 0, told.output
    waited = terminal.run("gate", session, "--show")
    assert waited.exit_code == 2
    assert f"playmolt legal retry {session}" in waited.stderr
    assert "FACTS_STIPULATE failed (invalid_reply, 3 requests)" in terminal.done("show", session)
    terminal.done("retry", session)
    assert terminal.json("gate", session)["name"] == "round1"
    again = terminal.run("retry", session)
    assert (again.exit_code, "nothing_to_retry" in again.stderr) == (2, True)


def test_a_form_with_faults_is_told_field_by_field_and_asked_again(terminal: Terminal) -> None:
    session = opened(terminal)
    terminal.run("facts", session, "--file", "-", typed=json.dumps(LEASE))
    refused = terminal.run("gate", session, "--set", "goal=glory", "--set", "focus_issues=a", "--set", "speed=high")
    assert refused.exit_code == 2
    faults = {line.split(":")[0].strip() for line in refused.stderr.splitlines()[1:]}
    assert faults == {"goal", "stance", "speed"}
    assert "Traceback" not in refused.output
    mended = terminal.run("gate", session, typed=f"1\n\n1\n1\n{'x' * 301}\nshort\n")
    assert mended.exit_code == 0, mended.output
    assert "fact_corrections" in mended.stderr
    assert [item["text"] for item in terminal.json("show", session)["facts"]["corrections"]] == ["short"]


def test_what_goes_wrong_is_one_clear_line(terminal: Terminal, platform: Stack, tmp_path: Path) -> None:
    nothing = terminal.run("show")
    assert (nothing.exit_code, "playmolt legal new" in nothing.stderr) == (2, True)
    assert not (tmp_path / "mine").exists(), "a failed command leaves no folder behind"
    session = opened(terminal)
    other = Terminal(platform, tmp_path / "other")
    opened(other)
    unasked = terminal.run("facts", session, typed="only the overview\n")
    cases = [
        (other.run("show", session), "not_found"),
        (terminal.run("gate", session), "playmolt legal facts"),
        (terminal.run("facts", session, "--file", "-", typed="[1]"), "not a JSON object"),
        (terminal.run("show", "--key", "wrong"), "unauthorized"),
        (unasked, "--file FILE"),
    ]
    for result, said in cases:
        assert result.exit_code == 2, result.output
        lines = result.stderr.splitlines()
        assert sum(line.startswith("Error: ") for line in lines) == 1, result.stderr
        assert said in result.stderr
        assert "Traceback" not in result.output
    keys = [file for folder in ("mine", "other") for file in (tmp_path / folder).glob("legal-key-*")]
    assert len(keys) == 2
    assert {key.stat().st_mode & 0o777 for key in keys} == {0o600}


def test_at_a_real_terminal_lines_are_wrapped_to_its_width(terminal: Terminal) -> None:
    session = opened(terminal, language="ko")
    terminal.run("facts", session, "--file", "-", typed=json.dumps(LEASE))
    leader, next_event = pty.openpty()
    command = [sys.executable, "-m", "playmolt_cli", "legal", "gate", session, *terminal.place]
    environment = {**os.environ, **terminal.environment, "COLUMNS": "40", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=next_event, stdout=next_event, stderr=next_event, env=environment) as process:
        os.close(next_event)
        try:
            seen = _until(leader, "핵심 쟁점")
            os.write(leader, "1\n\n위험\n1\n중립\n짧은 정정\n".encode())
            seen += _rest(leader)
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
            os.close(leader)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    said = [line for line in plain.splitlines() if session not in line]
    longest = max(said, key=_cells)
    assert 20 < _cells(longest) <= 40, longest
    steering = terminal.json("show", session)["steering"]
    assert (steering["goal"], steering["stance"]) == ("win_likelihood", "neutral")


def _cells(line: str) -> int:
    return sum(2 if "ᄀ" <= char <= "￦" else 1 for char in line)


def _until(terminal: int, text: str) -> str:
    """Read what a terminal shows up to a text."""
    seen, until = b"", time.monotonic() + SECONDS
    while text.encode() not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        assert ready, seen.decode(errors="replace")
        seen += os.read(terminal, 4096)
    return seen.decode(errors="replace")


def _rest(terminal: int) -> str:
    seen = b""
    try:
        while select.select([terminal], [], [], SECONDS)[0]:
            seen += os.read(terminal, 4096)
    except OSError:  # the other side has gone
        pass
    return seen.decode(errors="replace")
