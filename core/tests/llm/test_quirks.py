"""What is made of the bodies that model servers give, each of which was seen somewhere."""

import hashlib
import json
from collections.abc import AsyncIterator

import pytest
from playmolt_core.llm.attempts import RAW_BYTES, recorded
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.parsing import Parsed, parse_object
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply
from playmolt_schemas.canonical import canonical_json

from core.tests.clock import Clock
from core.tests.llm.fake_server import FakeServer, reply, truncated
from core.tests.llm.quirks import QUIRKS, by_alias

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
CODES = {"cut": "invalid_reply", "empty": "invalid_reply", "refusal": "refused"}


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        server.otherwise = by_alias
        yield server


async def asked(server: FakeServer, alias: str, *, words: bool) -> tuple[Reply | Failed, list[Attempt]]:
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    clock = Clock()
    model = OpenAIModel(server.entry(alias, model=alias), "", MemoryLimits(clock=clock), sleep=clock.sleep)
    question = ModelRequest(alias=alias, messages=(ChatMessage("user", "q"),), schema=None if words else SCHEMA)
    try:
        return await model.ask(question, record), attempts
    finally:
        await model.close()


@pytest.mark.parametrize("alias", QUIRKS)
async def test_what_can_be_read_counts_what_cannot_is_named_and_all_is_kept(server: FakeServer, alias: str) -> None:
    quirk = QUIRKS[alias]
    answer, attempts = await asked(server, alias, words=quirk.words)

    assert [attempt.outcome for attempt in attempts] == [quirk.outcome] * quirk.requests
    last = attempts[-1]
    assert (last.usage, last.reasoning) == (quirk.usage, quirk.reasoning)
    assert quirk.detail in (answer.detail if isinstance(answer, Failed) else "")
    if quirk.text is None:
        assert isinstance(answer, Failed)
        assert (answer.code, answer.cut) == (CODES.get(quirk.outcome, "model_unavailable"), quirk.outcome == "cut")
    else:
        assert answer == Reply(text=quirk.text, tool_calls=(), attempts=quirk.requests)
        assert quirk.words or parse_object(quirk.text, SCHEMA) == Parsed({"a": 1})
    assert all(each.body["stream"] is False for each in server.received)
    came = quirk.answer.body.decode(errors="replace")
    assert {attempt.raw for attempt in attempts} == {came}
    fields = json.loads(canonical_json(recorded(last).fields))
    assert (fields["raw"], fields["raw_bytes"]) == (came, len(came.encode()))


async def test_a_long_body_is_kept_apart_under_its_hash(server: FakeServer) -> None:
    server.script(reply("x", padding="y" * RAW_BYTES))
    _, (attempt,) = await asked(server, "as_it_should_be", words=True)
    fields, apart = recorded(attempt)
    assert apart == attempt.raw
    assert fields["raw"] == hashlib.sha256(attempt.raw.encode()).hexdigest()
    assert fields["raw_bytes"] == len(attempt.raw.encode()) > RAW_BYTES


async def test_half_a_body_is_kept_as_far_as_it_came(server: FakeServer) -> None:
    half = truncated()
    server.script(half)
    _, attempts = await asked(server, "as_it_should_be", words=True)
    assert [attempt.outcome for attempt in attempts] == ["connection", "ok"]
    assert attempts[0].raw == half.body[: len(half.body) // 2].decode()


def test_there_are_forty_quirks_and_more() -> None:
    assert len(QUIRKS) >= 40
