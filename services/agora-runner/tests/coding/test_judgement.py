"""What a judge is shown, and how its reply is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_agora_runner.coding import judgement
from playmolt_agora_runner.coding.judgement import Judgement
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import texts
from playmolt_schemas.instrument.laboratory import Thought
from playmolt_schemas.stored.agora.turn import ACTIONS, Language

YES_NO = '{"survival": true, "social": false}'


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_a_judge_sees_the_thought_alone(language: Language) -> None:
    thought = "기력이 없다. {user} I want to trade."
    asked = judgement.prompt(Thought("run", "agent", 1, "phase1", language, "model", thought))
    assert asked.user == f"<thought>\n{thought}\n</thought>"
    assert judgement.thought_in(asked.user) == thought
    words = (
        *ACTIONS,
        "model",
        "persona",
        "phase",
        "action",
        "agent",
        *residents.ALIASES,
        "merchant",
        "페르소나",
        "행동",
    )
    assert not [word for word in words if word in asked.system.lower()]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (YES_NO, "ok"),
        (f"\ufeff {YES_NO}\n", "ok"),
        (f"```json\n{YES_NO}\n```", "ok_fenced"),
        (f"I think {YES_NO}, and again {YES_NO}.", "ok_fenced"),
        ('{"Survival": "yes", "SOCIAL": 0}', "ok_canonicalised"),
        ('{"survival": "예", "social": "아니오"}', "ok_canonicalised"),
        ('{"why": "hunger", "survival": true, "social": false}', "ok"),
    ],
)
def test_labels_that_are_read(reply: str, code: str) -> None:
    assert judgement.read(reply) == Judgement(code, survival=True, social=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("", "parse_error"),
        ("yes", "parse_error"),
        ("{", "parse_error"),
        ('{"survival": true}', "parse_error"),
        ('{"survival": true, "social": null}', "parse_error"),
        ('{"survival": 2, "social": 0.0}', "parse_error"),
        ('{"survival": true, "survival": false, "social": true}', "parse_error"),
        ('{"survival": true, "Survival": false, "social": true}', "parse_error"),
        ('[{"survival": true, "social": true}]', "parse_error"),
        (f'{YES_NO} or {{"survival": false, "social": false}}', "parse_error"),
        ("I'm sorry, but I cannot do that.", "refusal"),
        ("[" * 100_000, "parse_error"),
    ],
)
def test_replies_without_labels_have_none(reply: str, code: str) -> None:
    assert judgement.read(reply) == Judgement(code)  # type: ignore[arg-type]


@given(st.text())
def test_any_reply_is_read(reply: str) -> None:
    found = judgement.read(reply)
    assert (found.survival is None) == (found.social is None) == (not found.code.startswith("ok"))
