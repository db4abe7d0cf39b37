"""Refusals of the gateway itself as problem documents (RFC 9457)."""

from http import HTTPStatus
from math import ceil
from typing import Final

import msgspec
from playmolt_schemas.codes import Code, FieldFault, Problem, RateLimit, problem_bytes

BUG_STATUS: Final = HTTPStatus.SERVICE_UNAVAILABLE.value
"""A client knows what to do about a 503; the code tells a bug from what is away."""
RETRY_SECONDS: Final = 1
"""What a client is told to wait when something is away."""

Headers = list[tuple[bytes, bytes]]


class Refusal(msgspec.Struct, frozen=True):
    """Why not, and what to do next. `allow` lists the methods a 405 names; `close` ends the connection."""

    code: Code
    detail: str
    errors: tuple[FieldFault, ...] = ()
    ratelimit: RateLimit | None = None
    retry_after: float = RETRY_SECONDS
    allow: str = ""
    close: bool = False

    @property
    def status(self) -> int:
        return self.code.status

    def body(self) -> bytes:
        return problem_bytes(self.code, self.detail, self.errors, ratelimit=self.ratelimit)

    def headers(self) -> Headers:
        """The headers beside type and length."""
        headers: Headers = []
        if self.code in (Code.UNAVAILABLE, Code.RATE_LIMITED, Code.BUDGET_SPENT):
            headers.append((b"retry-after", b"%d" % max(1, ceil(self.retry_after))))
        if self.code is Code.UNSUPPORTED_ENCODING:
            headers.append((b"accept-encoding", b"identity"))
        if self.code is Code.UNAUTHORIZED:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.allow:
            headers.append((b"allow", self.allow.encode()))
        if self.close:
            headers.append((b"connection", b"close"))
        return headers


def bug_body() -> bytes:
    """Encode what a client reads when the gateway itself is at fault: no word about the inside."""
    status = HTTPStatus(BUG_STATUS)
    document = {"type": "about:blank"} | msgspec.to_builtins(
        Problem(
            title=status.phrase,
            status=status,
            code="internal_error",
            detail="The server failed on this request. Repeat it with the same Idempotency-Key; "
            "if it fails again, tell the operator.",
        )
    )
    return msgspec.json.encode(document)


def away(error: BaseException) -> Refusal:
    """Refuse because something the gateway needs did not answer; the reason goes to the log, not to the client."""
    del error
    return Refusal(
        Code.UNAVAILABLE,
        "A part of the platform does not answer now. Repeat the request after Retry-After seconds. If it changes "
        "something it may be done all the same: repeat it with the same Idempotency-Key, or look first.",
    )


def no_such_game(game_id: str) -> Refusal:
    """Refuse an id that can be no game of this server."""
    return Refusal(
        Code.NOT_FOUND,
        f"There is no game {game_id[:64]!r}. Game ids come from POST /api/games/join and GET /api/games.",
    )


def no_such_session(identifier: str) -> Refusal:
    """Refuse an id that can be nothing of the kind this route is about."""
    return Refusal(
        Code.NOT_FOUND,
        f"There is nothing called {identifier[:64]!r} here. An id comes with the answer that opens what it names.",
    )


def bad_request(detail: str, *errors: FieldFault) -> Refusal:
    """Refuse what does not have the form that the API asks for."""
    return Refusal(Code.INVALID_REQUEST, detail, errors)
