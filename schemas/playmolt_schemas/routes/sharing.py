"""What owners show of a session or an experiment to whoever has the address (arena.md, Sharing)."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

ASK: Final = "share"
"""Names by which a gateway asks the engine of a session, beside the routes that anybody may call: whether it may be
shared now (`Terms`), whether it may be taken back, what its page shows (`SharedPage`), its log, and what a drawing of a
moment of it shows."""
TAKE_BACK: Final = "unshare"
PICTURE: Final = "picture"
PAGE: Final = "shared_page"
LOG: Final = "shared_log"


class Share(msgspec.Struct, frozen=True):
    """The address of the read-only page, the same as long as it stands."""

    url: str


class Terms(msgspec.Struct, frozen=True):
    """What is shown; `sections` None: all of it."""

    sections: tuple[str, ...] | None = None


class SharedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A read-only page, as its game makes it: the gateway puts its own head and frame around it.

    `state` is what the game's drawing draws, None where there is none. `body` is HTML in which every text is escaped.
    """

    title: str
    description: str
    language: Literal["en", "ko", "zh"]
    body: str
    style: str = ""
    state: Mapping[str, Any] | None = None
    log: bool = False
    """Whether its log can be taken along."""
    ready: bool = True
    """Whether it is whole; one that is still being made asks to be looked at again."""
