"""Runs of experiments: list, events and forks."""

from typing import Any

import msgspec
from playmolt_schemas.api import GameRow
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.agora import FORK, LIST_RUNS, ForkRequest, RunsPage, RunsQuery
from playmolt_schemas.routes.route import Query

from playmolt_gateway.http.problems import bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.games import ask_engine, list_rows

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
        return answer_response(found)
    run, fork = _run_of(found.body), request.body
    if fork.at > run.version:
        fault = f"must be between 1 and {run.version}, the run's version"
        return bad_request(f"at: {fault}.", FieldFault("at", fault))
    return answer_response(await _command_experiment(services, request, run.experiment, fork))


async def _command_experiment(
    services: Services, request: CheckedRequest, experiment: str, fork: ForkRequest
) -> Answer:
    body: dict[str, Any] = {"route": "agora_fork", "params": {"run": request.params["id"]}, "query": {}, "body": fork}
    return await services.bus.submit(
        experiment.partition("-")[0], "command", experiment, _encode(body), operator=True,
        command_id=request.command.id, fingerprint=request.command.fingerprint, trace=request.trace,
    )  # fmt: skip
