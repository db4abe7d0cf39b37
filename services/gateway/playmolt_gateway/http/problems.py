"""The gateway's own refusals, as problem documents (RFC 9457)."""

from http import HTTPStatus
from math import ceil
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.codes import Code, FieldFault, Problem, RateLimit, problem_bytes

BUG_STATUS: Final = HTTPStatus.SERVICE_UNAVAILABLE.value
"""Clients retry after a 503; the code distinguishes a bug from an unavailable dependency."""
RETRY_SECONDS: Final = 1
"""Retry-After for unavailable dependencies."""

Headers = list[tuple[bytes, bytes]]


class HttpProblem(msgspec.Struct, frozen=True):
    """A refusal: what is wrong and what to do next. `allow` is the header of a 405; `close` ends the connection."""

    code: Code
    detail: str
    errors: tuple[FieldFault, ...] = ()
    ratelimit: RateLimit | None = None
    retry_after: float = RETRY_SECONDS
    allow: str = ""
    until: str | UnsetType | None = UNSET
    """When a ban ends; None: never."""
    close: bool = False

    @property
    def status(self) -> int:
        return self.code.status

    def body(self) -> bytes:
        return problem_bytes(self.code, self.detail, self.errors, ratelimit=self.ratelimit, until=self.until)

    def headers(self) -> Headers:
        """The headers other than content type and length."""
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
    """The problem document for a bug, without internal details."""
    status = HTTPStatus(BUG_STATUS)
    document = {"type": "about:blank"} | msgspec.to_builtins(
        Problem(
            title=status.phrase,
            status=status,
            code="internal_error",
            detail="The server failed on this request. Retry with the same Idempotency-Key; "
            "if it fails again, report it to the operator.",
        )
    )
    return msgspec.json.encode(document)


def away(error: BaseException) -> HttpProblem:
    """The refusal for an unavailable dependency; the reason is for the log only."""
    del error
    return HttpProblem(
        Code.UNAVAILABLE,
        "Part of the platform is unavailable. Retry after Retry-After seconds. A change may have been applied: "
        "retry with the same Idempotency-Key, or check first.",
    )


def no_such_game(game_id: str) -> HttpProblem:
    """The refusal for an id that cannot be a game of this server."""
    return HttpProblem(
        Code.NOT_FOUND,
        f"Game {game_id[:64]!r} does not exist. Game ids come from POST /api/games/join and GET /api/games.",
    )


def no_such_run(run_id: str) -> HttpProblem:
    """The refusal for an id that cannot be a run of an experiment."""
    return HttpProblem(Code.NOT_FOUND, f"Run {run_id[:64]!r} does not exist. Run ids come from GET /api/agora/runs.")


def no_such_session(identifier: str) -> HttpProblem:
    """The refusal for an id that cannot be of this route's kind."""
    return HttpProblem(
        Code.NOT_FOUND,
        f"{identifier[:64]!r} does not exist. Use an id returned by the call that created it.",
    )


def bad_request(detail: str, *errors: FieldFault) -> HttpProblem:
    """The refusal for a malformed request."""
    return HttpProblem(Code.INVALID_REQUEST, detail, errors)
