"""Finished games from the log: seats with their results, and whether the game is rated."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from playmolt_schemas.identifiers import game_of
from playmolt_schemas.identity import ladder_of
from playmolt_schemas.registry import bot_games
from playmolt_schemas.stored.values import DEFAULT_PACE, Identity, Pace, Place

from playmolt_core.db.ratings import RoleResult
from playmolt_core.game.fold import time_of
from playmolt_core.game.seats.rules import FEWEST_TO_RATE
from playmolt_core.log.port import LogEntry
from playmolt_core.ops.telemetry import log as logger

_log = logger("projector")
_Points = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class FinishedSeat(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A seat at the end of its game; `version` is "" for an agent without one."""

    agent_id: str
    points: int
    rank: int | None
    competes: bool
    version: str
    house: bool
    measured: bool = False


class FinishedGame(msgspec.Struct, frozen=True, gc=False):
    """A game that ended with results, its seats in the order of the results."""

    game_id: str
    game_type: str
    ended_at: datetime
    seats: tuple[FinishedSeat, ...]
    private: bool
    pace: Pace = DEFAULT_PACE
    ratable: bool = True
    """Whether the game itself does not say that it is not rated."""
    content: str = ""
    """The content version, in games that measure how often a role wins."""

    @property
    def ladder(self) -> str:
        """The ratings that the game counts for if it is rated."""
        return ladder_of(self.game_type, self.pace)

    @property
    def role(self) -> RoleResult | None:
        """Whether the measured role won, in a game that has one."""
        won = [seat.rank == 1 for seat in self.seats if seat.measured and seat.competes]
        return RoleResult(self.content, won[0]) if won else None

    @property
    def rated(self) -> bool:
        players = sum(not seat.house for seat in self.seats)
        competing = sum(seat.competes for seat in self.seats)
        public = self.ratable and not self.private
        return public and players >= FEWEST_TO_RATE and competing >= FEWEST_TO_RATE


class _Unplaced(Identity, frozen=True, kw_only=True):
    """A result of a game that does not place its seats."""

    agent_id: str
    points: _Points
    place: Place = Place(None, competes=False)


def finished_games(entries: Iterable[LogEntry]) -> Iterator[FinishedGame]:
    """The games ended by records of type `game_end`; one without readable results is logged and skipped."""
    for entry in entries:
        record = entry.record
        game_type = game_of(record.stream)
        try:
            ended = _reader(game_type)(record.data)
            seats = tuple(map(_seat, ended.results))
        except msgspec.MsgspecError as error:
            _log.error("unreadable_results", stream=record.stream, version=record.version, detail=str(error))
            continue
        yield FinishedGame(
            record.stream, game_type, time_of(record), seats, entry.private, entry.pace, ended.rated,
            ended.content_version,
        )  # fmt: skip


def _seat(result: Any) -> FinishedSeat:
    rank, competes, measured = result.place
    return FinishedSeat(
        agent_id=result.agent_id,
        points=result.points,
        rank=rank,
        competes=competes and rank is not None,
        version=result.version or "",
        house=result.kind == "house",
        measured=measured,
    )


@cache
def _reader(game_type: str) -> Callable[[bytes | msgspec.Raw], Any]:
    """The decoder of `game_end` for a game type."""
    messages = bot_games().get(game_type)
    result: Any = (messages and messages.result) or _Unplaced
    ended = msgspec.defstruct("Ended", [("results", list[result]), ("content_version", str, ""), ("rated", bool, True)])
    return msgspec.json.Decoder(ended).decode
