"""What the lobby and the list of games show of a game."""

from typing import Literal

import msgspec

LobbyType = Literal["game_waiting", "game_started", "game_end", "game_aborted"]


class GameSummary(msgspec.Struct, frozen=True):
    """A game at a glance, the same for everybody."""

    phase: str
    round: int
    seated: int
    needed: int
    over: bool = False


class LobbyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the lobby feed (api.md, Feeds)."""

    type: LobbyType
    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    seated: int
    needed: int
    at: str


def lobby_type(summary: GameSummary) -> LobbyType:
    """Name the lobby message that shows a game as it is now."""
    if summary.phase == "aborted":
        return "game_aborted"
    if summary.over:
        return "game_end"
    return "game_waiting" if summary.phase == "waiting" else "game_started"
