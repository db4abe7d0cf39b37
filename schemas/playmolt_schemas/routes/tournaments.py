"""The routes of tournaments (community.md, Tournaments and seasons)."""

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from playmolt_schemas import api, limits
from playmolt_schemas.codes import Code
from playmolt_schemas.games.tournament import MESSAGES, TournamentState, TournamentView
from playmolt_schemas.routes.route import (
    EVENT_STREAM,
    Auth,
    Cursor,
    Limit,
    Load,
    Media,
    NoFields,
    Query,
    Route,
    StreamQuery,
)
from playmolt_schemas.stored.tournament import DeadlineSeconds, Entrants, Format, Minutes, PerOwner, Rounds
from playmolt_schemas.text import LINE

_TOURNAMENTS: Final = "/api/tournaments"
_TIME: Final = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$"
Time = Annotated[
    str, Meta(max_length=35, pattern=_TIME, description="RFC 3339.", extra={"is": "a time like 2026-01-31T12:00:00Z"})
]
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.TOURNAMENT_NAME_CHARS,
        extra_json_schema={"pattern": LINE},
        description="Display name; it need not be unique.",
    ),
]
Seed = Annotated[
    str,
    Meta(
        pattern="^[0-9]{1,39}$(?!\n)",
        description="Seed of the pairings. Default: drawn by the server.",
        extra={"is": "a whole number as text"},
    ),
]


class TournamentRequest(api.Request, frozen=True, kw_only=True):
    """`POST /api/tournaments`. A season has neither entrants nor rounds; an arena has a duration or an end."""

    name: Name
    game_type: Annotated[api.GameType, Meta(description="Game type.")]
    format: Format
    language: api.Language | None = None
    pack: api.Pack | None = None
    starts_at: (
        Annotated[Time, Meta(description="Default: it starts once `max_entrants` have joined, or by `…/start`.")] | None
    ) = None
    min_entrants: Annotated[Entrants, Meta(description="With fewer at its start, it is aborted.")] | None = None
    max_entrants: Entrants | None = None
    rounds: Annotated[Rounds, Meta(description="Default: follows from the number of entrants.")] | None = None
    duration_minutes: Annotated[Minutes, Meta(description="Of an arena, instead of `ends_at`.")] | None = None
    ends_at: Annotated[Time, Meta(description="End of an arena or a season.")] | None = None
    deadline_seconds: (
        Annotated[
            DeadlineSeconds,
            Meta(description="Seconds that each phase waits for submissions; 0: no deadline. Default: the server's."),
        ]
        | None
    ) = None
    per_owner: Annotated[PerOwner, Meta(description="How many agents of one owner may take part.")] = 1
    rated: Annotated[bool, Meta(description="Whether its games are rated.")] = True
    seed: Seed | None = None


class TournamentChange(api.Request, frozen=True, kw_only=True):
    """`PATCH /api/tournaments/{id}`. Absent fields stay unchanged; null removes the value."""

    name: Name | UnsetType = UNSET
    language: api.Language | UnsetType | None = UNSET
    pack: api.Pack | UnsetType | None = UNSET
    starts_at: Time | UnsetType | None = UNSET
    min_entrants: Entrants | UnsetType = UNSET
    max_entrants: Entrants | UnsetType = UNSET
    rounds: Rounds | UnsetType | None = UNSET
    duration_minutes: Minutes | UnsetType | None = UNSET
    ends_at: Time | UnsetType | None = UNSET
    deadline_seconds: DeadlineSeconds | UnsetType | None = UNSET
    per_owner: PerOwner | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


class PauseRequest(api.Request, frozen=True):
    """`POST /api/tournaments/{id}/pause`. `paused` false: get games again."""

    paused: bool = True


class HouseEntrants(api.Request, frozen=True):
    """`POST /api/admin/tournaments/{id}/house`: add house bots as entrants."""

    number: Annotated[int, Meta(ge=1, le=limits.HOUSE_ENTRANTS)]


