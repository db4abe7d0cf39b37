"""The audit's bodies that cost far more to read than to send."""

import json

import pytest
from playmolt_schemas.limits import BODY_BYTES

from tests.integration.gateway.audit.wire import process, processor_seconds
from tests.integration.gateway.rows import Platform

TIMES = 20
MOST_SECONDS = 0.02
"""Of processor time, a body; the audit's 5 ms on a machine that is four times as slow."""
BODIES = {
    "floats": b"[" + b",".join([b"1e308"] * (BODY_BYTES // 6 - 2)) + b"]",
    "small floats": b"[" + b",".join([b"1e-300"] * (BODY_BYTES // 7 - 2)) + b"]",
    "truncated": b"[" + b",".join([b"1e308"] * (BODY_BYTES // 6 - 2)),
    "long numbers": b"[" + b",".join([b"1" * 400] * (BODY_BYTES // 401 - 2)) + b"]",
    "lists": b"[" + b",".join([b"[]"] * (BODY_BYTES // 3 - 2)) + b"]",
    "depth": b"[" + b",".join([b"[" * 90 + b"]" * 90] * (BODY_BYTES // 181 - 1)) + b"]",
}
PATHS = ["/api/agents", "/api/sessions", "/api/jury/sessions", "/api/games/{game}/actions"]


@pytest.mark.parametrize("body", BODIES)
def test_no_body_holds_a_process(audited: Platform, body: str) -> None:
    """Given a costly body, when it is sent to each kind of route, then it is refused, and no process works on it."""
    audited.clear()
    guest = audited.guest()
    game = guest.join("ox")
    names = ("gateway", "ox-engine", "legal-orchestrator", "trial-engine")
    before = {name: processor_seconds(process(audited, name)) for name in names}
    for path in PATHS:
        for _ in range(TIMES):
            answer = guest.ask("POST", path.format(game=game), content=BODIES[body])
            assert 400 <= answer.status_code < 500, answer.text
            assert answer.headers["content-type"] == "application/problem+json"
    took = {name: processor_seconds(process(audited, name)) - before[name] for name in names}
    assert all(seconds < MOST_SECONDS * TIMES * len(PATHS) for seconds in took.values()), took


def test_facts_full_of_quotes_hold_no_other_caller_up(audited: Platform) -> None:
    """Given 40 KB that a session accepts, then what that sets off takes its engine no long while in one piece."""
    guest = audited.guest()
    opened = guest.post(
        "/api/sessions", {"case_type": "civil", "jurisdiction": "Korea", "title": "Quotes", "language": "en"}
    )
    session = opened.json()["id"]
    facts = {
        "overview": '"' * 4_000, "acts": "'\"" * 2_000, "opposing_claims": "“”" * 1_000,
        "timeline": [{"when": "2024", "what": '"' * 500, "agreed": True}] * 10,
        "evidence": [{"title": "a", "description": '"' * 1_000}] * 10,
    }  # fmt: skip
    assert len(json.dumps(facts)) < BODY_BYTES
    before = processor_seconds(process(audited, "legal-orchestrator"))
    answer = guest.post(f"/api/sessions/{session}/facts", facts)
    assert answer.status_code < 500, answer.text
    assert guest.get(f"/api/sessions/{session}").status_code == 200
    assert processor_seconds(process(audited, "legal-orchestrator")) - before < 1
