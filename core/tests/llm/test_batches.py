"""Batches over HTTP: what goes up, what comes down, what a server may do instead."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playmolt_core.llm.batch_calls import BatchRefused, BatchUnavailable, WaitingCall
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.openai.batches import Batches, answered
from playmolt_core.llm.openai.model import OpenAIModel
from playmolt_core.llm.port import ChatMessage, Failed, ModelRequest, Reply

from core.tests.llm.batch_server import BatchServer
from core.tests.llm.fake_server import Canned, FakeServer, reply, status

KEYS = tuple(f"{number:064x}" for number in range(4))


def says(body: dict[str, Any]) -> Canned | None:
    """The third is not answered, the fourth with an error."""
    last = body["messages"][-1]["content"]
    return {"2": None, "3": status(500)}.get(last, reply(f"said {last}", usage=(1000, 100)))


def body(number: int) -> dict[str, Any]:
    return {"model": "fake-model", "messages": [{"role": "user", "content": str(number)}]}


LINES = [WaitingCall(key, "", "fake", body(number), None, 0.0) for number, key in enumerate(KEYS)]


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def batches(server: FakeServer) -> AsyncIterator[Batches]:
    batches = Batches(server.entry(), "a key")
    yield batches
    await batches.close()


async def test_what_a_batch_answers_comes_back_under_the_keys_of_its_lines(
    server: FakeServer, batches: Batches
) -> None:
    stand_in = BatchServer(server, says, slow=1)
    batch = await batches.submit("a-name", LINES)
    assert stand_in.lines(batch) == [
        {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body(number)}
        for number, key in enumerate(KEYS)
    ]
    assert not (await batches.poll(batch)).over
    told = await batches.poll(batch)
    assert told.over
    found = await batches.answers(told)
    assert sorted(found) == [*KEYS[:2]]
    assert {each.headers["authorization"] for each in server.received} == {"Bearer a key"}


async def test_a_batch_is_found_again_by_its_name(server: FakeServer, batches: Batches) -> None:
    stand_in = BatchServer(server, says)
    batch = await batches.submit("a-name", LINES)
    await batches.submit("another", LINES)
    assert await batches.found("a-name") == batch
    assert await batches.found("none") is None
    stand_in.lists = False
    assert await batches.found("a-name") is None


async def test_a_batch_that_its_server_does_not_know_is_over_without_answers(
    server: FakeServer, batches: Batches
) -> None:
    BatchServer(server, says)
    told = await batches.poll("batch_9")
    assert told.over
    assert await batches.answers(told) == {}


@pytest.mark.parametrize(("code", "fault"), [(429, BatchUnavailable), (503, BatchUnavailable), (400, BatchRefused)])
async def test_a_server_without_room_is_away_and_one_that_takes_no_batches_refuses(
    server: FakeServer, batches: Batches, code: int, fault: type[Exception]
) -> None:
    server.otherwise = status(code)
    with pytest.raises(fault):
        await batches.submit("a-name", LINES)


def test_lines_that_cannot_be_read_answer_nothing() -> None:
    lines = [b"", b"no json", b"5", b"{}", b'{"custom_id":"x","response":null}', b'{"custom_id":"short","response":{}}']
    assert [*answered(b"\n".join(lines))] == []


async def test_an_answer_is_read_as_a_reply_at_the_prices_of_batches(server: FakeServer) -> None:
    stand_in = BatchServer(server, says)
    entry = server.entry(input_price="2", output_price="8", batch_input_price="1", reply_tokens=50)
    model = OpenAIModel(entry, "", MemoryLimits())
    request = ModelRequest(alias="fake", messages=(ChatMessage("user", "0"),), decoding="prompt")
    batch = await model.batches.submit("a-name", [WaitingCall(KEYS[0], "", "fake", model.line(request), None, 0.0)])
    found = await model.batches.answers(await model.batches.poll(batch))
    attempt, answer = model.read(request, found[KEYS[0]])
    assert answer == Reply(text="said 0", tool_calls=(), attempts=1)
    assert (attempt.outcome, attempt.status, attempt.cost) == ("ok", 200, "0.0018")
    assert stand_in.lines(batch)[0]["body"]["max_tokens"] == 50
    assert isinstance(model.read(request, '{"choices":[{"message":{"content":""}}]}')[1], Failed)
    await model.close()