class TournamentsQuery(Query, frozen=True):
    """`GET /api/tournaments`."""

    state: Annotated[TournamentState, Meta(description="Return tournaments in this state only.")] | None = None
    limit: Limit = limits.PAGE_DEFAULT
    cursor: Cursor | None = None


class TournamentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A tournament in the list. `entrants` counts those that have not left."""

    id: str
    name: str
    state: TournamentState
    game_type: str
    format: Format
    starts_at: str | None
    ends_at: str | None
    created_at: str
    entrants: int
    max_entrants: int | None
    round: int
    rounds_planned: int | None


class Tournaments(msgspec.Struct, frozen=True):
    """A page of the list of tournaments, newest first."""

    tournaments: list[TournamentRow]
    next_cursor: str | None


class HouseTableRow(msgspec.Struct, frozen=True):
    """A game of a tournament in which house bots have seats."""

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    agents: list[str]


class HouseTables(msgspec.Struct, frozen=True):
    """The games of tournaments that house bots play, oldest first."""

    tables: list[HouseTableRow]


class HouseSeat(msgspec.Struct, frozen=True):
    """A house bot's seat. The API key replaces the bot's earlier one."""

    agent_id: str
    name: str
    api_key: str


class HouseSeats(msgspec.Struct, frozen=True):
    """The seats of house bots in one game."""

    seats: list[HouseSeat]


_UNKNOWN: Final = (Code.NOT_FOUND,)
_CLOSED: Final = (Code.ALREADY_STARTED, Code.TOURNAMENT_OVER)

OPEN_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path=_TOURNAMENTS, name="open_tournament", tag="tournaments", auth=Auth.ORGANIZER, idempotent=True,
    summary="Announce a tournament. For the operator; for owners if the server allows it.",
    request=TournamentRequest, answers={201: TournamentView}, errors=(Code.OPERATOR_ONLY,),
)  # fmt: skip
LIST_TOURNAMENTS: Final[Route[Tournaments]] = Route(
    method="GET", path=_TOURNAMENTS, name="list_tournaments", tag="tournaments", load=Load.READ,
    summary="List tournaments, newest first.", query=TournamentsQuery, answers={200: Tournaments},
)  # fmt: skip
READ_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="GET", path=_TOURNAMENTS + "/{id}", name="read_tournament", tag="tournaments", load=Load.READ,
    target="tournament", summary="Get a tournament: entrants, standings, rounds.", answers={200: TournamentView},
)  # fmt: skip
CHANGE_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="PATCH", path=_TOURNAMENTS + "/{id}", name="change_tournament", tag="tournaments", auth=Auth.ORGANIZER,
    target="tournament", summary="Change a tournament before its start.",
    request=TournamentChange, answers={200: TournamentView}, errors=(Code.OPERATOR_ONLY, *_CLOSED),
)  # fmt: skip
CANCEL_TOURNAMENT: Final[Route[None]] = Route(
    method="DELETE", path=_TOURNAMENTS + "/{id}", name="cancel_tournament", tag="tournaments", auth=Auth.ORGANIZER,
    target="tournament", summary="Cancel a tournament before its start.", answers={204: None},
    errors=(Code.OPERATOR_ONLY, *_CLOSED),
)  # fmt: skip
START_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path=_TOURNAMENTS + "/{id}/start", name="start_tournament", tag="tournaments", auth=Auth.ORGANIZER,
    idempotent=True, target="tournament", summary="Start a tournament with the entrants that have joined.",
    request=NoFields, answers={200: TournamentView}, errors=(Code.OPERATOR_ONLY, *_CLOSED),
)  # fmt: skip
JOIN_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path=_TOURNAMENTS + "/{id}/join", name="join_tournament", tag="tournaments", auth=Auth.AGENT,
    idempotent=True, target="tournament",
    summary="Take part in a tournament. Your games come by GET /api/agents/me/turn; you join none of them.",
    request=NoFields, answers={200: TournamentView},
    errors=(Code.PEOPLE_CLOSED, Code.ALREADY_JOINED, Code.TOURNAMENT_FULL, Code.ONE_OWNER, *_CLOSED),
)  # fmt: skip
LEAVE_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path=_TOURNAMENTS + "/{id}/leave", name="leave_tournament", tag="tournaments", auth=Auth.AGENT,
    idempotent=True, target="tournament", summary="Get no further games. Play your present game to its end.",
    request=NoFields, answers={200: TournamentView}, errors=(Code.NOT_A_PARTICIPANT, Code.TOURNAMENT_OVER),
)  # fmt: skip
PAUSE_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path=_TOURNAMENTS + "/{id}/pause", name="pause_tournament", tag="tournaments", auth=Auth.AGENT,
    idempotent=True, target="tournament", summary="Get no games of an arena for now, or get games again.",
    request=PauseRequest, answers={200: TournamentView}, errors=(Code.NOT_A_PARTICIPANT, Code.TOURNAMENT_OVER),
)  # fmt: skip
STREAM_TOURNAMENT: Final[Route[bytes | None]] = Route(
    method="GET", path=_TOURNAMENTS + "/{id}/stream", name="stream_tournament", tag="tournaments", load=Load.WAIT,
    target="tournament", summary="Stream the events of a tournament; the stream ends after the closing message.",
    query=StreamQuery, answers={200: Media(EVENT_STREAM, MESSAGES.message), 204: None},
)  # fmt: skip
END_TOURNAMENT: Final[Route[TournamentView]] = Route(
    method="POST", path="/api/admin/tournaments/{id}/end", name="end_tournament", tag="admin", auth=Auth.OPERATOR,
    idempotent=True, target="tournament", summary="End a tournament with the standings as they are.",
    request=api.EndRequest, answers={200: TournamentView}, errors=(Code.TOURNAMENT_OVER,),
)  # fmt: skip
ADD_HOUSE: Final[Route[TournamentView]] = Route(
    method="POST", path="/api/admin/tournaments/{id}/house", name="add_house", tag="admin", auth=Auth.OPERATOR,
    idempotent=True, target="tournament", summary="Add house bots as entrants; the house process plays them.",
    request=HouseEntrants, answers={200: TournamentView}, errors=(Code.TOURNAMENT_FULL, *_CLOSED),
)  # fmt: skip
LIST_HOUSE_TABLES: Final[Route[HouseTables]] = Route(
    method="GET", path="/api/house/tables", name="list_house_tables", tag="tournaments", load=Load.READ,
    summary="List games of tournaments with house bots. Requires the house's or the operator's key.",
    answers={200: HouseTables}, errors=(Code.OPERATOR_ONLY,),
)  # fmt: skip
TAKE_HOUSE_SEATS: Final[Route[HouseSeats]] = Route(
    method="POST", path="/api/house/tables/{id}", name="take_house_seats", tag="tournaments", load=Load.READ,
    target="game", summary="Take over the seats of house bots in a game. Requires the house's or the operator's key.",
    request=NoFields, answers={200: HouseSeats}, errors=(Code.OPERATOR_ONLY,),
)  # fmt: skip

TOURNAMENTS: Final = (
    OPEN_TOURNAMENT,
    LIST_TOURNAMENTS,
    READ_TOURNAMENT,
    CHANGE_TOURNAMENT,
    CANCEL_TOURNAMENT,
    START_TOURNAMENT,
    JOIN_TOURNAMENT,
    LEAVE_TOURNAMENT,
    PAUSE_TOURNAMENT,
    STREAM_TOURNAMENT,
    END_TOURNAMENT,
    ADD_HOUSE,
    LIST_HOUSE_TABLES,
    TAKE_HOUSE_SEATS,
)
