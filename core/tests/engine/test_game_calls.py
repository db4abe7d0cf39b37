"""Calls of a game's own, and effects: what the engine promises of them, on the in-memory log."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.effects.leases import MemoryLeases
from playmolt_core.engine import pending_call
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.pending_call import BadBody
from playmolt_core.engine.reads.api_queries import SESSIONS, Without
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.game.api import ApiRequest
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import StoredFacts
from playmolt_core.ops.json_values import parse_json
from playmolt_schemas.envelopes import Answer as Reply
from playmolt_schemas.envelopes import Call, Op
from playmolt_schemas.identifiers import id_of_command

from core.tests.asking import Answer, Asking, AskingApi, successor_of
from core.tests.waiting import loop_turns, wait_until


class Worker:
    """Answers questions; counts, and fails or waits when it is to."""

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self.go = asyncio.Event()
        self.go.set()
        self.faults = 0

    async def __call__(self, leased: LeasedEffect) -> None:
        self.attempts.append(leased.attempt)
        await self.go.wait()
        if self.faults:
            self.faults -= 1
            raise RuntimeError("the worker broke")
        await leased.submit(Answer(effect_id=leased.effect.id, text="so it is"))


class Engines:
    """One log, any number of engines on it."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.leases = MemoryLeases()
        self.worker = Worker()
        self.engines: list[Engine] = []
        self.left_out: set[str] = set()

    def engine(self) -> Engine:
        engine = Engine(
            Asking(), self.log, EngineSettings(), lambda _: None,
            api=AskingApi(), workers={"answer": self.worker}, leases=self.leases, fetches={"list": self.without},
        )  # fmt: skip
        engine.start()
        self.engines.append(engine)
        return engine

    async def without(self, _: object, __: ApiRequest) -> Without | None:
        return Without(frozenset(self.left_out)) if self.left_out else None

    async def call(self, op: Op, target: str, body: Any, **options: Any) -> Reply:
        engine = options.pop("engine", self.engines[0])
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        options.setdefault("command_id", uuid.uuid4().hex)
        options.setdefault("agent", "ann")
        engine.receive(Call(1, op, target, msgspec.json.encode(body), **options), future.set_result)
        async with asyncio.timeout(30):
            return await future

    async def command(self, route: str, target: str, body: Any = None, query: Any = None, **options: Any) -> Reply:
        return await self.call(
            "command", target, {"route": route, "params": {}, "query": query or {}, "body": body}, **options
        )

    async def query(self, route: str, target: str, offset: int = 0, **options: Any) -> Reply:
        return await self.call(
            "query", target, {"route": route, "params": {}, "query": {}, "body": None, "offset": offset}, **options
        )

    async def opened(self) -> str:
        command = uuid.uuid4().hex
        target = id_of_command("jury", command)
        assert (await self.command("open", target, "weather", command_id=command)).status == 201
        return target

    async def poll(self) -> None:
        """Make every engine check what is due, and let what it starts run."""
        for engine in self.engines:
            await engine.effects.poll(datetime.now(UTC))
        await loop_turns()

    async def types(self, stream: str) -> list[str]:
        stored = await self.log.load(stream)
        return [record.type for record in stored.records] if stored else []


@pytest.fixture
async def engines() -> AsyncIterator[Engines]:
    engines = Engines()
    engines.engine()
    yield engines
    for engine in engines.engines:
        await engine.stop()


async def test_a_session_is_opened_once_whatever_is_repeated(engines: Engines) -> None:
    command = uuid.uuid4().hex
    target = id_of_command("jury", command)
    answers = [await engines.command("open", target, "weather", command_id=command, fingerprint="f") for _ in range(3)]
    assert {(answer.status, answer.body) for answer in answers} == {(201, answers[0].body)}
    assert await engines.types(target) == ["opened"]
    other = await engines.command("open", target, "war", command_id=command, fingerprint="g")
    assert other.status == 422


