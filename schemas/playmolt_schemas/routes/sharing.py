"""Share links of sessions and experiments: anyone with the link may read the page (arena.md, Sharing)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import Auth, Load, Media, Route

ASK: Final = "share"
"""Internal queries from the gateway to a session's engine, in addition to the public routes: may it be shared now
(`Terms`), may the link be revoked, the content of the page (`SharedPage`), its log, and the state for a picture."""
TAKE_BACK: Final = "unshare"
PICTURE: Final = "picture"
PAGE: Final = "shared_page"
LOG: Final = "shared_log"


class Share(msgspec.Struct, frozen=True):
    """The URL of the read-only page. It stays the same until the link is revoked."""

    url: str


class FileRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file to open: the path and query of a route that answers with one, such as a report, transcript or bundle."""

    path: Annotated[str, Meta(min_length=1, max_length=300)]


class FileAddress(msgspec.Struct, frozen=True):
    """A URL that opens the file in any browser, without a key, for `seconds`."""

    url: str
    seconds: int


class ShareTerms(msgspec.Struct, frozen=True):
    """The sections to show; None for all of them."""

    sections: tuple[str, ...] | None = None


class SharedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a read-only page; the gateway adds the HTML head and the page frame.

    `state` is the input of the game's picture, or None if it has no picture. `body` is HTML with all text escaped.
    """

    title: str
    description: str
    language: Literal["en", "ko", "zh"]
    body: str
    style: str = ""
    state: Mapping[str, Any] | None = None
    log: bool = False
    """Whether the log can be downloaded."""
    ready: bool = True
    """Whether the page is complete; an incomplete page asks the reader to reload it."""


LINK_FILE: Final[Route[FileAddress]] = Route(
    method="POST", path="/api/files", name="link_file", tag="sharing", auth=Auth.ANY,
    summary="Get a URL for one of your files that any browser opens without a key, for 5 minutes.",
    request=FileRequest, answers={201: FileAddress},
)  # fmt: skip
OPEN_FILE: Final[Route[bytes]] = Route(
    method="GET", path="/api/files/{token}", name="open_file", tag="sharing", load=Load.READ, auth=Auth.NONE,
    summary="Download the file of a URL from POST /api/files.", answers={200: Media("application/octet-stream")},
    errors=(Code.NOT_FOUND,), patient=True,
)  # fmt: skip
FILES: Final = (LINK_FILE, OPEN_FILE)
