"""A game that several engines serve: the ledger of its end holds what each of them refused."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.log.memory import MemoryLog
from playmolt_ox.rules import Ox
from playmolt_schemas.envelopes import Answer, Call, Op

SECONDS = 60
Calling = Callable[..., Any]


@pytest.fixture
async def engines() -> AsyncIterator[tuple[Engine, Engine]]:
    log = MemoryLog()
    one, other = (Engine(Ox(), log, EngineSettings(phase_deadline_seconds=0), lambda _: None) for _ in range(2))
    for engine in (one, other):
        engine.start()
    yield one, other
    for engine in (one, other):
        await engine.stop()


async def call(engine: Engine, op: Op, target: str = "", body: Any = None, **options: Any) -> tuple[int, Any]:
    answered: asyncio.Future[tuple[int, Any]] = asyncio.get_running_loop().create_future()

    def respond(answer: Answer) -> None:
        answered.set_result((answer.status, msgspec.json.decode(answer.body)))

    asked = Call(1, op, target, msgspec.json.encode(body or {}), command_id=uuid.uuid4().hex, **options)
    async with asyncio.timeout(SECONDS):
        engine.receive(asked, respond)
        return await answered


async def started(engine: Engine) -> str:
    for number in range(5):
        _, joined = await call(engine, "join", agent=f"agent-{number}", name=f"N{number}")
    return str(joined["game_id"])


async def refused(engine: Engine, game: str, agent: str = "agent-0") -> None:
    status, _ = await call(engine, "act", game, {"type": "first_choice", "choice": "Z"}, agent=agent)
    assert status == 400


async def ledger(engine: Engine, game: str) -> dict[tuple[str, str], int]:
    _, state = await call(engine, "state", game)
    return {(fault["agent_id"], fault["what"]): fault["count"] for fault in state["faults"]}


async def test_what_one_replica_refused_is_in_the_end_that_another_writes(engines: tuple[Engine, Engine]) -> None:
    """Seen: the refusals of the first were lost, it never wrote an event of the game again."""
    one, other = engines
    game = await started(one)
    for engine in (one, other, one):
        await refused(engine, game)
    await call(one, "fault", game, {"what": "callback_timeout"}, agent="agent-1")
    status, _ = await call(other, "end", game, {"reason": "enough"}, operator=True)
    assert status == 200
    counted = {key: count for key, count in (await ledger(other, game)).items() if key[1] != "ended"}
    assert counted == {("agent-0", "refused"): 3, ("agent-1", "callback_timeout"): 1}
    assert await ledger(one, game) == await ledger(other, game)


async def test_refusals_while_a_game_ends_are_counted_or_told_that_it_is_over(engines: tuple[Engine, Engine]) -> None:
    one, other = engines
    game = await started(one)
    acting = [
        call(one, "act", game, {"type": "first_choice", "choice": "Z"}, agent=f"agent-{number % 5}")
        for number in range(20)
    ]
    *answers, (ended, _) = await asyncio.gather(*acting, call(other, "end", game, {"reason": "enough"}, operator=True))
    assert ended == 200
    codes = [body["code"] for _, body in answers]
    assert set(codes) <= {"invalid_action", "game_over"}
    counted = {key: count for key, count in (await ledger(other, game)).items() if key[1] == "refused"}
    assert sum(counted.values()) == codes.count("invalid_action")