async def test_a_past_state_of_a_session_that_is_not_in_memory_takes_one_read(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, other = await engines.opened(), engines.engine()
    await engines.command("put", session, "why")
    read, facts = [], engines.log.facts

    async def counted(stream: str, after: int = 0, *, commands: bool = False) -> StoredFacts | None:
        read.append(stream)
        return await facts(stream, after, commands=commands)

    monkeypatch.setattr(engines.log, "facts", counted)
    for at, waits in ((1, False), (2, True), (1, False)):
        answer = await engines.call("state", session, {"at": at}, engine=other)
        state = msgspec.json.decode(answer.body)
        assert (answer.status, state["version"], bool(state["waiting"])) == (200, at, waits)
    assert read == [session]


async def test_only_a_route_that_opens_makes_a_stream(engines: Engines) -> None:
    assert (await engines.command("put", id_of_command("jury", "0"), "why")).status == 404
    assert (await engines.query("read", id_of_command("jury", "0"))).status == 404
    assert await engines.log.position() == 0


async def test_a_refused_opening_leaves_nothing(engines: Engines) -> None:
    target = id_of_command("jury", "0")
    assert (await engines.command("open", target, 7)).status == 400
    assert (await engines.query("read", target)).status == 404
    assert (await engines.command("open", target, "weather")).status == 201


async def test_a_dry_run_stores_nothing(engines: Engines) -> None:
    answer = await engines.command("open", id_of_command("jury", "0"), "weather", {"dry": 1})
    assert (answer.status, answer.body) == (200, b'{"dry":true}')
    assert await engines.log.position() == 0


async def test_nobody_else_knows_of_it(engines: Engines) -> None:
    session = await engines.opened()
    assert (await engines.query("read", session, agent="bob")).status == 404
    assert (await engines.command("put", session, "why", agent="bob")).status == 404
    assert (await engines.call("feed", session, {}, agent="bob")).status == 404
    feed = msgspec.json.decode((await engines.call("feed", session, {})).body)
    assert [(message["type"], message["session_id"]) for message in feed["messages"]] == [("opened", session)]
    future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    engines.engines[0].receive_public(Call(1, "feed", session), future.set_result)
    assert (await future).status == 404


async def test_a_list_holds_the_callers_own(engines: Engines) -> None:
    await engines.opened()
    assert (await engines.query("list", "")).body == b'["weather"]'
    assert (await engines.query("list", "", agent="bob")).body == b"[]"


async def test_sessions_that_are_left_out_push_no_others_out_of_the_list(engines: Engines) -> None:
    own = await engines.opened()
    engines.left_out = {await engines.opened() for _ in range(SESSIONS)}
    assert (await engines.query("list", "")).body == b'["weather"]'
    engines.left_out.add(own)
    assert (await engines.query("list", "")).body == b"[]"


async def test_the_question_is_stored_before_it_is_answered(engines: Engines) -> None:
    session, command = await engines.opened(), uuid.uuid4().hex
    engines.worker.go.clear()
    answer = await engines.command("put", session, "why", command_id=command)
    assert (answer.status, await engines.types(session)) == (202, ["opened", "asked"])
    engines.worker.go.set()

    async def told() -> bool:
        return (await engines.query("put", session, command_id=command)).status == 200

    await wait_until(told)
    repeat = await engines.command("put", session, "why", command_id=command)
    assert (repeat.status, repeat.body) == (200, b'{"answer":"so it is"}')
    assert await engines.types(session) == ["opened", "asked", "answered"]


async def test_of_two_engines_one_fulfils_an_effect(engines: Engines) -> None:
    session = await engines.opened()
    engines.engine()
    engines.worker.go.clear()
    await engines.command("put", session, "why")
    await engines.poll()
    assert engines.worker.attempts == [1]
    engines.worker.go.set()

    async def answered() -> bool:
        return "answered" in await engines.types(session)

    await wait_until(answered)
    await engines.poll()
    assert engines.worker.attempts == [1]


async def test_an_effect_whose_worker_breaks_is_taken_up_again_as_the_next_attempt(engines: Engines) -> None:
    session = await engines.opened()
    engines.worker.faults = 1
    await engines.command("put", session, "why")

    async def answered() -> bool:
        return "answered" in await engines.types(session)

    await wait_until(answered)
    assert engines.worker.attempts == [1, 2]


async def test_an_effect_of_a_stopped_engine_is_taken_up_by_another(engines: Engines) -> None:
    session = await engines.opened()
    engines.worker.go.clear()
    await engines.command("put", session, "why")
    await wait_until(lambda: engines.worker.attempts)
    first = engines.engines.pop(0)
    stopping = asyncio.create_task(first.effects.stop(drain_seconds=0))
    engines.engine()
    await stopping
    await first.stop()
    engines.worker.go.set()

    async def answered() -> bool:
        return "answered" in await engines.types(session)

    await wait_until(answered)
    assert engines.worker.attempts[-1] == 2


async def test_rules_that_break_harm_no_other_session(engines: Engines) -> None:
    broken, session = await engines.opened(), await engines.opened()
    rules = engines.engines[0].decider

    def effects(state: Any) -> Any:
        if state.id == broken and state.waiting:
            raise RuntimeError("the rules broke")
        return Asking.effects(rules, state)  # type: ignore[arg-type]

    engines.engines[0].decider.effects = effects
    await engines.command("put", broken, "why")
    await engines.command("put", session, "why")

    async def answered() -> bool:
        return "answered" in await engines.types(session)

    await wait_until(answered)


async def test_what_one_session_opens_in_another_is_stored_with_it(engines: Engines) -> None:
    session = await engines.opened()
    assert (await engines.command("close", session)).status == 200
    successor = successor_of(session)
    assert await engines.types(session) == ["opened", "closed"]
    assert msgspec.json.decode((await engines.query("read", successor)).body)["topic"] == "after weather"


@pytest.mark.parametrize("remembered", [True, False])
async def test_an_archived_session_is_one_that_is_not_there(engines: Engines, remembered: bool) -> None:
    session = await engines.opened()
    engines.log.archive(session)
    if not remembered:
        engines.engines[0].streams.drop(session)
    unknown = await engines.query("read", id_of_command("jury", "0"))
    assert unknown.status == 404
    assert (await engines.query("read", session)).body == unknown.body
    assert (await engines.command("put", session, "why")).status == 404
    assert (await engines.command("open", session, "weather")).status == 404
    assert msgspec.json.decode((await engines.query("list", session)).body) == []
    assert (await engines.call("feed", session, {})).status == 404


async def test_a_long_answer_comes_in_parts(engines: Engines) -> None:
    session = await engines.opened()
    first = await engines.query("long", session)
    assert (first.status, first.content_type, first.total) == (200, "text/plain", 2_000_000)
    body = first.body
    while len(body) < first.total:
        body += (await engines.query("long", session, len(body))).body
    assert body == b"x" * 2_000_000


@pytest.mark.parametrize("body", [{}, {"route": "open"}, {"route": 7, "params": {}, "query": {}}, []])
async def test_a_body_that_is_not_a_call_is_refused(engines: Engines, body: Any) -> None:
    for op in ("command", "query"):
        assert (await engines.call(op, id_of_command("jury", "0"), body)).status in (400, 404)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", [b'{"route":"open","params":{},"query":{},"body":[1,', b"[]", b"null", b'{"route":7}', b"1e999"]
)
@pytest.mark.parametrize("op", ["command", "query", "act"])
async def test_a_body_is_decoded_once_and_its_decoder_tells_nobody(
    engines: Engines, monkeypatch: pytest.MonkeyPatch, op: Op, body: bytes
) -> None:
    """Opening a session looks at the body three times; a long one was decoded as often."""
    read: list[bytes] = []
    monkeypatch.setattr(pending_call, "parse_json", lambda data: read.append(data) or parse_json(data))
    future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    call = Call(1, op, id_of_command("jury", "0"), body, agent="ann", command_id="0" * 32)
    engines.engines[0].receive(call, future.set_result)
    async with asyncio.timeout(30):
        answer = await future
    assert read == ([] if op == "act" else [body])
    if op != "act":
        assert (answer.status, msgspec.json.decode(answer.body)["detail"]) == (400, BadBody.refused.detail)


async def test_a_session_that_is_opened_decodes_its_body_once(
    engines: Engines, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    monkeypatch.setattr(pending_call, "parse_json", lambda data: read.append(data) or parse_json(data))
    await engines.opened()
    assert len(read) == 1
