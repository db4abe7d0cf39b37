"""Experiments: plans that are sent; runs, their list and forks."""

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import msgspec
from playmolt_schemas.api import GameRow
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import id_of_command
from playmolt_schemas.routes.agora import FORK, LIST_RUNS, OPEN, PLAN, ForkRequest, OpenQuery, RunsPage, RunsQuery
from playmolt_schemas.routes.route import Query

from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.games import ask_engine, list_rows, named_by_route

_encode = msgspec.json.encode
_RUNS = "agora"


class _Run(msgspec.Struct):
    experiment: str
    version: int


_run_of = msgspec.json.Decoder(_Run).decode


@serves(LIST_RUNS)
async def list_runs(services: Services, request: CheckedRequest[RunsQuery, None]) -> Reply:
    found = await list_rows(services, _RUNS, {}, request.query.limit, request.query.cursor)
    if isinstance(found, Answer):
        return answer_response(found)
    rows, cursor = found
    lines = [
        GameRow(row.game_id, row.gameType, row.phase, row.round, row.seated, row.needed, row.created_at) for row in rows
    ]
    return json_response(200, _encode(RunsPage(lines, cursor)))


@serves(FORK)
async def agora_fork(services: Services, request: CheckedRequest[Query, ForkRequest]) -> Reply:
    """Fork a run; its experiment makes the fork."""
    found = await ask_engine(services, request, "state", {}, agent="")
    if found.status != 200:
        return named_by_route(request, found)
    run, fork = _run_of(found.body), request.body
    if fork.at > run.version:
        fault = f"must be between 1 and {run.version}, the run's version"
        return bad_request(f"at: {fault}.", FieldFault("at", fault))
    return answer_response(await _command_experiment(services, request, run.experiment, fork))


@serves(OPEN)
async def agora_open(services: Services, request: CheckedRequest[OpenQuery, msgspec.Raw]) -> Reply:
    """Send a plan once, then look for its result; what takes longer is looked for at `Location`."""
    plan = id_of_command(request.game, request.command.id)
    poll = request.poll(services.waits)
    if isinstance(poll, HttpProblem):
        return poll
    clock = asyncio.get_running_loop().time
    end = clock() + services.timeouts.plan
    body = _encode({"route": OPEN.name, "params": {}, "query": request.query, "body": request.body})
    answer = await services.bus.submit(
        request.game, "command", plan, body, operator=True, command_id=request.command.id,
        fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
    async with poll:
        while answer.status == HTTPStatus.ACCEPTED and not poll.over and clock() < end:
            await poll.first((), min(services.timeouts.look, max(0.0, end - clock())))
            with suppress(*UNAVAILABLE_ERRORS):  # the plan is stored, so that it is looked for again
                answer = await _result(services, request, plan)
    response = answer_response(answer)
    if answer.status == HTTPStatus.ACCEPTED:
        response.headers["location"] = PLAN.address(plan)
    return response


@serves(PLAN)
async def agora_plan(services: Services, request: CheckedRequest) -> Reply:
    answer = await _result(services, request, request.params["id"])
    if answer.status == HTTPStatus.CREATED:
        answer = msgspec.structs.replace(answer, status=200)
    return answer_response(answer)


async def _result(services: Services, request: CheckedRequest, plan: str) -> Answer:
    """The result of a plan, in as many parts as needed."""
    found: Answer | None = None
    while found is None or len(found.body) < found.total:
        offset = len(found.body) if found else 0
        body = _encode({"route": PLAN.name, "params": {}, "query": {}, "body": None, "offset": offset})
        part = await services.bus.submit(request.game, "query", plan, body, operator=True, trace=request.trace)
        if found is None:
            found = part
        elif part.status != found.status or not part.body:
            return part
        else:
            found = msgspec.structs.replace(found, body=found.body + part.body)
    return found


async def _command_experiment(
    services: Services, request: CheckedRequest, experiment: str, fork: ForkRequest
) -> Answer:
    body: dict[str, Any] = {"route": "agora_fork", "params": {"run": request.params["id"]}, "query": {}, "body": fork}
    return await services.bus.submit(
        experiment.partition("-")[0], "command", experiment, _encode(body), operator=True,
        command_id=request.command.id, fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
