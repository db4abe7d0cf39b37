"""Sign-in by OpenID Connect: to the provider, back from it, the session of a browser, and its end."""

from typing import Final

import msgspec
from playmolt_schemas.codes import Code
from playmolt_schemas.routes import sign_in as shapes
from playmolt_schemas.routes.route import JSON
from playmolt_schemas.routes.sign_in import READ_SIGNED_IN, SIGN_IN, SIGN_IN_CALLBACK, SIGN_OUT
from starlette.requests import Request
from starlette.responses import Response

from playmolt_gateway.access.auth import ANONYMOUS
from playmolt_gateway.http.problems import HttpProblem
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.routes.pages import me_page, page_request_of
from playmolt_gateway.signin.attempts import SignInFault
from playmolt_gateway.signin.sign_in import NOT_SIGNED_IN, SignIn

_ABSENT: Final = HttpProblem(
    Code.NOT_FOUND, "This server has no sign-in. Make an owner with POST /api/owners, and use its key."
)
_NOT_AN_OWNER: Final = HttpProblem(
    Code.UNAUTHORIZED, "Send an owner's key to join the account to that owner, or no key to sign in."
)
DETAILS: Final = {
    SignInFault.STATE: "This sign-in is unknown, was already used, is older than 10 minutes, or began in another "
    "browser. Begin again at /me.",
    SignInFault.CANCELLED: "The provider did not sign you in. Begin again at /me.",
    SignInFault.TOKEN: "The provider's answer does not prove who you are. Begin again at /me; if it fails again, "
    "contact the operator.",
    SignInFault.TAKEN: "This account already belongs to another owner. Sign in without the key to use that owner.",
    SignInFault.LIMIT: "This owner has as many accounts as it may have.",
    SignInFault.PROVIDER: "The provider of sign-ins is unavailable. Retry in a moment.",
    SignInFault.AWAY: "Part of the platform is unavailable. Begin again at /me in a moment.",
    SignInFault.BUSY: "Too many sign-ins from your address. Retry in a few minutes.",
}


def _refused(
    services: Services, request: CheckedRequest, fault: SignInFault, limit: HttpProblem | None = None
) -> Reply:
    """The page that says what went wrong, in the reader's language; a problem document for programs."""
    if "text/html" not in Request(request.scope).headers.get("accept", ""):
        return limit or HttpProblem(fault.code, DETAILS[fault])
    response = me_page(services, page_request_of(request), fault=fault.text)
    response.status_code = fault.code.status
    if limit:
        response.raw_headers.extend(limit.headers())
    return response


def _go(url: str, cookie: str) -> Response:
    return Response(status_code=302, headers={"location": url, "set-cookie": cookie, "referrer-policy": "no-referrer"})


async def _admitted(services: Services, request: CheckedRequest) -> SignIn | Reply:
    """Sign-in for a step to the provider or back; the refusal where there is none, or of too many steps."""
    if services.sign_in is None:
        return _ABSENT
    limit = await services.within_deadline(services.rates.sign_in_refusal(request.scope))
    return _refused(services, request, SignInFault.BUSY, limit) if limit else services.sign_in


@serves(SIGN_IN)
async def sign_in(services: Services, request: CheckedRequest) -> Reply:
    """Send a browser to the provider; a page that joins an account to its key's owner gets the address as JSON."""
    admitted = await _admitted(services, request)
    if not isinstance(admitted, SignIn):
        return admitted
    if request.caller != ANONYMOUS and request.caller.owner is None:
        return _NOT_AN_OWNER
    asked = page_request_of(request)
    owner = request.caller.owner.id if request.caller.owner else None
    try:
        begun = await admitted.begin(request.scope, asked.values.get("next", ""), owner, asked.language)
    except UNAVAILABLE_ERRORS:
        begun = SignInFault.AWAY
    if isinstance(begun, SignInFault):
        return _refused(services, request, begun)
    if JSON in Request(request.scope).headers.get("accept", ""):
        body = msgspec.json.encode(shapes.SignInAddress(begun.url))
        return json_response(200, body, [(b"set-cookie", begun.cookie.encode())])
    return _go(begun.url, begun.cookie)


@serves(SIGN_IN_CALLBACK)
async def sign_in_callback(services: Services, request: CheckedRequest) -> Reply:
    """Sign in the person who comes back from the provider."""
    admitted = await _admitted(services, request)
    if not isinstance(admitted, SignIn):
        return admitted
    said = page_request_of(request).values
    code = None if "error" in said else said.get("code")

    async def limit() -> HttpProblem | None:
        return await services.within_deadline(services.rates.owner_refusal(request.caller, request.scope))

    try:
        finished = await admitted.finish(request.scope, said.get("state", ""), code, said.get("iss"), limit)
    except UNAVAILABLE_ERRORS:
        finished = SignInFault.AWAY
    if isinstance(finished, HttpProblem):
        return _refused(services, request, SignInFault.BUSY, finished)
    if isinstance(finished, SignInFault):
        return _refused(services, request, finished)
    return _go(finished.url, finished.cookie)


@serves(SIGN_OUT)
async def sign_out(services: Services, request: CheckedRequest) -> Reply:
    """End the session at the server, and delete its cookie. A browser without one is signed out already."""
    if services.sign_in is None:
        return _ABSENT
    session = await services.within_deadline(services.sign_in.session(request.scope))
    refusal = services.sign_in.forgery(request.scope, session) if session else None
    if refusal:
        return refusal
    cookie = await services.within_deadline(services.sign_in.end(request.scope))
    return Response(status_code=204, headers={"set-cookie": cookie})


@serves(READ_SIGNED_IN)
async def read_signed_in(services: Services, request: CheckedRequest) -> Reply:
    if services.sign_in is None:
        return _ABSENT
    session = await services.within_deadline(services.sign_in.session(request.scope))
    if session is None:
        return NOT_SIGNED_IN
    body = shapes.SignedIn(shapes.SignedInOwner(session.owner.id, session.owner.name), session.csrf)
    return json_response(200, msgspec.json.encode(body))
