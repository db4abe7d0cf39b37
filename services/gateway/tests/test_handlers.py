"""Every route has one handler, and a handler that does not fit its route fails at import."""

from typing import Any

import msgspec
import pytest
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import HANDLERS, HandlerMismatch, Handlers, Reply, StreamedResponse
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes import sessions, sharing, uploads
from playmolt_gateway.server import app as _  # noqa: F401 -- registers every handler
from playmolt_schemas import api
from playmolt_schemas.routes import jury, legal
from playmolt_schemas.routes.platform import ACT, LIST_AGENTS, READ_LOG, READ_ME, ROUTES, UPDATE_ME
from playmolt_schemas.routes.route import EventsQuery, PageQuery, Query


async def plain(services: Services, request: CheckedRequest) -> Reply:
    del services, request
    return json_response(200, b"{}")


async def paged(services: Services, request: CheckedRequest[PageQuery, None]) -> Reply:
    del services
    return json_response(200, str(request.query.limit).encode())


async def numbered(services: Services, request: CheckedRequest[EventsQuery, None]) -> Reply:
    del services
    return json_response(200, str(request.query.after).encode())


async def typed(services: Services, request: CheckedRequest[Query, api.UpdateMeRequest]) -> Reply:
    del services
    return json_response(200, msgspec.json.encode(request.body))


async def raw(services: Services, request: CheckedRequest[Query, msgspec.Raw]) -> Reply:
    del services
    return json_response(200, bytes(request.body))


async def streaming(services: Services, request: CheckedRequest) -> StreamedResponse | Reply:
    del services, request
    return json_response(204, b"")


async def unannotated(services, request):  # type: ignore[no-untyped-def]
    del services, request


def test_every_route_of_the_registry_has_a_handler_and_no_handler_is_left_over() -> None:
    table = HANDLERS.table(route for route in ROUTES if route is not ACT)
    assert table.keys() == {route.name for route in ROUTES} - {ACT.name}


@pytest.mark.parametrize(
    ("route", "handler"),
    [
        (legal.ADD_EVIDENCE, uploads.add_evidence), (jury.BRING_CASE, uploads.bring_case),
        (jury.UNSHARE, sharing.unshare), (jury.CHAT, sessions.pass_on), (jury.DROP_CASE, sessions.pass_on),
    ],
)  # fmt: skip
def test_a_route_of_a_service_is_forwarded_unless_a_handler_names_it(route: Any, handler: Any) -> None:
    assert HANDLERS.table(r for r in ROUTES if r is not ACT)[route.name] is handler


@pytest.mark.parametrize(
    ("route", "handler"),
    [(READ_ME, plain), (LIST_AGENTS, plain), (UPDATE_ME, typed), (legal.POST_FACTS, raw), (READ_LOG, streaming)],
)
def test_a_handler_fits_routes_that_give_what_it_takes(route: Any, handler: Any) -> None:
    handlers = Handlers()
    handlers.serves(route)(handler)
    assert handlers.table([route]) == {route.name: handler}


@pytest.mark.parametrize(
    ("route", "handler", "why"),
    [
        (LIST_AGENTS, paged, "the query of list_agents is AgentsQuery"),
        (READ_ME, numbered, "the query of read_me is Query"),
        (READ_ME, typed, "the body of read_me is NoneType"),
        (legal.POST_FACTS, typed, "the body of post_facts is Raw"),
        (UPDATE_ME, raw, "the body of update_me is UpdateMeRequest"),
        (READ_LOG, plain, "read_log streams"),
        (READ_ME, streaming, "read_me does not stream"),
        (READ_ME, unannotated, "must be"),
    ],
)
def test_a_handler_that_does_not_fit_its_route_is_refused(route: Any, handler: Any, why: str) -> None:
    with pytest.raises(HandlerMismatch, match=why):
        Handlers().serves(route)(handler)


def test_a_forwarded_route_fits_too() -> None:
    handlers = Handlers()
    handlers.forwards(plain)
    with pytest.raises(HandlerMismatch, match="jury_stream streams"):
        handlers.table([jury.STREAM])


def test_a_route_has_exactly_one_handler() -> None:
    handlers = Handlers()
    with pytest.raises(HandlerMismatch, match="read_me has no handler"):
        handlers.table([READ_ME])
    handlers.serves(READ_ME)(plain)
    with pytest.raises(HandlerMismatch, match="read_me has two handlers"):
        handlers.serves(READ_ME)(_other)
    with pytest.raises(HandlerMismatch, match="do not exist: read_me"):
        handlers.table([])


async def _other(services: Services, request: CheckedRequest) -> Reply:
    return await plain(services, request)
