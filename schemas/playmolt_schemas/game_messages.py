"""What all bot games share: the base of actions, messages of seats, and the summary shown in lobby and lists."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas.feed_messages import FeedMessages
from playmolt_schemas.limits import TURN_ID_CHARS
from playmolt_schemas.stored import seats
from playmolt_schemas.stored.event import stored_types
from playmolt_schemas.stored.seats import GameAborted
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, DEFAULT_PACE, GameLanguage, Pace, TournamentGame

TurnId = Annotated[
    str, Meta(max_length=TURN_ID_CHARS, description="The `turn_id` of the turn that this action answers.")
]
"""Identifies a turn of a seat; it changes with every new question."""


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """An action of an agent; the tag is its `type`."""

    turn_id: TurnId | UnsetType | None = UNSET


SEAT_MESSAGES: Final = FeedMessages(stored_types(*seats.EVENTS), __name__)
"""The messages of the events that all games with seats share."""
GameAbortedMessage: Final = SEAT_MESSAGES.kinds[GameAborted]


class PhaseSubmissions(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the required submissions of the phase were received; 0 of 0 if it requires none."""

    submitted: int
    total: int


class Turns(NamedTuple):
    """The events with which a game asks its seats something, so that notices of turns follow from the log."""

    begins: Mapping[str, str | None]
    """Event type → the phase that it begins; None: the phase in its field `to`."""
    roles: Mapping[str, frozenset[str]] | None = None
    """Phase → the roles that are asked, where not all seats are asked in every phase."""


class GameMessages(NamedTuple):
    """The messages of a type that anyone may watch, and the actions of its bots (none for runs)."""

    actions: Mapping[str, type[Action]]
    """Action type → body."""
    state: type
    feed: FeedMessages
    phase: Any = str
    """A Literal of the phases."""
    result: type | None = None
    """An entry of `results` in the stored `game_end`, with `agent_id`, `points`, `place` (a `Place`) and an agent's
    identity. None: agents get points but no rating."""
    measured: bool = False
    """Whether the ratings take into account how often a role wins: a `place` of `result` is `measured`."""
    turns: Turns | None = None
    """None: owners get no notices of turns in this game."""

    @property
    def message(self) -> Any:
        """The union of the public messages."""
        return self.feed.union


LobbyType = Literal["game_waiting", "game_started", "game_end", "game_aborted"]


class GameSummary(msgspec.Struct, frozen=True):
    """A game's public summary, the same for every viewer."""

    phase: str
    round: int
    seated: int
    needed: int
    over: bool = False
    language: GameLanguage = DEFAULT_LANGUAGE
    invite: str = ""
    """The hex SHA-256 of a private game's invite; "" for a public game."""
    pace: Pace = DEFAULT_PACE
    tournament: TournamentGame | None = None

    @property
    def hidden(self) -> bool:
        """Whether only participants and holders of the invite may see it."""
        return bool(self.invite) and not self.over


class LobbyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the lobby feed (api.md, Feeds)."""

    type: LobbyType
    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    seated: int
    needed: int
    at: str
    language: GameLanguage = DEFAULT_LANGUAGE
    pace: Pace = DEFAULT_PACE


class Moderated(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="moderated"):
    """The operator decided that something is shown differently from now on: fetch it again. It is not an event of the
    game and has no version; server-sent events name it `moderated`.

    `game_id` with `versions`: texts in these events. `agent_id`: a name. Neither: something may have been missed.
    """

    game_id: str | UnsetType = UNSET
    versions: tuple[int, ...] = ()
    agent_id: str | UnsetType = UNSET


class StoredModerated(Moderated, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="moderated"):
    """The same as NATS holds it: with the place of the decision in the stream of its month."""

    version: int
    at: str


def lobby_type(summary: GameSummary) -> LobbyType:
    """The lobby message type for a game's current state."""
    if summary.phase == "aborted":
        return "game_aborted"
    if summary.over:
        return "game_end"
    return "game_waiting" if summary.phase == "waiting" else "game_started"
