"""Final instructions: one more turn, traced like all else, and a report with what it said."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import EndGame, Refused
from playmolt_legal import commands, effects, texts
from playmolt_legal.report import formats
from playmolt_legal.report.report import report
from playmolt_legal.roles import prompts
from playmolt_legal.rules import Legal
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.legal import AttemptMade, SessionDone, SessionRested, TurnFailed, TurnRecorded, TurnStarted

from core.tests.decided_again import redecided
from core.tests.scenario import like

WISH = "이사회에 낼 세 문장으로 줄이고, 합의안을 먼저 쓴다."


@pytest.fixture
def asked(sessions: Callable[..., Any], language: str) -> Any:
    return sessions(language=language).to("end").form("end", final_instructions=WISH)


def told(session: Any) -> Any:
    made = report(session.state)
    assert not isinstance(made, Refused), made
    return made


def test_the_session_is_at_its_end_gate_until_the_last_turn_has_come(asked: Any) -> None:
    shown = asked.view()
    assert (shown["phase"], shown["gate"], shown["final"]) == (
        "END_GATE", None, {"instructions": WISH, "status": "asked"},
    )  # fmt: skip
    refused = report(asked.state)
    assert isinstance(refused, Refused)
    assert refused.code is Code.NOT_FINISHED
    assert asked.messages()[-1] == {**asked.messages()[-1], "type": "turn_started", "phase": "FINAL"}
    asked.spoken().then(like(TurnRecorded, phase="FINAL"), SessionDone())
    shown = asked.view()
    assert (shown["phase"], shown["final"]["status"], shown["failed"]) == ("FINALIZE_DONE", "done", None)
    assert [message["type"] for message in asked.messages()[-2:]] == ["turn_done", "session_done"]
    assert all(turn["phase"] != "FINAL" for turn in shown["turns"])


def test_the_model_is_given_the_instructions_and_the_whole_case(asked: Any) -> None:
    (effect,) = effects.effects(asked.state)
    system, user = (message["content"] for message in prompts.prompt(asked.state, effect.payload))
    assert system.startswith(prompts.steering_block(asked.state))
    assert f"UserNotes: {WISH}" in system
    assert texts.of(asked.language).tasks["final"] in system
    assert "NotFollowed" in system
    assert "VERIFIER_R3" in user


def test_what_it_says_appears_in_the_answer_of_every_format(asked: Any) -> None:
    said = {"text": "합의가 먼저인가?", "basis": "Unknown", "issue": asked.state.steering.focus_issues[0]}
    asked.spoken({"Answer": [said], "NotFollowed": ["세 문장으로는 부족하다."], "SteeringComplianceCheck": "OK"})
    made = told(asked)
    assert msgspec.json.decode(msgspec.json.encode(made.final)) == {
        "answer": [said],
        "not_followed": ["세 문장으로는 부족하다."],
    }
    assert made.appendix[-1].phase == "FINAL"
    words = texts.of(asked.language)
    for kind in ("md", "html"):
        written = formats.render(made, kind).body.decode()
        assert written.index(said["text"]) < written.index(words.report["facts"])
        assert "세 문장으로는 부족하다." in written


def test_it_is_rewritten_once_and_what_stands_is_marked(asked: Any) -> None:
    promise = {"text": "반드시 승소한다.", "basis": ["F1"], "issue": asked.state.steering.focus_issues[0]}
    answer = {"Answer": [promise], "NotFollowed": [], "SteeringComplianceCheck": "OK"}
    asked.spoken(answer)
    assert asked.state.waiting == "model"
    (effect,) = effects.effects(asked.state)
    assert effect.payload.kind == "rewrite"
    asked.spoken(answer)
    made = told(asked)
    assert [(hit.phase, hit.check, hit.unresolved) for hit in made.guardrail_hits][-1] == (
        "FINAL", "certain_advice", True,
    )  # fmt: skip
    assert texts.of(asked.language).report["unresolved"] in formats.render(made, "md").body.decode()


def test_one_that_fails_ends_the_session_and_is_asked_again_for_a_new_report(asked: Any) -> None:
    asked.failed().then(like(TurnFailed, phase="FINAL"), SessionRested())
    shown = asked.view()
    assert (shown["phase"], shown["failed"]["phase"], shown["final"]["status"]) == ("FINALIZE_DONE", "FINAL", "failed")
    assert asked.messages()[-1]["type"] == "session_done"
    words = texts.of(asked.language)
    before = formats.render(told(asked), "html").body
    assert words.report["final_failed"] in before.decode()
    asked.retry().then(TurnStarted(phase="FINAL"))
    assert asked.view()["phase"] == "FINALIZE_DONE"
    assert formats.render(told(asked), "html").body == before
    attempt = {"outcome": "ok"}
    asked.when(
        commands.Attempted(effect_id=effects.effect_id(asked.state), phase="FINAL", kind="ask", attempt=attempt)
    ).then(like(AttemptMade, phase="FINAL"))
    asked.spoken()
    assert (asked.view()["failed"], asked.view()["final"]["status"]) == (None, "done")
    assert told(asked).final is not None
    asked.retry().refused(Code.NOTHING_TO_RETRY)


def test_no_instructions_and_other_resolutions_ask_for_no_turn(sessions: Callable[..., Any]) -> None:
    plain = sessions().to("end").form("end", final_instructions="  ")
    linked = sessions().to("end").form("end", resolution="new_session", final_instructions=WISH)
    for session in (plain, linked):
        assert session.state.over
        assert session.view()["final"] is None


def test_the_last_turn_is_decided_again_as_it_was(asked: Any) -> None:
    asked.failed().retry().failed().retry().spoken()
    again = redecided(Legal(), asked.recorded)
    assert again.known
    assert again.differs_at is None


def test_an_operator_ends_it_meanwhile(asked: Any) -> None:
    asked.when(EndGame(reason="enough"))
    assert asked.view()["phase"] == "ABORTED"
    assert asked.view()["final"] is None
