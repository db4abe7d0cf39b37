"""A content filter has one outcome, however a service tells it: one request, a refusal, no repair and no other form."""

import json
from typing import Any

import pytest
from playmolt_core.llm.conversation import ask_object
from playmolt_core.llm.openai.content_filters import ends_filtered
from playmolt_core.llm.openai.server_errors import error_of
from playmolt_core.llm.port import CONTENT_FILTER, ChatMessage, Failed, ModelRequest

from core.tests.llm.connected_model import ConnectedModel
from core.tests.llm.fake_server import FakeServer, raw

FILTERED: tuple[tuple[int, dict[str, Any]], ...] = (
    (400, {"error": {"code": "content_filter", "message": "The response was filtered."}}),
    (400, {"error": {"code": 400, "message": "Request blocked: PROHIBITED_CONTENT", "status": "INVALID_ARGUMENT"}}),
    (403, {"error": {"code": 403, "message": "Input was flagged by moderation", "metadata": {"reasons": ["x"]}}}),
    (422, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "refused"}}),
    (400, {"error": {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}}),
    (400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
    (400, {"error": {"code": "1301", "message": "输入可能包含不安全或敏感内容"}}),
    (500, {"error": {"message": "Output blocked by content filtering policy"}}),
    (200, {"error": {"code": "content_policy_violation", "message": "no"}}),
    (451, {"detail": "The request was rejected by the safety system."}),
)
OTHERS: tuple[dict[str, Any], ...] = (
    {"message": "Incorrect API key provided", "code": "invalid_api_key"},
    {"message": "Insufficient credits", "code": 402},
    {"message": "The model `x` does not exist", "code": "model_not_found"},
    {"message": "Your API key was flagged for abuse", "code": 403},
    {"message": "Access forbidden", "code": 403},
    {"message": "unknown parameter content_filter"},
    {"message": "Your account has been suspended, see our usage policies", "code": 403},
)
REQUEST = ModelRequest(
    alias="fake", messages=(ChatMessage("user", "?"),), schema_name="answer", schema={"type": "object"}
)


@pytest.mark.parametrize(("answered", "body"), FILTERED)
async def test_it_is_one_request_and_a_refusal(answered: int, body: dict[str, Any]) -> None:
    async with FakeServer() as server:
        server.otherwise = lambda _: raw(json.dumps(body).encode(), answered)
        asked = ConnectedModel(server)
        found = await ask_object(asked.model, REQUEST, asked.record)
        await asked.model.close()
    assert isinstance(found, Failed)
    assert (found.code, found.filtered, found.final, found.attempts) == ("refused", True, True, 1)
    assert "another model" in found.detail
    [attempt] = asked.attempts
    assert (attempt.outcome, attempt.code, attempt.status, attempt.uncharged) == (
        "refusal", CONTENT_FILTER, answered, True,
    )  # fmt: skip


@pytest.mark.parametrize("error", OTHERS)
def test_key_credit_and_model_are_no_filter(error: dict[str, Any]) -> None:
    assert not error_of(json.dumps({"error": error}).encode()).filtered


@pytest.mark.parametrize("reason", ["content_filter", "SAFETY", "prohibited_content", "guardrail_intervened"])
def test_a_reply_can_end_by_a_filter(reason: str) -> None:
    assert ends_filtered(reason)
    assert not any(ends_filtered(other) for other in (None, "stop", "length", "tool_calls", "error", ""))
