"""Stored events of the jury: every type and version has a sample, which reads and writes back to the same bytes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import EndGame, read_event
from playmolt_core.llm.port import Failed, Reply, ToolCall
from playmolt_jury import commands, effects, rules
from playmolt_jury.content.material import TopicImpact
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.event import Event

from core.tests.decided_again import redecided

RULES = rules.jury()
SAMPLES = Path(__file__).parent / "golden" / "events.jsonl"


def samples() -> dict[tuple[str, int], bytes]:
    read = map(msgspec.json.decode, SAMPLES.read_bytes().splitlines())
    return {(each["type"], each["schema_version"]): canonical_json(each["data"]) for each in read}


def every_session(sessions: Callable[..., Any]) -> list[Any]:
    """Plays sessions in which everything happens."""
    session = sessions().crack()
    session.call("jury_evidence", evidence_id="E3")
    session.to("persuasion")
    session.argue("radical", TopicImpact(topic="ai_autonomy", impact="neutral"), text="Your weak spot.")
    session.call("jury_present", juror_id="ophiuchus", evidence_id="E3")
    attempt = {"alias": "scripted", "outcome": "ok", "latency_ms": 12}
    session.when(commands.Attempted(effect_id="w", turn="chat:radical", kind="ask", attempt=attempt))
    session.when(commands.ToolsAnswered(calls_tools=True))
    session.said["chat"] = Failed(code="refused", detail="no", attempts=1)
    session.chat("philosopher")
    session.to("deliberation")
    session.call("jury_notes", {"juror_id": "radical", "text": "Think."})
    session.said["vote:radical"] = _voting()
    session.to("vote")
    session.call("jury_vote")
    session.chain(until="vote")
    lost = commands.ChainLost(effect_id=session.due(effects.CHAIN_EFFECT).id, detail="no case stands there", looks=7)
    session.when(lost)
    session.call("jury_retry")
    session.chain(closed_without=["opportunist"])
    aborted = sessions().when(EndGame(reason="maintenance"))
    return [session, aborted]


def _voting() -> Reply:
    return Reply(text="", tool_calls=(ToolCall("c1", "cast_vote", '{"guilty":true}'),), attempts=1)


@pytest.fixture
def events(sessions: Callable[..., Any]) -> list[Event]:
    return [event for each in every_session(sessions) for event, _, _ in each.log]


def test_every_event_is_decided_again_as_it_was(sessions: Callable[..., Any]) -> None:
    for session in every_session(sessions):
        again = redecided(session.jury, session.recorded)
        assert (again.known, again.differs_at) == (True, None)


def test_every_stored_type_and_version_has_a_sample() -> None:
    assert samples().keys() == RULES.events.keys()


def test_every_sample_reads_and_writes_back_to_the_same_bytes() -> None:
    for (kind, version), sample in samples().items():
        event = read_event(RULES, kind, version, sample)
        assert (event.type, event.schema_version) == (kind, version)
        assert canonical_json(event) == sample


def test_what_is_stored_today_has_the_fields_of_its_sample(events: list[Event]) -> None:
    stored = {key: msgspec.json.decode(sample) for key, sample in samples().items()}
    assert {(event.type, event.schema_version) for event in events} == stored.keys()
    for event in events:
        assert msgspec.to_builtins(event).keys() == stored[event.type, event.schema_version].keys()


def test_an_unknown_type_is_not_guessed() -> None:
    with pytest.raises(LookupError, match="no_such_event"):
        read_event(RULES, "no_such_event", 1, b"{}")
