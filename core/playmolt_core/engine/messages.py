"""The public message and the lobby message of an event, as bytes."""

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
    """The flat message of an event for a viewer, with game_id, version and at after the game's own fields.

    In a session the id field is session_id. `at` has the format of `rfc3339`.

    An event without content for the viewer becomes `progress`, so that versions are contiguous for every viewer.
    """
    shown = decider.public(state, event, viewer)
    body = _type_first(_sorted(_PROGRESS if shown is None else shown))
    name = "session_id" if decider.game in SESSION_TYPES else "game_id"
    return escape_line_ends(body)[:-1] + f',"{name}":"{stream}","version":{version},"at":"{at}"}}'.encode()


def _type_first(body: bytes) -> bytes:
    """Move `type` to the front. The rest stays sorted like stored data, so that the log can deduplicate both."""
    kind = b'"type":' + _encode(_type(body).type)
    before, _, after = body.partition(kind)
    if kind in after:
        return body
    members = b",".join(part for part in (before[1:].removesuffix(b","), after[:-1].removeprefix(b",")) if part)
    return b"{" + kind + (b"," + members if members else b"") + b"}"


def lobby_message(game: str, stream: str, before: GameSummary | None, after: GameSummary, at: str) -> bytes | None:
    """The lobby message of a change; None if the lobby entry does not change."""
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
