"""What is told of an answer while it comes: every text of it in order, no ids, keys or braces."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.llm.port import TurnHeader
from playmolt_legal import outputs
from playmolt_legal.roles import scripted
from playmolt_legal.workers.speech import JsonTextExtractor, ReplyForwarder


@pytest.mark.parametrize("phase", ["JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R2", "JUDGE_R3", "VERIFIER_R3"])
@pytest.mark.parametrize("size", [1, 5, 10_000])
def test_the_pieces_together_hold_every_text_in_order(
    sessions: Callable[..., Any], language: str, phase: str, size: int
) -> None:
    session = sessions(profile="conditional", language=language).to(phase)
    answer = scripted.answer(session.state, phase, profile="conditional")
    said = json.dumps(answer, ensure_ascii=size == 5)
    texts = JsonTextExtractor()
    told = "".join(texts.feed(said[start : start + size]) for start in range(0, len(said), size))
    wanted = [text for _, text in outputs.texts(answer)]
    assert [line for line in told.split("\n") if line in wanted or not line] == told.split("\n")
    assert told.split("\n")[:-1] == wanted
    for sign in ("{", "}", "SteeringComplianceCheck", "basis"):
        assert sign not in told


def test_what_stands_before_the_object_and_broken_escapes_are_no_text() -> None:
    texts = JsonTextExtractor()
    said = '{"Issues": ["a\\"b\\u00e9\\ud83d\\ude00", "\\n"], "x": {"basis": ["F1"], "text": "t"}}'
    told = texts.feed(f'Here: "not said" ```json\n{said}')
    assert told == 'a"bé😀\n\n\nt\n'


async def test_messages_are_counted_and_restart_with_each_attempt() -> None:
    told: list[dict[str, Any]] = []
    teller = ReplyForwarder(
        lambda session, data: told.append({"to": session, **msgspec.json.decode(data)}),
        TurnHeader("legal-1", "JUDGE_R2", "repair"),
    )
    for _ in range(2):
        teller.begin()
        teller.say('{"Issues": ["one')
        teller.say(' two"]}')
        teller.end()
    assert [each["n"] for each in told] == [1, 2, 1, 2]
    assert told[0] == {
        "to": "legal-1", "type": "speaking", "session_id": "legal-1", "phase": "JUDGE_R2", "kind": "repair", "n": 1,
        "delta": "one",
    }  # fmt: skip
    assert "".join(each["delta"] for each in told[:2]) == "one two\n"
