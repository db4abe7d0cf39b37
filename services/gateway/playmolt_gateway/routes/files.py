"""Files behind plain addresses: some browsers save nothing that a script made, and a link sends no key.

The owner asks for an address of one file. Its token is the only secret: it is stored as a hash, opens this file alone,
for minutes, and is in no log, trace or metric, which name the route without its parameters.
"""

import re
from functools import cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from playmolt_core.db.accounts import Agent
from playmolt_core.db.shares import FILE_LINK_SECONDS, FileLink
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import EVENT_STREAM, JSON, NDJSON, SVG, Media, Query, Route
from playmolt_schemas.routes.sharing import LINK_FILE, OPEN_FILE, FileAddress, FileRequest
from starlette.responses import Response
from starlette.routing import compile_path

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.conversion import parse_query
from playmolt_gateway.http.problems import HttpProblem, away, bad_request
from playmolt_gateway.http.responses import json_response, refusal_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest, CommandId, game_of_route
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import missing_page, page_request_of
from playmolt_gateway.routes.sessions import read_whole

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_NOT_FILES: Final = (EVENT_STREAM, NDJSON, SVG, JSON)
_GONE: Final = HttpProblem(
    Code.NOT_FOUND, "This address has expired or does not exist. Get a new one with POST /api/files."
)
_NO_FILE: Final = bad_request(
    "path must be the path of a report, transcript or bundle, for example /api/sessions/ID/report?format=pdf."
)


class _Target(msgspec.Struct, frozen=True):
    route: Route
    game: str
    params: dict[str, str]
    query: Any


@cache
def _file_routes() -> tuple[tuple["re.Pattern[str]", Route], ...]:
    """The routes of services whose answer is a file to keep."""
    return tuple(
        (compile_path(route.path)[0], route)
        for route in ROUTES
        if route.method == "GET" and route.service and not route.writes and _has_file(route)
    )


def _has_file(route: Route) -> bool:
    kinds = {answer.content_type for answer in route.answers.values() if isinstance(answer, Media)}
    return bool((kinds | {*route.other_media}) - {*_NOT_FILES})


def _target(path: str) -> _Target | HttpProblem:
    """The request of a path."""
    try:
        parts = urlsplit(path)
    except ValueError:  # such as a host in one bracket
        return _NO_FILE
    for pattern, route in _file_routes():
        if parts.scheme or parts.netloc or (found := pattern.match(parts.path)) is None:
            continue
        params = found.groupdict()
        game = game_of_route(route, params.get("id", ""))
        query = parse_query(parts.query.encode(), route.query, lenient=route.opened_by_people)
        if isinstance(query, HttpProblem):
            return query
        return _Target(route, game, params, query) if game else _NO_FILE
    return _NO_FILE


@serves(LINK_FILE)
async def link_file(services: Services, request: CheckedRequest[Query, FileRequest]) -> Reply:
    """Give a short-lived address to a file of the caller; whether it exists shows when it is opened."""
    if not request.caller.id and not request.caller.operator:
        return _NO_FILE
    target = _target(request.body.path)
    if isinstance(target, HttpProblem):
        return target
    link = FileLink("" if request.caller.operator else request.caller.id, request.body.path)
    token = await services.within_deadline(services.shares.link_file(link))
    address = f"{services.address.gateway(request.scope)}{OPEN_FILE.address(token)}"
    return _private(json_response(201, msgspec.json.encode(FileAddress(address, int(FILE_LINK_SECONDS)))))


@serves(OPEN_FILE)
async def open_file(services: Services, request: CheckedRequest) -> Reply:
    """Send the file, as a download in every format; a refusal is a page for people."""
    token = request.params["token"]
    link = await services.within_deadline(services.shares.linked_file(token)) if _TOKEN.fullmatch(token) else None
    target = _target(link.path) if link else _GONE
    if link is None or isinstance(target, HttpProblem):
        return _refused(services, request, refusal_response(_GONE))
    asked = CheckedRequest(
        route=target.route, caller=Caller(Agent(link.caller, ""), operator=not link.caller), game=target.game,
        query=target.query, body=None, command=CommandId("", ""), params=target.params, last_event_id=None,
        trace=request.trace, receive=request.receive, scope=request.scope,
    )  # fmt: skip
    try:
        reply = await read_whole(services, asked)
    except UNAVAILABLE_ERRORS as error:
        reply = away(error)
    response = refusal_response(reply) if isinstance(reply, HttpProblem) else reply
    if response.status_code != HTTPStatus.OK:
        return _refused(services, request, response)
    named = response.headers.get("content-disposition", f'attachment; filename="{target.params["id"]}.json"')
    response.headers["content-disposition"] = named.replace("inline", "attachment", 1)
    return _private(response)


def _refused(services: Services, request: CheckedRequest, response: Response) -> Response:
    """The refusal, or for a browser its page: it left the page that it came from."""
    if b"text/html" not in dict(request.scope["headers"]).get(b"accept", b""):
        return _private(response)
    status = response.status_code
    page = "away" if status == HTTPStatus.SERVICE_UNAVAILABLE else "nowhere"
    return _private(missing_page(services, page_request_of(request), status, page))


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    response.headers["referrer-policy"] = "no-referrer"
    return response
