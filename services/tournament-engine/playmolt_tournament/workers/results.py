"""Watches the games of a tournament and reports those that are over, with what their logs say."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, Protocol, cast

import msgspec
from playmolt_core.bus.port import BusUnavailable, EngineCalls
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.seats.rules import ABANDONED
from playmolt_schemas.envelopes import Op
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.registry import bot_games
from playmolt_schemas.stored.tournament import Outcome, Score
from playmolt_schemas.stored.values import Fault, Place

from playmolt_tournament import commands
from playmolt_tournament.effects import GamesToWatch
from playmolt_tournament.state import State

WATCH_SECONDS: Final = 0.5
_WATCHES: Final = 10
"""Then the lease is released, so that another process can take over."""
_FEWEST: Final = 10
_encode = msgspec.json.encode


class _Row(msgspec.Struct):
    game_id: str
    created_at: str
    version: int
    over: bool


class _Rows(msgspec.Struct):
    games: list[_Row]


class _Result(Protocol):
    """What the games' types of results have in common."""

    agent_id: str
    points: int

    @property
    def place(self) -> Place: ...


class _Ended(Protocol):
    results: list[_Result]


class LastMessage(msgspec.Struct, frozen=True):
    """The last message of a game."""

    type: str
    reason: str = ""
    faults: list[Fault] = []


class _Feed(msgspec.Struct):
    messages: list[msgspec.Raw]


_rows_of = msgspec.json.Decoder(_Rows).decode
_feed_of = msgspec.json.Decoder(_Feed).decode
_closing_of = msgspec.json.Decoder(LastMessage).decode


class GameWatcher:
    """Fulfils `watch_games`: a game that is over is scored, or played again."""

    def __init__(self, engines: EngineCalls, *, seconds: float = WATCH_SECONDS) -> None:
        self._engines = engines
        self._seconds = seconds

    async def __call__(self, leased: LeasedEffect[GamesToWatch, State]) -> None:
        for _ in range(_WATCHES):
            state = (await leased.present()).state
            if leased.stopping or not state.games:
                return
            for row in await self._over(leased.stream, state):
                await self._report(leased, state, row)
            await asyncio.sleep(self._seconds)

    async def _over(self, tournament: str, state: State) -> Sequence[_Row]:
        """The games of the state that are over. One page after the other, so that games of any age are found."""
        found, wanted = list[_Row](), set(state.games)
        before: tuple[str, str] | None = None
        limit = min(_FEWEST + 2 * len(wanted), PAGE_MAX)
        while wanted:
            ask = {"tournament": tournament, "limit": limit, **({"before": before} if before else {})}
            page = _rows_of(await self._answer(state.terms.game_type, "games", "", ask)).games
            found += [row for row in page if row.game_id in wanted and row.over]
            wanted -= {row.game_id for row in page}
            if len(page) < limit:
                break
            before = page[-1].created_at, page[-1].game_id
        return found

    async def _report(self, leased: LeasedEffect[GamesToWatch, State], state: State, row: _Row) -> None:
        ask = {"after": row.version - 1, "limit": 1}
        feed = _feed_of(await self._answer(state.terms.game_type, "feed", row.game_id, ask))
        last = bytes(feed.messages[-1])
        closing = _closing_of(last)
        scores = _scores(state, last) if closing.type == "game_end" else ()
        score = commands.ScoreGame(game_id=row.game_id, outcome=outcome_of(closing), scores=scores)
        await leased.submit(score, f"score/{row.game_id}")

    async def _answer(self, game: str, op: Op, target: str, ask: Mapping[str, object]) -> bytes:
        """Raises LogUnavailable, so that the effect is retried."""
        try:
            answer = await self._engines.submit(game, op, target, _encode(ask))
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error
        if answer.status != 200:
            raise LogUnavailable(f"{op} of {game} {target} was answered with {answer.status}")
        return answer.body


def outcome_of(closing: LastMessage) -> Outcome:
    """How a game ended. Without results it is void if the operator or the platform had a part in it."""
    if closing.type == "game_end":
        return "ended"
    platforms = any(fault.kind in ("operator", "platform") for fault in closing.faults)
    return "abandoned" if closing.reason == ABANDONED and not platforms else "void"


def _scores(state: State, message: bytes) -> tuple[Score, ...]:
    """The scores of the entrants; house bots have none."""
    results = _reader(state.terms.game_type)(message).results
    return tuple(
        Score(number=number, points=result.points, won=rank == 1, rank=rank)
        for result in results
        for number, rank in ((state.number_of(result.agent_id), result.place.rank),)
        if number
    )


@cache
def _reader(game_type: str) -> Callable[[bytes], _Ended]:
    """The decoder of `game_end` for a game type."""
    ended = msgspec.defstruct("Ended", [("results", list[bot_games()[game_type].result])])  # type: ignore[misc]
    return msgspec.json.Decoder(cast("type[_Ended]", ended)).decode
