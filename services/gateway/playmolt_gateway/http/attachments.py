"""Documents that a game made: a browser shows or keeps them, and runs nothing in them."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.envelopes import Answer
from playmolt_schemas.routes.legal import REPORT_MEDIA
from playmolt_schemas.routes.route import HTML, NDJSON
from starlette.responses import Response

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_SUFFIXES: Final[Mapping[str, str]] = {
    **{media.partition(";")[0]: suffix for suffix, media in REPORT_MEDIA.items()},
    "application/zip": "zip",
    NDJSON: "jsonl",
}


def attachment(answer: Answer, name: str) -> Response:
    """Send what is no JSON as a file called after what it is about; a page is shown, all else is kept."""
    kind = answer.content_type.partition(";")[0]
    shown = "inline" if kind == HTML.partition(";")[0] else "attachment"
    headers = {
        "content-disposition": f'{shown}; filename="{name}.{_SUFFIXES.get(kind, "txt")}"',
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    return Response(answer.body, answer.status, media_type=answer.content_type, headers=headers)
