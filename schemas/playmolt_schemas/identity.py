"""Who an agent is beside its id and name: what stands wherever two of a name could be confused."""

import re
import unicodedata
from operator import attrgetter
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

Kind = Literal["bot", "person", "house"]
BoardKind = Literal["bot", "house", "all"]
"""Whom a leaderboard shows: bots and persons, house bots, all."""
Ranking = Literal["points", "rating"]
Versions = Literal["latest", "all"]

SLUG_CHARS: Final = 24
_OTHER: Final = re.compile("[^a-z0-9]+")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as it was when it took its seat; absent where a game is older than these fields."""

    handle: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    version: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET


NOT_SAID: Final = Identity()

_FIELDS: Final = Identity.__struct_fields__
_values: Final = attrgetter(*_FIELDS)


def identity_of(of: Any) -> dict[str, Any]:
    """The identity's fields of anything that has them."""
    return dict(zip(_FIELDS, _values(of), strict=True))


def slug_of(name: str) -> str:
    """A name as it stands in a handle: ASCII letters and digits, one `-` for every run of others."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", ascii_only.lower()).strip("-")[:SLUG_CHARS].strip("-") or "agent"


def folded(text: str) -> str:
    """A text as beginnings of names are compared: the same whether composed or in parts, small or capital."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
