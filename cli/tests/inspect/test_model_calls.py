"""Attempts of the log as Inspect's model events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playmolt_cli.inspect.model_calls import CallRecord, model_event
from playmolt_cli.inspect.sample import Happened, LogContent, Sample, usage_of

AT = datetime(2026, 3, 1, tzinfo=UTC)
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"page": 3}'}}
ATTEMPT: dict[str, Any] = {
    "alias": "small", "model_asked": "small-1", "model_answered": "small-1a", "outcome": "ok", "detail": "",
    "reply": "Page three.", "reasoning": None, "tool_calls": [], "finish_reason": "stop", "latency_ms": 1500,
    "cost": "0.25", "status": 200, "raw": "", "usage": {"prompt_tokens": 100, "completion_tokens": 20},
    "request": {
        "model": "small-1", "temperature": "0.5", "seed": 3, "max_tokens": 600, "tool_choice": "required",
        "messages": [
            {"role": "system", "content": "You are a juror."},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "content": "It says so.", "tool_call_id": "c1"},
            {"role": "user", "sha256": "ab", "bytes": 70000},
        ],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
    },
}  # fmt: skip


def event(**changes: Any) -> Happened:
    record = CallRecord(at=AT, attempt=ATTEMPT | changes, agent="ophiuchus", role="ophiuchus", key="jury-1-7")
    return model_event(record)


def test_a_call_has_its_model_messages_and_times() -> None:
    found = event()
    assert (found.at, found.ended) == (AT - timedelta(seconds=1.5), AT)
    fields: Any = found.fields
    assert (fields["model"], fields["role"], fields["tool_choice"]) == ("small-1a", "ophiuchus", "any")
    assert fields["config"] == {"temperature": 0.5, "seed": 3, "max_tokens": 600}
    system, asked, answered, long = fields["input"]
    assert (system["role"], system["content"]) == ("system", "You are a juror.")
    assert asked["tool_calls"] == [{"id": "c1", "function": "read", "arguments": {"page": 3}, "type": "function"}]
    assert (answered["tool_call_id"], answered["function"]) == ("c1", "read")
    assert "70000 bytes" in long["content"], "the log holds a hash of it"
    assert "error" not in fields


def test_cached_tokens_are_counted_once() -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "cached_tokens": 80, "reasoning_tokens": 5}
    found: Any = event(usage=usage).fields
    assert found["output"]["usage"] == {
        "input_tokens": 20, "input_tokens_cache_read": 80, "output_tokens": 20, "total_tokens": 120,
        "reasoning_tokens": 5, "total_cost": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": None, "completion_tokens": None}])
def test_unknown_figures_cost_no_call(usage: object) -> None:
    found: Any = event(usage=usage, cost=None).fields
    assert found["output"]["choices"][0]["message"]["content"] == "Page three."


@pytest.mark.parametrize(
    ("said", "stopped"),
    [("stop", "stop"), ("length", "max_tokens"), ("tool_calls", "tool_calls"), ("content_filter", "content_filter"),
     ("odd", "unknown"), (None, "unknown")],
)  # fmt: skip
def test_why_it_stopped(said: str | None, stopped: str) -> None:
    found: Any = event(finish_reason=said).fields
    assert found["output"]["choices"][0]["stop_reason"] == stopped


def test_a_failed_call_has_an_error() -> None:
    assert event(outcome="timeout", detail="no answer in 60 s").fields["error"] == "timeout: no answer in 60 s"
    lost = {"outcome": "lost", "lost": 2, "ask": 1, "detail": "the process ended"}
    record = CallRecord(at=AT, attempt=lost, agent="a", role="a", key="k")
    found = model_event(record)
    assert (found.fields["model"], found.fields["error"]) == ("unknown", "lost: the process ended")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [('{"page": 4}', {"page": 4}), ("", {}), ("{page", {"raw": "{page"}), ("[4]", {"raw": [4]})],
)
def test_arguments_of_a_tool_are_an_object(arguments: str, wanted: dict[str, object]) -> None:
    found: Any = event(tool_calls=[{"id": "c2", "name": "read", "arguments": arguments}], reply="").fields
    [call] = found["output"]["choices"][0]["message"]["tool_calls"]
    assert call["arguments"] == wanted
    assert ("parse_error" in call) is (arguments == "{page")


def test_reasoning_stands_before_the_reply() -> None:
    found: Any = event(reasoning="Let me see.").fields
    kinds = [part["type"] for part in found["output"]["choices"][0]["message"]["content"]]
    assert kinds == ["reasoning", "text"]


def test_usage_is_summed_by_model_and_role() -> None:
    models, roles = usage_of([event(), event(model_answered="large"), event()])
    assert {name: usage["total_tokens"] for name, usage in models.items()} == {"small-1a": 240, "large": 120}
    assert {name: usage["total_tokens"] for name, usage in roles.items()} == {"ophiuchus": 360}


def test_a_sample_has_its_events_as_they_began_in_spans_of_their_agents() -> None:
    late, early = event(), event(latency_ms=9000)
    info = Happened(at=AT - timedelta(seconds=20), fields={"event": "info", "data": 1})
    sample = Sample(
        id="jury-1",
        subject="a case",
        started=AT - timedelta(seconds=30),
        ended=AT,
        said=(),
        happened=[late, early, info],
    )
    events: Any = sample.document()["events"]
    assert [each["event"] for each in events] == ["info", "span_begin", "model", "model", "span_end"]
    assert [each["timestamp"] for each in events] == sorted(each["timestamp"] for each in events)
    assert len({each["uuid"] for each in events}) == 5
    assert events[1]["name"] == "ophiuchus"
    assert {each["span_id"] for each in events[1:]} == {events[1]["id"]}


def test_a_score_is_summed_over_samples() -> None:
    scores = ({"outcome": "completed", "valid": 0.5}, {"outcome": "died_out", "valid": 1.0}, {"outcome": "completed"})
    samples = [
        Sample(id=f"agora-{n}", subject="", started=AT, ended=AT, said=(), happened=(), scores=each)
        for n, each in enumerate(scores)
    ]
    log: Any = LogContent(
        id="experiment-1", task="experiment", title="", status="success", created=AT, ended=AT, samples=samples
    ).document()
    outcome, valid = log["results"]["scores"]
    assert {name: metric["value"] for name, metric in outcome["metrics"].items()} == {
        "completed": pytest.approx(2 / 3), "died_out": pytest.approx(1 / 3),
    }  # fmt: skip
    assert (valid["metrics"]["mean"]["value"], valid["scored_samples"], valid["unscored_samples"]) == (0.75, 2, 1)
    assert (log["eval"]["eval_id"], log["eval"]["model"]) == ("experiment-1", "none/none")
