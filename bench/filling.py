"""Fills a log with whole O/X games, which a real engine decides and appends, without gateway and bus."""

import asyncio
import json
import uuid

from playmolt_core.db.pool import open_pool
from playmolt_core.engine.engine import Engine
from playmolt_core.engine.settings import EngineSettings
from playmolt_core.log.postgres import PostgresLog
from playmolt_ox.rules import Ox
from playmolt_schemas.envelopes import Answer, Call, Op

GAME_EVENTS = 73
"""Events of a finished game with five agents."""
_GAMES_AT_ONCE = 64
_SEATS, _ROUNDS = 5, 5
_SWITCH = b'{"type":"switch","use_switch":false,"comment":""}'


async def fill(url: str, events: int, *, running: int = 0) -> list[str]:
    """Append about `events` events and return the games. `running` of them stop after their first choices."""
    pool = await open_pool(url)
    engine = Engine(Ox(), PostgresLog(pool), EngineSettings(phase_deadline_seconds=0), lambda _: None)
    engine.start()
    games: list[str] = []
    try:
        for _ in range(-(-events // (GAME_EVENTS * _GAMES_AT_ONCE))):
            games += await _play(engine, _GAMES_AT_ONCE, _ROUNDS)
        for _ in range(-(-running // _GAMES_AT_ONCE)):
            games += await _play(engine, _GAMES_AT_ONCE, 1)
    finally:
        await engine.stop()
        await pool.close()
    return games


async def _play(engine: Engine, games: int, rounds: int) -> list[str]:
    agents = [f"agent-{uuid.uuid4()}" for _ in range(games * _SEATS)]
    seats = await asyncio.gather(*(_call(engine, "join", "", agent) for agent in agents))
    played = [json.loads(seat.body)["game_id"] for seat in seats]
    for number in range(rounds):
        for choose in (True, False):
            acts = [
                _call(engine, "act", game, agent, _choice(place, number) if choose else _SWITCH)
                for place, (game, agent) in enumerate(zip(played, agents, strict=True))
            ]
            assert {answer.status for answer in await asyncio.gather(*acts)} == {200}
    return list(dict.fromkeys(played))


def _choice(place: int, number: int) -> bytes:
    side = "OX"[(place + number) % 2]
    return b'{"type":"first_choice","choice":"%b","comment":"a comment of usual length, say"}' % side.encode()


def _call(engine: Engine, op: Op, target: str, agent: str, body: bytes = b"{}") -> "asyncio.Future[Answer]":
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    call = Call(0, op, target, body, agent, f"bench {agent[6:14]}", command_id=uuid.uuid4().hex)
    engine.receive(call, future.set_result)
    return future
