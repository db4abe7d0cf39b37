"""Answers to questions asked aside: one ladder for all models, three kinds of answers, two languages."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET
from playmolt_agora_runner.scripted import residents, visitors
from playmolt_agora_runner.turn import interview, prompts
from playmolt_agora_runner.turn.scene import OwnScene, Scene
from playmolt_core.llm.openai.portable_schema import portable
from playmolt_core.llm.port import ChatMessage, ModelRequest
from playmolt_core.llm.scripted.model import ScriptedTurn
from playmolt_schemas.stored.agora.turn import Interview, InterviewAsk, InterviewChoices, InterviewScale

from tests.test_sent_schemas import unheld

ASK = InterviewAsk(ko="얼마나 {믿}습니까?", en="How much do you {trust}?")
TRUST = Interview(id="trust", at=(0,), ask=ASK, scale=InterviewScale(from_=-3, to=3))
DEAL = Interview(
    id="deal", at=(0,), ask=ASK, choices=InterviewChoices(ko=("나눈다", "갖는다"), en=("Share it", "Keep it"))
)
WHY = Interview(id="why", at=(0,), ask=ASK, text=True)


@pytest.mark.parametrize(
    ("asked", "reply", "code", "answer"),
    [
        (TRUST, '{"answer": 2}', "ok", 2),
        (TRUST, '{"answer": -3}', "ok", -3),
        (TRUST, '{"answer": 0}', "ok", 0),
        (TRUST, '```json\n{"answer": 2}\n```', "ok_fenced", 2),
        (TRUST, 'Well {sic}, {"answer": 2}', "ok_fenced", 2),
        (TRUST, '{"answer": "2"}', "ok_canonicalised", 2),
        (TRUST, '{"answer": 2.0}', "ok_canonicalised", 2),
        (TRUST, '{"Answer": 2}', "ok_canonicalised", 2),
        (TRUST, '{"reply": {"answer": 2}}', "ok_fenced", 2),
        (TRUST, '{"answer": 4}', "parse_error", None),
        (TRUST, '{"answer": 1.5}', "parse_error", None),
        (TRUST, '{"answer": true}', "parse_error", None),
        (TRUST, '{"answer": null}', "parse_error", None),
        (TRUST, '{"answer": 1, "answer": 2}', "parse_error", None),
        (TRUST, '{"answer": 1} or {"answer": 2}', "parse_error", None),
        (TRUST, "2", "parse_error", None),
        (TRUST, "", "parse_error", None),
        (TRUST, "I'm sorry, but I cannot answer.", "refusal", None),
        (DEAL, '{"answer": 2}', "ok", 2),
        (DEAL, '{"answer": "keep it."}', "ok_canonicalised", 2),
        (DEAL, '{"answer": "2. Keep it"}', "ok_canonicalised", 2),
        (DEAL, '{"answer": 3}', "parse_error", None),
        (DEAL, '{"answer": "burn it"}', "parse_error", None),
        (WHY, '{"answer": " I like them. "}', "ok", "I like them."),
        (WHY, '{"answer": 7}', "ok_canonicalised", "7"),
        (WHY, '{"answer": "  "}', "parse_error", None),
        (WHY, '{"answer": ["a", "b"]}', "parse_error", None),
    ],
)
def test_a_reply_is_read_by_the_ladder(asked: Interview, reply: str, code: str, answer: Any) -> None:
    found = interview.read(reply, asked, "en")
    assert found.code == code
    assert [each for each in (found.value, found.choice, found.text) if each is not None] == (
        [] if answer is None else [answer]
    )
    again = interview.read(reply, asked, "en", reask=True)
    assert again.code == (code if answer is None else "reasked")


def test_words_are_cut_at_their_limit_and_made_storable() -> None:
    found = interview.read(json.dumps({"answer": "a" * 1500}), WHY, "en")
    assert (found.code, len(found.text or "")) == ("ok_canonicalised", 1000)
    assert interview.read('{"answer": "a\\u0000b"}', WHY, "en").text == "a\ufffdb"


def test_korean_is_read_and_asked_again_in_korean() -> None:
    assert interview.read('{"답변": "나눈다"}', DEAL, "ko").choice == 1
    wrong = interview.read('{"answer": 9}', TRUST, "ko")
    assert interview.reask_message(wrong, TRUST, "ko") == (
        "직전 답변은 사용할 수 없습니다: answer가 -3부터 3까지의 정수가 아닙니다\n"
        'JSON 객체 하나로만 다시 답하세요: {"answer": 정수}'
    )


@pytest.mark.parametrize(("asked", "kind"), [(TRUST, "integer"), (DEAL, "integer"), (WHY, "string")])
def test_the_schema_asks_for_the_answer_alone(asked: Interview, kind: str) -> None:
    schema: Any = interview.answer_schema(asked, "en")
    assert (list(schema["properties"]), schema["required"]) == (["answer"], ["answer"])
    assert schema["properties"]["answer"]["type"] == kind
    assert list(unheld(portable(schema))) == []
    assert schema["properties"]["answer"].get("enum") == {"trust": [*range(-3, 4)], "deal": [1, 2]}.get(asked.id)


def test_the_prompt_ends_in_the_question(scene_of: Callable[..., Scene]) -> None:
    asked = interview.render(scene_of(language="en"), DEAL)
    assert asked.user.endswith(
        "\n---\nBased on the situation above, do not act now, but answer this question:\n"
        "How much do you {trust}?\n\n1. Share it\n2. Keep it\n\nAnswer with one number from 1 to 2.\n"
        'Respond in JSON format:\n{\n  "answer": a whole number\n}'
    )


@pytest.mark.parametrize(
    ("template", "left"),
    [
        ("You see {events}\n{actions}\n\n---\nAct now.", "You see {events}\n{actions}\n"),
        ("You see {events}. {actions} Act now.", "You see {events}. {actions}"),
        ("---\n{actions}\nAct, {agent_id}!", "---\n{actions}\nAct, {agent_id}"),
        ("Rules\n---\n{actions} now", "Rules\n---\n{actions}"),
    ],
)
def test_of_a_template_of_ones_own_the_closing_request_is_left_out(
    scene_of: Callable[..., Scene], template: str, left: str
) -> None:
    assert prompts.without_request(template) == left
    own = OwnScene(place_title="Well", texts={"template": template})
    assert "ct now" not in interview.render(scene_of(own=own), TRUST).user


@pytest.mark.parametrize("asked", [TRUST, DEAL, WHY])
def test_scripted_models_answer_by_their_profile_and_the_seed(asked: Interview) -> None:
    def said(alias: str, seed: str) -> list[Any]:
        found = []
        for number in range(60):
            messages = (ChatMessage("system", "s"), ChatMessage("user", f"question {number}"))
            turn = ScriptedTurn(ModelRequest(alias=alias, messages=messages), seed)
            found.append(interview.read(visitors.answer_aside(alias, asked, "en", turn).text, asked, "en"))
        return found

    steady, again, other, reseeded = (
        said(*each)
        for each in (
            ("scripted-steady", "1"),
            ("scripted-steady", "1"),
            ("scripted-wild", "1"),
            ("scripted-steady", "2"),
        )
    )
    assert steady == again
    assert steady != other
    assert steady != reseeded
    assert sum(answer.code.startswith("ok") for answer in steady) > 40


def test_a_profile_leans_the_same_way_in_every_run() -> None:
    wide = Interview(id="wide", at=(0,), ask=ASK, scale=InterviewScale(from_=1, to=50), choices=UNSET)
    means = set()
    for seed in "123":
        values = []
        for number in range(40):
            turn = ScriptedTurn(ModelRequest(alias="scripted", messages=(ChatMessage("user", str(number)),)), seed)
            found = interview.read(visitors.answer_aside("scripted", wide, "en", turn).text, wide, "en").value
            values += [] if found is None else [found]
        means.add(round(sum(values) / len(values)))
    assert max(means) - min(means) <= 1
    assert residents.profile("scripted")
