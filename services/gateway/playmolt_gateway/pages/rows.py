"""Rows of game lists: topic, players, winner."""

import asyncio
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from playmolt_schemas.routes.pages import GameListRow, RowPlayer
from playmolt_schemas.routes.platform import AdminGameRow

from playmolt_gateway.pages.moments import State, state_if_there
from playmolt_gateway.ports import GatewayBus

_KEPT: Final = 5000
"""Cached rows of finished games."""
_AT_ONCE: Final = 4


class RowFilter(msgspec.Struct, frozen=True):
    """Filters that an engine's list does not support."""

    q: str = ""
    winner: str = ""
    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return bool(self.q or self.winner or self.since or self.until)

    def fits(self, row: GameListRow) -> bool:
        texts = (row.about, *(text for one in row.names for text in (one.name, one.handle)))
        if self.q and not any(folded(self.q) in folded(text) for text in texts):
            return False
        if self.winner and self.winner not in _winners(row):
            return False
        # RFC 3339 times in UTC with microseconds sort as text.
        ended = row.ended_at or ""
        return (
            bool(not (self.since or self.until) or ended)
            and self.since <= ended
            and (not self.until or ended <= self.until)
        )


def folded(text: str) -> str:
    """Normalized text for comparison; macOS input decomposes Hangul."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _winners(row: GameListRow) -> Sequence[str]:
    return (*(text for one in row.winners for text in (one.id, one.handle)), row.verdict or "")


class RowLoader:
    """Makes rows from lines of an engine's list by reading each game's state; finished games are cached."""

    def __init__(self, bus: GatewayBus) -> None:
        self._bus = bus
        self._over: OrderedDict[str, GameListRow] = OrderedDict()
        self._revision = 0
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def of(self, lines: Sequence[AdminGameRow], revision: int) -> Sequence[GameListRow]:
        """The rows as they are shown after the operator's decision of this number."""
        if revision != self._revision:
            self._over.clear()
            self._revision = revision
        return await asyncio.gather(*(self._row(line) for line in lines))

    async def _row(self, line: AdminGameRow) -> GameListRow:
        kept = self._over.get(line.game_id)
        if kept is not None:
            return kept
        async with self._slots:
            state = await state_if_there(self._bus, line.game_id)
        row = _made(line, state or {})
        if line.over and state is not None:
            self._over[line.game_id] = row
            if len(self._over) > _KEPT:
                self._over.popitem(last=False)
        return row


def _made(line: AdminGameRow, state: State) -> GameListRow:
    seats = tuple(_name(seat) for seat in state.get("participants", ()))
    return GameListRow(
        game_id=line.game_id, gameType=line.gameType, phase=line.phase, round=line.round, seated=line.seated,
        needed=line.needed, created_at=line.created_at, ended_at=line.updated_at if line.over else None, over=line.over,
        about=_about(state), names=seats, winners=_won(state), verdict=state.get("verdict"),
        seconds_left=state.get("seconds_left"), language=state.get("language"),
        pace=state.get("pace"), quiet_seconds=0.0 if line.over else _seconds_since(line.updated_at),
    )  # fmt: skip


def _seconds_since(at: str) -> float:
    return max(0.0, round((datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds(), 1))


def _about(state: State) -> str:
    case: Mapping[str, Any] | None = state.get("case")
    if case:
        return str(case["title"])
    questions = [one["question"] for one in state.get("history", ()) if "question" in one]
    # The first question of an O/X game is its topic.
    if "cell" in state:
        return f"{state['name']} · {state['cell']} · {state['number']}"
    return str(questions[0] if questions else state.get("question") or "")


def _won(state: State) -> tuple[RowPlayer, ...]:
    """Who won, several if they share the first rank."""
    return tuple(
        RowPlayer(one["agent_id"], one["name"], one.get("handle", ""), one.get("kind", "bot"))
        for one in state.get("results") or ()
        if one.get("rank") == 1 or (one.get("won") and one.get("role") in ("PROSECUTOR", "DEFENSE"))
    )


def _name(seat: Mapping[str, Any]) -> RowPlayer:
    return RowPlayer(seat["id"], seat["name"], seat.get("handle", ""), seat.get("kind", "bot"))
