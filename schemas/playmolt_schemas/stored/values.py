"""Values that events of several games store. Their names and fields are the storage format."""

from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

Kind = Literal["bot", "person", "house"]
GameLanguage = Literal["ko", "en", "zh"]
"""Language of a game's content."""
DEFAULT_LANGUAGE: Final[GameLanguage] = "ko"
Pace = Literal["quick", "slow"]
"""How long the phases of a public game wait; the games of each pace have a lobby and ratings of their own."""
DEFAULT_PACE: Final[Pace] = "quick"


class TournamentGame(msgspec.Struct, frozen=True, gc=False):
    """The tournament that a game belongs to, and the round in it."""

    id: str
    round: int


class Fault(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What went wrong with a seat, who caused it (`kind`), and how often."""

    agent_id: str
    kind: Literal["bot", "operator", "platform", "provider"]
    what: str
    count: int = 1


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's identity when it joined the game; UNSET where a caller gives none."""

    handle: str | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    version: str | UnsetType | None = UNSET
    model: str | UnsetType | None = UNSET
    owner_id: str | UnsetType = UNSET
    """The owner of the agent at that time; UNSET without one."""


Unrated = Literal["one_owner", "one_address", "no_owner"]
"""Why a public game is not rated: two of its agents have one owner, or were registered from one address, or this server
rates only games in which every agent has an owner."""


class SeatOwner(msgspec.Struct, frozen=True):
    """The owner of a seat's agent when it joined. An engine knows the id, and a gateway adds the name."""

    id: str
    name: str


class Place(NamedTuple):
    """The final rank of a seat."""

    rank: int | None
    """1 is the best; None for seats that do not compete for a rank."""
    competes: bool
    """Whether the rank counts for the rating."""
    measured: bool = False
    """Whether the rating takes into account how often the role of the seat has won; at most one seat of a game."""


NO_IDENTITY: Final = Identity()

_FIELDS: Final = Identity.__struct_fields__
_values: Final = attrgetter(*_FIELDS)


def identity_of(of: object) -> dict[str, Any]:
    """The identity fields of an object that has them."""
    return dict(zip(_FIELDS, _values(of), strict=True))
