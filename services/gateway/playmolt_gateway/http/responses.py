"""HTTP responses: JSON, problem documents, HTML pages and files of a game."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.legal import REPORT_MEDIA
from playmolt_schemas.routes.route import EVENT_STREAM, HTML, JSON, NDJSON, PROBLEM
from starlette.responses import Response

from playmolt_gateway.http.problems import BUG_STATUS, RETRY_SECONDS, Headers, HttpProblem, bug_body

FILE_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The policy of a picture or file that is opened by itself: no script, and the icon that a browser asks for."""
_SUFFIXES: Final[Mapping[str, str]] = {
    **{media.partition(";")[0]: suffix for suffix, media in REPORT_MEDIA.items()},
    "application/zip": "zip",
    NDJSON: "jsonl",
}


def attachment(answer: Answer, name: str) -> Response:
    """Send a file called `name`. Browsers show HTML and save everything else; a strict policy blocks scripts."""
    kind = answer.content_type.partition(";")[0]
    shown = "inline" if kind == HTML.partition(";")[0] else "attachment"
    headers = {
        "content-disposition": f'{shown}; filename="{name}.{_SUFFIXES.get(kind, "txt")}"',
        "content-security-policy": FILE_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return Response(answer.body, answer.status, media_type=answer.content_type, headers=headers)


def answer_response(answer: Answer, name: str = "report") -> Response:
    """Send an engine's answer; `name` is the file name of an answer that is not JSON."""
    if answer.content_type and answer.status < 400:
        return attachment(answer, name)
    extra: Headers = [(b"retry-after", b"%d" % RETRY_SECONDS)] if answer.status in (202, 429, 503) else []
    return json_response(answer.status, answer.body, extra)


def json_type(status: int) -> bytes:
    """The content type: JSON, or a problem document from status 400."""
    return (PROBLEM if status >= 400 else JSON).encode()


def json_headers(status: int, length: int) -> Headers:
    return [(b"content-type", json_type(status)), (b"content-length", b"%d" % length)]


def json_response(status: int, body: bytes, extra: Headers | None = None) -> Response:
    response = Response(body, status)
    response.raw_headers = [*json_headers(status, len(body)), *(extra or [])]
    return response


def json_bytes(status: int, body: bytes) -> Response:
    """JSON for protocols that do not use problem documents for errors."""
    return Response(body, status, media_type=JSON)


def refusal_response(refusal: HttpProblem) -> Response:
    return json_response(refusal.status, refusal.body(), refusal.headers())


def depend_on_cookie(response: Response) -> None:
    """Mark an answer as one browser's: no cache keeps it, and no page of another origin may read it."""
    vary = response.headers.get("vary")
    response.headers["vary"] = f"{vary}, Cookie" if vary else "Cookie"
    response.headers["cache-control"] = "no-store"


def bug_response() -> Response:
    return json_response(BUG_STATUS, bug_body(), [(b"retry-after", b"%d" % RETRY_SECONDS)])


def reconnect_response() -> Response:
    """Answer an event stream while its source is unavailable: an EventSource never reconnects after a 503."""
    comment = b"retry: 2000\n: part of the platform is unavailable; reconnect\n\n"
    return Response(comment, 200, {"cache-control": "no-store"}, EVENT_STREAM)


def html_response(body: str | bytes, policy: str, *, framed: bool = False) -> Response:
    """Send a page under a content security policy. Other sites may frame it only if `framed`."""
    ancestors = "" if framed else "; frame-ancestors 'none'"
    headers = {
        "content-security-policy": f"{policy}; base-uri 'none'; form-action 'self'{ancestors}",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return Response(body, media_type=HTML, headers=headers)
