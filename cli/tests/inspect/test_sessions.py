"""Sessions and experiments as samples of Inspect."""

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from playmolt_cli.inspect import commands
from playmolt_cli.inspect.experiments import Bundle, NoBundle, experiment_log, run_samples
from playmolt_cli.inspect.sessions import session_log
from playmolt_cli.main import cli
from playmolt_schemas.records import OpenedRecord

SESSION, EXPERIMENT = "jury-1", "experiment-1"


def record(stream: str, version: int, kind: str, /, **data: Any) -> OpenedRecord:
    at = f"2026-03-01T00:00:{version:02}.000000Z"
    return OpenedRecord(
        stream=stream, version=version, position=version, type=kind, schema_version=1,
        data=msgspec.Raw(msgspec.json.encode(data)), metadata=msgspec.Raw(b"{}"), at=at, salt="", prev_hash="", hash="",
    )  # fmt: skip


def attempt(reply: str = "", *tools: str) -> dict[str, Any]:
    calls = [{"id": f"call_{name}", "name": "lookup_evidence", "arguments": "{}"} for name in tools]
    return {
        "model_answered": "small", "outcome": "ok", "reply": reply, "tool_calls": calls, "latency_ms": 10,
        "usage": {"prompt_tokens": 10, "completion_tokens": 5}, "request": {"messages": []},
    }  # fmt: skip


def used(version: int, juror: str, result: str) -> OpenedRecord:
    return record(SESSION, version, "tool_called", juror_id=juror, tool="lookup_evidence", input={}, result=result)


def made(version: int, turn: str, *tools: str) -> OpenedRecord:
    return record(SESSION, version, "attempt_made", turn=turn, kind="ask", attempt=attempt("", *tools))


def test_tools_stand_behind_the_calls_that_asked_for_them() -> None:
    records = [
        record(SESSION, 1, "jury_opened", case="silent-robin", language="en"), made(2, "classify"),
        made(3, "chat:anna", "1", "2"), made(4, "speech:bo:2", "3"), made(5, "chat:anna"), used(6, "anna", "one"),
        used(7, "anna", "two"), used(8, "bo", "three"), used(9, "bo", "nobody asked"),
        record(SESSION, 10, "ended", ending="guilty_nothing"),
    ]  # fmt: skip
    log = session_log(records, "jury")
    [sample] = log.samples
    shown = [(one.fields["event"], one.agent, one.fields.get("result")) for one in sample.happened]
    assert shown == [
        ("info", "", None), ("model", "classifier", None), ("model", "anna", None), ("tool", "anna", "one"),
        ("tool", "anna", "two"), ("model", "bo", None), ("tool", "bo", "three"), ("model", "anna", None),
        ("tool", "bo", "nobody asked"), ("info", "", None),
    ]  # fmt: skip
    tools = [one.fields["id"] for one in sample.happened if one.fields["event"] == "tool"]
    assert tools == ["call_1", "call_2", "call_3", "jury-1-9"]
    roles = [one.fields["role"] for one in sample.happened if one.fields["event"] == "model"]
    assert roles == ["classifier", "anna", "bo", "anna"]
    assert (log.status, sample.scores) == ("success", {"ending": "guilty_nothing"})


def bundle(folder: Path) -> None:
    """One run that is over, with a call, and one that is not."""
    turn = {
        "cell": "stage1/small/en", "phase": "stage1", "set": None, "language": "en", "model": "small",
        "persona_condition": "no_persona", "exploratory": False, "agent": "a_01", "turn": 1, "action": "speak",
        "target": None, "content": "Good morning.", "thought": "a thought", "parse_code": "ok", "success": True,
        "raw_reply": "{}",
    }  # fmt: skip
    call = attempt("{}") | {
        "request": {"messages": {"prompt": "ab12", "added": [{"role": "user", "content": "Again."}]}}
    }
    streams = {
        EXPERIMENT: [
            record(EXPERIMENT, 1, "preregistered", name="mine", seed="7"),
            record(EXPERIMENT, 2, "run_opened", run="agora-2"), record(EXPERIMENT, 3, "run_opened", run="agora-1"),
            record(
                EXPERIMENT, 9, "judge_coded", run="agora-2", agent="a_01", turn=1, judge="judge", prompt_hash="ab12",
                raw_reply="yes", survival=True, social=False, code="ok", cost=None,
                usage={"prompt_tokens": 3, "completion_tokens": 1}, call=call | {"model_answered": "judge-1"},
            ),
        ],
        "agora-2": [
            record("agora-2", 1, "run_opened"), record("agora-2", 2, "call_made", turn=1, agent="a_01", call=call),
            record("agora-2", 3, "agent_acted", record=turn), record("agora-2", 4, "run_ended", outcome="completed"),
        ],
        "agora-1": [record("agora-1", 1, "run_opened"), record("agora-1", 2, "agent_acted", record=turn)],
    }  # fmt: skip
    (folder / "events").mkdir(parents=True)
    (folder / "prompts").mkdir()
    for stream, records in streams.items():
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in records)
        (folder / "events" / f"{stream}.jsonl").write_bytes(lines)
    (folder / "prompts" / "ab12.json").write_text('{"system": "You live here.", "user": "Turn 1."}', "utf-8")
    (folder / "manifest.json").write_text("{}", "utf-8")


@pytest.mark.parametrize("packed", [False, True])
def test_a_bundle_gives_a_sample_for_each_run_that_is_over(tmp_path: Path, packed: bool) -> None:
    bundle(tmp_path / "bundle")
    source = tmp_path / "bundle"
    if packed:
        source = tmp_path / "bundle.zip"
        with zipfile.ZipFile(source, "w") as archive:
            for path in (tmp_path / "bundle").rglob("*"):
                archive.write(path, path.relative_to(tmp_path))
    found = Bundle(source)
    samples = run_samples(found, found.experiment())
    assert set(samples) == {"agora-2"}, "the other run is not over"
    [sample] = samples.values()
    assert [(one.speaker, one.text) for one in sample.said] == [("a_01", "[speak] Good morning.")]
    turn, judged = (one for one in sample.happened if one.fields["event"] == "model")
    asked: Any = turn.fields["input"]
    assert [(one["role"], one["content"]) for one in asked] == [
        ("system", "You live here."), ("user", "Turn 1."), ("user", "Again."),
    ]  # fmt: skip
    assert (turn.agent, turn.fields["role"]) == ("a_01", "a_01")
    assert (judged.agent, judged.fields["role"], judged.fields["model"]) == ("judge", "classifier", "judge-1")
    assert sample.scores == {"outcome": "completed", "valid_turns": 1.0}
    assert experiment_log(found.experiment(), [sample]).status == "started", "it has not finished"


def test_another_folder_or_file_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text", "utf-8")
    for source in (tmp_path, tmp_path / "file", b"no zip"):
        with pytest.raises(NoBundle):
            Bundle(source)


def test_a_source_that_cannot_be_exported_does_not_hold_up_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle(tmp_path / "bundle")
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(commands, "need_inspect", lambda: None)
    monkeypatch.setattr(commands, "write", lambda _, out: out / "written.eval")
    sources = [str(tmp_path / name) for name in ("other", "bundle")]
    result = CliRunner().invoke(cli, ["inspect", "export", *sources, "--out", str(tmp_path / "logs")])
    assert (result.exit_code, result.stdout) == (2, f"{tmp_path / 'logs' / 'written.eval'}\n")
    assert f"Error: {sources[0]} is not a bundle" in result.stderr
