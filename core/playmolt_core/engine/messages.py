"""The messages of an event: for its viewers, for services, and for the lobby."""

from collections.abc import Mapping

import msgspec
from playmolt_schemas.game_messages import GameSummary, LobbyMessage, lobby_type
from playmolt_schemas.identifiers import SESSION_TYPES, TOURNAMENT_TYPES
from playmolt_schemas.stored.event import Event
from playmolt_schemas.text import escape_line_ends

from playmolt_core.game.decider import Decider, S, Viewer

_encode = msgspec.json.encode
_ID_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(SESSION_TYPES, "session_id"),
    **dict.fromkeys(TOURNAMENT_TYPES, "tournament_id"),
}
"""The field with the stream's id, where it is not `game_id`."""
_PROGRESS = b'{"type":"progress"}'


def message(
    decider: Decider[S], stream: str, version: int, at: str, event: Event, viewer: Viewer, state: S | None = None
) -> bytes:
    """The flat message of an event for a viewer, with game_id, version and at after the game's own fields.

    In a session the id field is session_id, in a tournament tournament_id. `at` has the format of `rfc3339`; `state` as
    in `Decider.public`.
    """
    shown = decider.public(event, viewer, state)
    if shown is None:
        return progress(decider.game, stream, version, at)
    return _placed(escape_line_ends(_encode(shown)), decider.game, stream, version, at)


def progress(game: str, stream: str, version: int, at: str) -> bytes:
    """The message of an event without content for the viewer, so that versions are contiguous for every viewer."""
    return _placed(_PROGRESS, game, stream, version, at)


def _placed(body: bytes, game: str, stream: str, version: int, at: str) -> bytes:
    name = _ID_FIELDS.get(game, "game_id")
    return body[:-1] + f',"{name}":"{stream}","version":{version},"at":"{at}"}}'.encode()


def lobby_message(
    game: str, stream: str, before: GameSummary | None, after: GameSummary, at: str
) -> LobbyMessage | None:
    """The lobby message of a change; None if the lobby entry does not change."""
    if game in SESSION_TYPES or game in TOURNAMENT_TYPES or after.invite:
        return None
    kind = lobby_type(after)
    if before is not None and lobby_type(before) == kind and (kind != "game_waiting" or before.seated == after.seated):
        return None
    return LobbyMessage(
        type=kind, game_id=stream, gameType=game, phase=after.phase, seated=after.seated, needed=after.needed,
        at=at, language=after.language, pace=after.pace,
    )  # fmt: skip
