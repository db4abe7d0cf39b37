"""Two sessions that differ in secrets alone look the same, byte for byte, until the verdict."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import Refused
from playmolt_core.llm.port import Reply, ToolCall
from playmolt_jury.content.material import TopicImpact, Weakness

JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
ABOUT = [TopicImpact(topic="technical_responsibility", impact="positive")]
SECRETS = ("stance\":", "stances", "initial_stance", "topic_weights", "weakness\":", "trigger_keywords", "role_prompt",
           "speaker_power", "Weak Spot", "You are ")  # fmt: skip


def played(session: Any) -> tuple[list[Any], list[Any]]:
    """Plays one course up to the vote; gives every answer to the owner and every message of the stream."""
    answers: list[Any] = []

    def tell(answer: Any) -> None:
        answers.append([answer.code.wire, answer.detail] if isinstance(answer, Refused) else answer)

    tell(session.call("jury_read"))
    session.crack()
    tell(session.call("jury_evidence_list"))
    session.to("persuasion")
    session.said["classify"] = {"topics": ABOUT}
    for juror in JURORS:
        tell(session.chat(juror, "Listen to me."))
        tell(session.call("jury_present", juror_id=juror, evidence_id="E2"))
    tell(session.call("jury_phase", {"to": "deliberation"}))
    session.said["speech"] = {"text": "So I say.", "topics": [TopicImpact(topic=ABOUT[0].topic, impact="neutral")]}
    tell(session.call("jury_notes", {"juror_id": "radical", "text": "Think."}))
    for _ in range(4):
        tell(session.call("jury_next"))
    tell(session.call("jury_verdict"))
    tell(session.call("jury_read"))
    return answers, session.messages()


CALM: dict[str, dict[str, Any]] = {
    juror: {
        "initial_stance": stance,
        "topic_weights": {"technical_responsibility": 1, "emotional_appeal": 1},
        "weakness": Weakness(trigger_keywords=("weak spot",)),
    }
    for juror, stance in zip(JURORS, (70, 92, 10, 50, 32), strict=True)
}
"""Far from every band's edge and from each other, so that what differs in a twin crosses none and changes no order."""
TWINS: dict[str, dict[str, dict[str, Any]]] = {
    "stances within a band": {"ophiuchus": {"initial_stance": 73}, "opportunist": {"initial_stance": 47}},
    "weights": {juror: {"topic_weights": {"technical_responsibility": 2, "public_safety": 9}} for juror in JURORS},
    "weakness": {juror: {"weakness": Weakness(trigger_keywords=("lullaby",))} for juror in JURORS},
    "role prompts": {juror: {"role_prompt": "Somebody else entirely."} for juror in JURORS},
    "powers": {juror: {"speaker_power": "0.1"} for juror in JURORS},
}


@pytest.mark.parametrize("secret", TWINS)
def test_a_secret_changes_no_byte_before_the_verdict(sessions: Callable[..., Any], secret: str) -> None:
    first = sessions(jurors=CALM)
    second = sessions(jurors={juror: CALM[juror] | TWINS[secret].get(juror, {}) for juror in JURORS})
    assert first.log[0][0] != second.log[0][0]
    assert json.dumps(played(first)) == json.dumps(played(second))


def test_the_secrets_did_change_what_is_stored(sessions: Callable[..., Any]) -> None:
    first, second = sessions(), sessions(jurors={"ophiuchus": {"initial_stance": 61, "speaker_power": "0.2"}})
    played(first)
    played(second)
    assert [event.after for event in first.events("stance_changed")] != [
        event.after for event in second.events("stance_changed")
    ]


def test_nothing_secret_is_in_any_byte_before_the_verdict(sessions: Callable[..., Any]) -> None:
    session = sessions()
    answers, messages = played(session)
    session.call("jury_vote")
    session.chain(until="verdict")
    told = json.dumps([answers, messages, session.messages(), session.view()])
    assert [secret for secret in SECRETS if secret.replace('"', '\\"') in told or secret in told] == []


def test_after_the_verdict_stances_are_open(session: Any) -> None:
    session.to("ended")
    told = msgspec.json.encode([session.view(), session.call("jury_verdict")]).decode()
    assert told.count('"stance":') == 10


def test_how_a_juror_means_to_vote_is_not_told(session: Any) -> None:
    session.to("vote")
    session.said["vote"] = Reply(text="", tool_calls=(ToolCall("c1", "cast_vote", '{"guilty":true}'),), attempts=1)
    session.call("jury_vote")
    tools = [message for message in session.messages() if message["type"] == "tool_called"]
    assert {(message["tool"], message["input"]) for message in tools} == {("cast_vote", None)}
    assert not any("guilty" in message for message in session.messages())
