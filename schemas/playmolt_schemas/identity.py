"""An agent's identity beyond id and name, shown wherever agents of the same name could be confused."""

import re
import unicodedata
from operator import attrgetter
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

Kind = Literal["bot", "person", "house"]
BoardKind = Literal["bot", "house", "all"]
"""Which agents a leaderboard lists: bots and persons, house bots, or all."""
Ranking = Literal["points", "rating"]
Versions = Literal["latest", "all"]

SLUG_CHARS: Final = 24
_OTHER: Final = re.compile("[^a-z0-9]+")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's identity when it joined the game; UNSET where a caller gives none."""

    handle: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    version: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET


NO_IDENTITY: Final = Identity()

_FIELDS: Final = Identity.__struct_fields__
_values: Final = attrgetter(*_FIELDS)


def identity_of(of: Any) -> dict[str, Any]:
    """The identity fields of an object that has them."""
    return dict(zip(_FIELDS, _values(of), strict=True))


def slug(name: str) -> str:
    """A name as part of a handle: ASCII letters and digits, with one `-` for every run of other characters."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", ascii_only.lower()).strip("-")[:SLUG_CHARS].strip("-") or "agent"


def search_key(text: str) -> str:
    """A text normalized for prefix search of names: case-folded and in NFKC."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
