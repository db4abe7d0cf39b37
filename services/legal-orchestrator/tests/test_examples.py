"""The words of the prompts: a worked example each, and every language with the words of the others."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from playmolt_legal import effects, outputs, texts
from playmolt_legal.guardrails import corpus, guardrails
from playmolt_legal.roles import prompts

HEADINGS = {"en": "WORKED EXAMPLE", "ko": "작성 예시", "zh": "示例"}
TASKS = {
    "opening_judge": ("JUDGE_R1", "civil"),
    "judge": ("JUDGE_R2", "civil"),
    "claimant": ("CLAIMANT_R1", "civil"),
    "opposing_civil": ("OPPOSING_R1", "civil"),
    "opposing_criminal": ("OPPOSING_R1", "criminal"),
    "verifier": ("VERIFIER_R1", "civil"),
    "final": ("FINAL", "civil"),
}
PLACES = {"standards.china_civil", "standards.korea_civil", "standards.common_civil"}
"""What a jurisdiction's courts say of it stands where it differs from the language's usual words."""


@pytest.mark.parametrize("task", TASKS)
def test_every_example_is_a_good_answer_in_the_schema_it_stands_under(task: str, language: str) -> None:
    phase, case_type = TASKS[task]
    example = texts.example(language, task)  # type: ignore[arg-type]
    read = outputs.read(dict(example), phase, case_type)  # type: ignore[arg-type]
    assert list(read) == list(example)
    assert all(not guardrails.certainty(text) for _, text in outputs.texts(read))


@pytest.mark.parametrize("phase", ["JUDGE_R1", "CLAIMANT_R2", "OPPOSING_R1", "VERIFIER_R3"])
def test_a_prompt_ends_with_an_example_that_supplies_nothing(
    sessions: Callable[..., Any], language: str, phase: str
) -> None:
    session = sessions(language=language).to(phase)
    (effect,) = effects.effects(session.state)
    system = prompts.prompt(session.state, effect.payload)[0]["content"]
    heading, example = system.rsplit("\n", 2)[-2:]
    assert heading.startswith(HEADINGS[language])
    assert json.loads(example)["SteeringComplianceCheck"] == "OK"
    assert not corpus.of(session.state).ids & {"F901", "F902", "E901"}


def keys(words: dict[str, Any], path: str = "") -> set[str]:
    inner = [keys(value, f"{path}{name}.") for name, value in words.items() if isinstance(value, dict)]
    return {path + name for name in words}.union(*inner)


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("name", ["texts.json", "scripted.json", "examples.json"])
def test_every_language_has_the_words_of_the_others_and_none_in_another(name: str) -> None:
    words = msgspec.json.decode(texts.data(name))
    assert keys(words["ko"]) - PLACES == keys(words["en"]) - PLACES == keys(words["zh"]) - PLACES
    for language in ("en", "zh"):
        assert not [text for text in leaves(words[language]) if any("가" <= char <= "힣" for char in text)]
    assert not [text for text in leaves(words["en"]) if any("\u4e00" <= char <= "\u9fff" for char in text)]
