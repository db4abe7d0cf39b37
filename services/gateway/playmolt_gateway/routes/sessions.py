"""The calls that a game has of its own: passed on as they come, answered by its engine."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from playmolt_schemas.envelopes import Answer, Op
from playmolt_schemas.identifiers import id_of_command

from playmolt_gateway.http.checked_request import AWAY, Ask, House, Reply, answer_response
from playmolt_gateway.http.waiting import Patience, news
from playmolt_gateway.routes.games import too_many_waits

SLOW_SECONDS: Final = 20.0
"""How long a call waits for a model or the chain before its caller is told to come back (shapes.md, phases)."""
_LOOK_SECONDS: Final = 2.0
_encode = msgspec.json.encode


class _Told(msgspec.Struct):
    route: str
    params: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    offset: int = 0


async def pass_on(house: House, ask: Ask) -> Reply:
    """Pass a call on; where its answer needs a model or the chain, wait for it a while."""
    if ask.route.method != "POST" and not ask.route.writes:
        return await _whole(house, ask)
    if house.closing.full:
        return too_many_waits()
    answer = await _submit(house, ask, "command")
    return answer_response(await _settled(house, ask, answer) if answer.status == 202 else answer)


def _target(ask: Ask) -> str:
    if "{id}" in ask.route.path:
        return ask.params["id"]
    return id_of_command(ask.game, ask.command.id) if ask.command.id else ""


def _submit(house: House, ask: Ask, op: Op, offset: int = 0) -> "asyncio.Future[Answer]":
    params = {name: value for name, value in ask.params.items() if name != "id"}
    query = {name: value for name, value in msgspec.to_builtins(ask.query).items() if value is not None}
    body = _encode(_Told(ask.route.name, params, query, ask.body, offset))
    agent = ask.caller.agent
    return house.bus.submit(
        ask.game, op, _target(ask), body, agent=agent.id if agent else "", name=agent.name if agent else "",
        operator=ask.caller.operator, command_id=ask.command.id, fingerprint=ask.command.fingerprint, trace=ask.trace,
        deadline=SLOW_SECONDS if ask.route.patient else None,
    )  # fmt: skip


async def _whole(house: House, ask: Ask) -> Reply:
    """Read an answer, in as many parts as it takes; wait a while for one that is still being made."""
    answer = await _made(house, ask)
    body, last = answer.body, answer
    while len(body) < answer.total and last.status == answer.status and last.body:
        last = await _submit(house, ask, "query", len(body))
        body += last.body
    return answer_response(msgspec.structs.replace(answer, body=body))


async def _made(house: House, ask: Ask) -> Answer:
    answer = await _submit(house, ask, "query")
    if answer.status != 202 or house.closing.full:
        return answer
    clock = asyncio.get_running_loop().time
    end = clock() + SLOW_SECONDS
    async with Patience(ask.receive, house.closing) as patience:
        while answer.status == 202 and not patience.over and clock() < end:
            await patience.first((), 0.5)
            answer = await _submit(house, ask, "query")
    return answer


async def _settled(house: House, ask: Ask, answer: Answer) -> Answer:
    """Look again whenever the session moves on, until the call is answered or the time is up.

    What the engine has taken is stored: while nobody can say more of it the answer stays its 202.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + SLOW_SECONDS
    with suppress(*AWAY):
        watch = await house.bus.watch(ask.game, _target(ask))
        try:
            async with Patience(ask.receive, house.closing) as patience:
                while True:
                    with suppress(*AWAY):
                        answer = await _submit(house, ask, "query")
                    if answer.status != 202 or patience.over or clock() >= end:
                        break
                    pause = min(_LOOK_SECONDS, end - clock())
                    await patience.first([news(watch, 0, pause)], pause)
        finally:
            await watch.close()
    return answer
