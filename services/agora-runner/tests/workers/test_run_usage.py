"""What a run's log says of the requests of a turn."""

from typing import Any

from playmolt_agora_runner.workers.run_usage import RunUsage, requests_recorded
from playmolt_schemas.instrument.usage import lost_call
from playmolt_schemas.stored.agora.plan import Noticed
from playmolt_schemas.stored.agora.run import CallMade


def called(turn: int, agent: str, call: dict[str, Any]) -> CallMade:
    return CallMade(turn=turn, agent=agent, call=call)


def test_requests_of_a_turn_are_those_that_were_answered_failed_or_lost() -> None:
    events = [
        called(1, "ann", lost_call(2, 1)),
        called(2, "bob", lost_call(1, 1)),
        called(2, "bob", {"outcome": "server_error"}),
        called(2, "bob", {"outcome": "rate_limited"}),
        called(2, "ann", {"outcome": "ok"}),
        called(2, "bob", lost_call(2, 2)),
    ]
    assert requests_recorded(events, 2, "bob") == (4, 3)
    assert requests_recorded(events, 1, "ann") == (2, 2)
    assert requests_recorded(events, 2, "ann") == (1, 0)
    assert requests_recorded(events, 1, "bob") == requests_recorded(events, 3, None) == (0, 0)


def test_a_loss_that_was_stored_before_questions_were_told_apart_counts() -> None:
    old = {"outcome": "lost", "lost": 1, "lease_attempt": 3, "detail": ""}
    assert requests_recorded([called(2, "bob", old)], 2, "bob") == (1, 1)


def test_other_models_and_cut_prompts_are_counted_by_alias() -> None:
    usage = RunUsage()
    for answered, warnings in (("mini", ()), ("mini-2", ()), ("mini-2", ("prompt_cut",)), (None, ())):
        usage.add_calls([{"alias": "a", "model_asked": "mini", "model_answered": answered, "warnings": warnings}])
    usage.add_calls([{"outcome": "lost", "lost": 1}])
    assert usage.noticed == Noticed(answered={"a": {"mini-2": 2}}, prompt_cut={"a": 1})


def test_a_server_that_makes_up_names_does_not_fill_the_log() -> None:
    usage = RunUsage()
    for number in range(1000):
        usage.add_calls([{"alias": "a", "model_asked": "mini", "model_answered": f"mini-{number}"}])
    told = usage.noticed.answered["a"]
    assert len(told) == 21
    assert sum(told.values()) == 1000


def test_the_file_of_a_models_weights_is_not_another_model() -> None:
    usage = RunUsage()
    for answered in ("SmolLM2-135M-Q8_0.gguf", "mini", "other"):
        usage.add_calls([{"alias": "a", "model_asked": "mini", "model_answered": answered, "warnings": ()}])
    assert usage.noticed == Noticed(answered={"a": {"other": 1}}, prompt_cut={})
