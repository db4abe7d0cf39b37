"""The bytes that go out for an event: its public message and its lobby message."""

from collections.abc import Mapping
from typing import Any

import msgspec
from playmolt_schemas.game_messages import GameSummary, LobbyMessage, lobby_type
from playmolt_schemas.identifiers import SESSION_TYPES
from playmolt_schemas.text import escape_line_ends

from playmolt_core.game.decider import Decider, Event, Viewer


class _Typed(msgspec.Struct):
    type: str


_encode = msgspec.json.encode
_sorted = msgspec.json.Encoder(order="sorted").encode
_type = msgspec.json.Decoder(_Typed).decode
_PROGRESS: Mapping[str, str] = {"type": "progress"}


def message(
    decider: Decider[Any], stream: str, version: int, at: str, state: Any, event: Event, viewer: Viewer
) -> bytes:
    """The flat message of an event for a viewer, with game_id, version and at behind the game's own fields.

    In a session the id is called session_id. `at` is as rfc3339 writes it.

    An event with nothing to show is `progress`, so that every viewer counts 1, 2, 3 … without a hole.
    """
    shown = decider.public(state, event, viewer)
    body = _type_first(_sorted(_PROGRESS if shown is None else shown))
    name = "session_id" if decider.game in SESSION_TYPES else "game_id"
    return escape_line_ends(body)[:-1] + f',"{name}":"{stream}","version":{version},"at":"{at}"}}'.encode()


def _type_first(body: bytes) -> bytes:
    """The other members stay sorted, as those of stored data are: the log keeps once what is the same in both."""
    kind = b'"type":' + _encode(_type(body).type)
    before, _, after = body.partition(kind)
    if kind in after:
        return body
    members = b",".join(part for part in (before[1:].removesuffix(b","), after[:-1].removeprefix(b",")) if part)
    return b"{" + kind + (b"," + members if members else b"") + b"}"


def lobby_message(game: str, stream: str, before: GameSummary | None, after: GameSummary, at: str) -> bytes | None:
    """The lobby message of a change, or None when the lobby shows the game as before."""
    if game in SESSION_TYPES or after.invite:
        return None
    kind = lobby_type(after)
    if before is not None and lobby_type(before) == kind and (kind != "game_waiting" or before.seated == after.seated):
        return None
    return _encode(
        LobbyMessage(
            type=kind, game_id=stream, gameType=game, phase=after.phase, seated=after.seated, needed=after.needed,
            at=at, language=after.language,
        )
    )  # fmt: skip
