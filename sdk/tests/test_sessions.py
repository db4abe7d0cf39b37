"""Following a legal session over connections that break, and what its calls send."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import msgspec
import pytest
from playmolt import Refused, Retry, Unavailable
from playmolt.sessions import AsyncSessions
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.games.legal import OpenSessionRequest, Session
from playmolt_schemas.routes import legal
from playmolt_schemas.stored.legal import Facts, SteeringSettings

QUICK = Retry(attempts=4, seconds=60.0, base=0.01, cap=0.02)
SESSION = Session(
    id="legal-1", case_type="civil", jurisdiction="KR", title="Deposit", language="en", exclusions=(), model="scripted",
    created_at="", version=3, phase="FINALIZE_DONE", facts=Facts(), steering=SteeringSettings(), steering_history=(),
    turns=(),
    gate=None, failed=None, previous_session=None, next_session=None,
)  # fmt: skip
TOLD = [
    {"type": "progress", "version": 1},
    {"type": "gate_opened", "version": 2},
    {"type": "session_done", "version": 3},
]


class Server:
    """Answers streams one after the other with what is scripted, and every other call with the session."""

    def __init__(self, *streams: Sequence[dict[str, Any]] | int) -> None:
        self.streams = list(streams)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if not request.url.path.endswith("/stream"):
            return httpx.Response(200, json=json.loads(_json(SESSION)))
        stream = self.streams.pop(0)
        if isinstance(stream, int):
            code = Code.UNAVAILABLE if stream == 503 else Code.NOT_FOUND
            return httpx.Response(stream, content=problem_bytes(code, "not now"))
        return httpx.Response(200, text="".join(f"id: {m['version']}\ndata: {json.dumps(m)}\n\n" for m in stream))


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value)


async def followed(server: Callable[[httpx.Request], httpx.Response], after: int = 0) -> list[dict[str, Any]]:
    client = AsyncSessions("http://test", "key", retry=QUICK, transport=httpx.MockTransport(server))
    async with client:
        return [message async for message in client.follow("legal-1", after=after)]


@pytest.mark.parametrize(
    "streams",
    [
        [TOLD],
        [TOLD[:1], TOLD[:2], TOLD],
        [TOLD[:2], TOLD[2:]],
        [[TOLD[0], TOLD[2]], TOLD[1:]],
        [503, TOLD[:1], 503, TOLD],
    ],
    ids=["in one go", "broken off and repeated", "taken up", "with a hole", "away now and then"],
)
async def test_each_message_comes_once_and_in_order(streams: list[Any]) -> None:
    server = Server(*streams)
    assert await followed(server) == TOLD
    assert server.streams == []


async def test_a_connection_goes_on_where_the_last_one_stopped() -> None:
    server = Server(TOLD[:2], TOLD[2:])
    await followed(server)
    first, second = (request for request in server.asked if request.url.path == "/api/sessions/legal-1/stream")
    assert (first.url.params["after"], second.url.params["after"]) == ("0", "2")
    assert second.headers["last-event-id"] == "2"
    assert second.headers["authorization"] == "Bearer key"


async def test_a_stream_opened_at_its_end_ends() -> None:
    assert await followed(Server([]), after=3) == []


async def test_a_session_that_is_not_ones_own_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        await followed(Server(404))
    assert refused.value.code == "not_found"


async def test_a_server_that_stays_away_is_given_up() -> None:
    with pytest.raises(Unavailable):
        await followed(Server(*[503] * QUICK.attempts))


async def test_the_calls_send_what_the_api_takes() -> None:
    server = Server()
    client = AsyncSessions("http://test", "key", retry=QUICK, transport=httpx.MockTransport(server))
    opening = OpenSessionRequest(case_type="civil", jurisdiction="KR", title="Deposit", language="en")
    async with client:
        assert (await client.call(legal.OPEN_SESSION, body=opening)).id == "legal-1"
        await client.call(legal.POST_FACTS, "legal-1", body={"overview": "o"})
        await client.call(legal.POST_STEERING, "../x", body={"gate": "end"})
        await client.call(legal.RETRY_TURN, "legal-1")
        assert await client.call(legal.READ_REPORT, "legal-1", query={"format": "md"}) == _json(SESSION)
    sent = [(request.method, request.url.raw_path.decode()) for request in server.asked]
    assert sent == [
        ("POST", "/api/sessions"),
        ("POST", "/api/sessions/legal-1/facts"),
        ("POST", "/api/sessions/..%2Fx/steering"),
        ("POST", "/api/sessions/legal-1/retry"),
        ("GET", "/api/sessions/legal-1/report?format=md"),
    ]
    keys = [request.headers["idempotency-key"] for request in server.asked if request.method == "POST"]
    assert len(set(keys)) == 4
    assert json.loads(server.asked[0].content)["title"] == "Deposit"
