"""Routes of a game's own: forwarded to its engine, which checks and answers them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer, Op
from playmolt_schemas.identifiers import id_of_command
from playmolt_schemas.routes import jury, legal, panels
from starlette.responses import Response

from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import answer_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, forwards, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import LongPoll, wait_for_newer

_encode = msgspec.json.encode
_NOT_YOURS = HttpProblem(
    Code.OPERATOR_ONLY, "Only the operator may open panels. Set PLAYMOLT_PANELS=keys to allow any key."
)


class _GameCall(msgspec.Struct):
    route: str
    params: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    offset: int = 0


@forwards
async def pass_on(services: Services, request: CheckedRequest) -> Reply:
    """Forward a call; if its answer needs a model or the chain, wait up to `HandlerTimeouts.slow`."""
    if request.route.method != "POST" and not request.route.writes:
        return await read_whole(services, request)
    poll = request.poll(services.waits)
    if isinstance(poll, HttpProblem):
        return poll
    async with poll:
        if not request.route.names_one and request.caller.id:
            return await _open(services, request, poll)
        return await _changed(services, request, poll)


@serves(panels.OPEN_PANEL)
async def open_panel(services: Services, request: CheckedRequest[panels.OpenPanelQuery, msgspec.Raw]) -> Reply:
    """Open a panel, or preview its plan. A panel counts as a session of its key, and later each of its juries does."""
    if not request.caller.operator and services.settings.panels == "operator":
        return _NOT_YOURS
    if request.query.dry:
        return answer_response(await _submit(services, request, "command"))
    refusal = None
    if request.caller.id:
        session = _target(request)
        refusal = await services.within_deadline(services.rates.session_refusal(request.caller, request.game, session))
    if refusal:
        return refusal
    answer = await _submit(services, request, "command")
    if answer.status == HTTPStatus.CREATED:
        answer = msgspec.structs.replace(answer, status=HTTPStatus.ACCEPTED.value)
    elif HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR and request.caller.id:
        await services.within_deadline(services.rates.give_session_up(_target(request)))
    return answer_response(answer)


@serves(legal.ERASE_SESSION, jury.ERASE)
async def erase(services: Services, request: CheckedRequest) -> Reply:
    """Erase a session; its engine checks the owner."""
    agent = request.caller.agent
    answer = await services.bus.submit(
        request.game, "erase", request.params["id"], agent=agent.id if agent else "", operator=request.caller.operator,
        trace=request.trace,
    )  # fmt: skip
    return answer_response(answer)


async def _open(services: Services, request: CheckedRequest, poll: LongPoll) -> Reply:
    """Open a session if the owner's quota allows it; release the place if the engine refuses."""
    session = _target(request)
    refusal = await services.within_deadline(services.rates.session_refusal(request.caller, request.game, session))
    if refusal:
        return refusal
    reply = await _changed(services, request, poll)
    if HTTPStatus.BAD_REQUEST <= reply.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        await services.within_deadline(services.rates.give_session_up(session))
    return reply


async def _changed(services: Services, request: CheckedRequest, poll: LongPoll) -> Response:
    answer = await _submit(services, request, "command")
    return answer_response(await _awaited(services, request, answer, poll) if answer.status == 202 else answer)


def _target(request: CheckedRequest) -> str:
    if request.route.names_one:
        return request.params["id"]
    return id_of_command(request.game, request.command.id) if request.command.id else ""


def _submit(services: Services, request: CheckedRequest, op: Op, offset: int = 0) -> "asyncio.Future[Answer]":
    params = {name: value for name, value in request.params.items() if name != "id"}
    query = {name: value for name, value in msgspec.to_builtins(request.query).items() if value is not None}
    body = _encode(_GameCall(request.route.name, params, query, request.body, offset))
    agent = request.caller.agent
    return services.bus.submit(
        request.game, op, _target(request), body, agent=agent.id if agent else "", name=agent.name if agent else "",
        operator=request.caller.operator, command_id=request.command.id, fingerprint=request.command.fingerprint,
        trace=request.trace, deadline=services.timeouts.slow if request.route.patient else None,
    )  # fmt: skip


async def read_whole(services: Services, request: CheckedRequest) -> Reply:
    """Read an answer in as many parts as needed, waiting up to `HandlerTimeouts.slow` while it is being made."""
    answer = await _made(services, request)
    body, last = answer.body, answer
    while len(body) < answer.total and last.status == answer.status and last.body:
        last = await _submit(services, request, "query", len(body))
        body += last.body
    return answer_response(msgspec.structs.replace(answer, body=body), request.params.get("id", request.route.name))


async def _made(services: Services, request: CheckedRequest) -> Answer:
    answer = await _submit(services, request, "query")
    poll = request.poll(services.waits) if answer.status == 202 else None
    if poll is None or isinstance(poll, HttpProblem):
        return answer
    clock = asyncio.get_running_loop().time
    end = clock() + services.timeouts.slow
    async with poll:
        while answer.status == 202 and not poll.over and clock() < end:
            await poll.first((), 0.5)
            answer = await _submit(services, request, "query")
    return answer


async def _awaited(services: Services, request: CheckedRequest, answer: Answer, poll: LongPoll) -> Answer:
    """Poll after every change of the session until the call has its answer or the time is up.

    The command is already stored, so if the engine becomes unavailable the answer stays 202.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + services.timeouts.slow
    with suppress(*UNAVAILABLE_ERRORS):
        watch = await services.bus.watch(request.game, _target(request))
        try:
            while True:
                with suppress(*UNAVAILABLE_ERRORS):
                    answer = await _submit(services, request, "query")
                if answer.status != 202 or poll.over or clock() >= end:
                    break
                pause = min(services.timeouts.poll, end - clock())
                await poll.first([wait_for_newer(watch, 0, pause)], pause)
        finally:
            await watch.close()
    return answer
