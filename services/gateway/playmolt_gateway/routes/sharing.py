"""Share links of sessions and experiments: create, revoke, view."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from playmolt_core.db.shares import Share
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.registry import games
from playmolt_schemas.routes import agora, jury, legal, sharing
from playmolt_schemas.routes.pages import PAGE_CHECK, PAGE_SHARED, SHARED_FILE
from playmolt_schemas.routes.route import SVG, PictureQuery
from starlette.responses import Response

from playmolt_gateway.http.compression import compress
from playmolt_gateway.http.problems import RETRY_SECONDS, HttpProblem
from playmolt_gateway.http.responses import FILE_POLICY, answer_response, attachment, json_response
from playmolt_gateway.pages.moments import drawn
from playmolt_gateway.pages.shared import shared_response
from playmolt_gateway.pages.shell import PageHead, head_of, page_response
from playmolt_gateway.pictures.png import Theme
from playmolt_gateway.pictures.scene import TALL, WIDE
from playmolt_gateway.pictures.svg import isolated
from playmolt_gateway.ports import GatewayBus
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import PageRequest, missing_page, page_request_of

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)
_NODE: Final = re.compile(r"https?://[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,10}(:[0-9]{1,5})?", re.ASCII)
"""An origin in the form browsers send, without characters that have a meaning in a policy."""
_SECONDS: Final = 10.0
"""Deadline for an engine to make a page."""
_MISMATCH: Final = HttpProblem(
    Code.IDEMPOTENCY_MISMATCH, "This Idempotency-Key was used with a different body. Use a new key."
)
_NO_SHARE: Final = HttpProblem(Code.NOT_FOUND, "This share link does not exist or was revoked.")
_ERASED: Final = HttpProblem(Code.ERASED, "The owner has erased the shared content.")
_UNAVAILABLE: Final = HttpProblem(Code.UNAVAILABLE, "The shared content is temporarily unavailable. Retry.")
_encode = msgspec.json.encode
_terms_of = msgspec.json.Decoder(sharing.ShareTerms).decode
_state_of = msgspec.json.Decoder(dict[str, Any]).decode
_page_of = msgspec.json.Decoder(sharing.SharedPage).decode


@serves(legal.SHARE_SESSION, jury.SHARE, agora.SHARE)
async def share(services: Services, request: CheckedRequest) -> Reply:
    """Give the existing share link or make one; the engine decides what may be shown."""
    found = await _ask_as_caller(services, request, sharing.ASK)
    if found.status != 200:
        return answer_response(found)
    shown = Share(request.params["id"], request.caller.id, _terms_of(found.body).sections)
    token = await services.within_deadline(
        services.shares.share(shown, request.command.id, request.command.fingerprint)
    )
    if token is None:
        return _MISMATCH
    return json_response(201, _encode(sharing.Share(f"{services.address.gateway(request.scope)}/shared/{token}")))


@serves(legal.UNSHARE_SESSION, jury.UNSHARE, agora.UNSHARE)
async def unshare(services: Services, request: CheckedRequest) -> Reply:
    """Revoke the share link, if there is one."""
    found = await _ask_as_caller(services, request, sharing.TAKE_BACK)
    if found.status != 200:
        return answer_response(found)
    await services.within_deadline(services.shares.unshare(request.params["id"]))
    return Response(status_code=204)


@serves(legal.DRAW_SESSION, jury.PICTURE)
async def draw_session(services: Services, request: CheckedRequest[PictureQuery, None]) -> Reply:
    """Draw a session for its owner, now or at a past version."""
    found = await _ask_as_caller(services, request, sharing.PICTURE, {"at": request.query.v or 0})
    if found.status != 200:
        return answer_response(found)
    asked = page_request_of(request)
    picture = drawn(_state_of(found.body), asked.language, TALL if request.query.tall else WIDE)
    if picture is None:
        return HttpProblem(Code.NOT_FOUND, "Sessions of this type have no picture.")
    return compress(Response(picture.svg(), media_type=SVG, headers=_PICTURED), asked.encodings)


@serves(PAGE_SHARED)
async def page_shared(services: Services, request: CheckedRequest) -> Reply:
    """Send the page of a share link; a revoked link answers like an unknown one."""
    asked, token = page_request_of(request), request.params["token"]
    share = await _shared(services, token)
    if share is None:
        return missing_page(services, asked)
    found = await _ask_for(services.bus, share, sharing.PAGE)
    if found.status == Code.UNAVAILABLE.status:
        return _unavailable_page(services, asked)
    if found.status == Code.ERASED.status:
        return missing_page(services, asked, found.status, "erased")
    if found.status != 200:
        return missing_page(services, asked, found.status)
    shown = _page_of(found.body)
    address = f"{services.address.gateway(request.scope)}/shared/{token}"
    state, pictures = shown.state, None
    if state is not None:
        wide, tall = drawn(state, asked.language, WIDE), drawn(state, asked.language, TALL)
        pictures = (wide, tall) if wide and tall else None
    image = f"{address}/picture.png?lang={asked.language}" if pictures else ""
    title = f"{pictures[0].title} · {isolated(shown.title)}" if pictures else shown.title
    head = PageHead(title=title, description=shown.description, image=image, url=address)
    return shared_response(shown, head, address, asked.language, pictures, asked.encodings)


@serves(PAGE_CHECK)
async def page_check(services: Services, request: CheckedRequest) -> Reply:
    """Send the page that compares a log with a chain.

    It may also call the node named in its query, but only after the reader presses a button.
    """
    asked = page_request_of(request)
    share = await _shared(services, request.params["token"])
    found = await _ask_for(services.bus, share, sharing.PAGE) if share else None
    if found is not None and found.status == Code.ERASED.status:
        return missing_page(services, asked, found.status, "erased")
    if found is not None and found.status == Code.UNAVAILABLE.status:
        return _unavailable_page(services, asked)
    if found is None or found.status != 200 or not _page_of(found.body).log:
        return missing_page(services, asked)
    node = asked.values.get("node", "")
    response = page_response(
        "jury/check.js", head_of("check", asked.language), asked.language,
        services.address.page_feed(request.scope), asked.encodings, node=node if _NODE.fullmatch(node) else "",
    )  # fmt: skip
    response.headers["cache-control"] = "private, no-store"
    response.headers["x-robots-tag"] = "noindex"
    return response


def _unavailable_page(services: Services, asked: PageRequest) -> Response:
    """The page for an unavailable engine."""
    response = missing_page(services, asked, Code.UNAVAILABLE.status, "away")
    response.headers["retry-after"] = str(RETRY_SECONDS)
    response.headers["cache-control"] = "no-store"
    return response


@serves(SHARED_FILE)
async def shared_file(services: Services, request: CheckedRequest) -> Reply:
    """Send the picture or the log behind a share link."""
    share, file = await _shared(services, request.params["token"]), request.params["file"]
    if share is None:
        return _NO_SHARE
    if file == "log.jsonl":
        log = await _ask_for(services.bus, share, sharing.LOG)
        return attachment(log, share.stream) if log.status == 200 else _refusal_for(log)
    if file not in ("picture.svg", "picture.png"):
        return _NO_SHARE
    found = await _ask_for(services.bus, share, sharing.PAGE)
    return await _picture(services, found, request, file) if found.status == 200 else _refusal_for(found)


async def _picture(services: Services, found: Answer, request: CheckedRequest, file: str) -> Reply:
    state = _page_of(found.body).state
    asked = page_request_of(request)
    wanted = TALL if asked.values.get("tall") == "1" and file == "picture.svg" else WIDE
    picture = drawn(state, asked.language, wanted) if state is not None else None
    if picture is None:
        return _NO_SHARE
    if file == "picture.svg":
        return compress(Response(picture.svg(), media_type=SVG, headers=_PICTURED), asked.encodings)
    theme: Theme = "dark" if asked.values.get("theme") == "dark" else "light"
    # An owner may erase the session at any time, so its picture is kept nowhere.
    return Response(await services.drawer.png(picture, theme, "nowhere"), media_type="image/png", headers=_PICTURED)


def _refusal_for(answer: Answer) -> HttpProblem:
    known = {Code.ERASED.status: _ERASED, Code.UNAVAILABLE.status: _UNAVAILABLE}
    return known.get(answer.status, _NO_SHARE)


_PICTURED: Final = {
    "content-security-policy": FILE_POLICY,
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
}
"""A picture opened by itself runs no script, and no cache keeps it after its link is revoked."""


async def _shared(services: Services, token: str) -> Share | None:
    if not _TOKEN.fullmatch(token):
        return None
    found = await services.within_deadline(services.shares.shared(token))
    # Its game may no longer be installed.
    return found if found and type_of(found.stream) in games() else None


def _ask_as_caller(
    services: Services, request: CheckedRequest, route: str, query: Mapping[str, Any] | None = None
) -> "asyncio.Future[Answer]":
    agent, body = request.caller.agent, _call(route, query or {}, request.body)
    return services.bus.submit(
        request.game, "query", request.params["id"], body, agent=agent.id, name=agent.name,
        operator=request.caller.operator, trace=request.trace,
    )  # fmt: skip


async def _ask_for(bus: GatewayBus, share: Share, route: str) -> Answer:
    """Query on behalf of the owner, in as many parts as needed."""
    query = {} if share.sections is None else {"sections": share.sections}

    async def part(offset: int) -> Answer:
        return await bus.submit(
            type_of(share.stream) or "", "query", share.stream, _call(route, query, None, offset), agent=share.owner,
            operator=not share.owner, deadline=_SECONDS,
        )  # fmt: skip

    answer = await part(0)
    body, last = answer.body, answer
    while len(body) < answer.total and last.status == answer.status and last.body:
        last = await part(len(body))
        body += last.body
    return msgspec.structs.replace(answer, body=body)


def _call(route: str, query: Mapping[str, Any], body: Any, offset: int = 0) -> bytes:
    return _encode({"route": route, "params": {}, "query": query, "body": body, "offset": offset})
