"""What the lobby and the list of games show of a game."""

from typing import Final, Literal

import msgspec

from playmolt_schemas.games.game_messages import GameLanguage

DEFAULT_LANGUAGE: Final[GameLanguage] = "ko"
LobbyType = Literal["game_waiting", "game_started", "game_end", "game_aborted"]


class GameSummary(msgspec.Struct, frozen=True):
    """A game at a glance, the same for everybody."""

    phase: str
    round: int
    seated: int
    needed: int
    over: bool = False
    language: GameLanguage = DEFAULT_LANGUAGE
    invite: str = ""
    """The hex SHA-256 of a private game's invite; "" for a public game."""

    @property
    def hidden(self) -> bool:
        """Whether only who sits there or has the invite may know of it."""
        return bool(self.invite) and not self.over


class LobbyMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the lobby feed (api.md, Feeds)."""

    type: LobbyType
    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    seated: int
    needed: int
    at: str
    language: GameLanguage = DEFAULT_LANGUAGE


def lobby_type(summary: GameSummary) -> LobbyType:
    """Name the lobby message that shows a game as it is now."""
    if summary.phase == "aborted":
        return "game_aborted"
    if summary.over:
        return "game_end"
    return "game_waiting" if summary.phase == "waiting" else "game_started"
