"""Ids of the form `<type>-<uuid>`. Check them before using them in a subject or a query."""

import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from playmolt_schemas.manifest import Kind
from playmolt_schemas.registry import games


def _types(kind: Kind) -> tuple[str, ...]:
    return tuple(game.type for game in games().values() if game.kind == kind)


GAME_TYPES: tuple[str, ...] = _types("game")
"""The bot games: types that agents join through a lobby (api.md)."""
RUN_TYPES: tuple[str, ...] = _types("run")
"""The runs of experiments: anyone may watch them; only the operator reads their logs."""
TOURNAMENT_TYPES: tuple[str, ...] = _types("tournament")
"""The tournaments, which have routes of their own."""
WATCHED_TYPES: tuple[str, ...] = (*GAME_TYPES, *RUN_TYPES)
"""The types that anyone may watch as games: bot games and runs."""
SESSION_TYPES: tuple[str, ...] = _types("session")
"""The sessions: visible to their owner, only through their own routes, and to the operator."""
SEALED_TYPES: tuple[str, ...] = tuple(game.type for game in games().values() if game.sealed)
"""The session types whose records are sealed."""
ENGINES: Mapping[str, tuple[str, ...]] = {
    service: tuple(game.type for game in games().values() if game.service == service)
    for service in dict.fromkeys(game.service for game in games().values())
}
"""Service → the types that it serves."""

# The installed games are known at process start, so a Literal validates them and puts their names into schemas.
if TYPE_CHECKING:
    GameType: TypeAlias = str
    AnyType: TypeAlias = str
else:
    GameType = Literal[GAME_TYPES]
    AnyType = Literal[(*GAME_TYPES, *RUN_TYPES, *TOURNAMENT_TYPES, *SESSION_TYPES)]

# isoformat() is twenty times slower, and every event formats its time several times.
_encode = msgspec.json.Encoder().encode
_WITHOUT_DECIMALS: Final = len("2026-11-29T00:00:00Z")
_ID = re.compile(r"([a-z][a-z0-9]{0,15})-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)


def type_of(identifier: str) -> str | None:
    """The type part of an id; None if it is malformed."""
    match = _ID.fullmatch(identifier)
    return match.group(1) if match else None


def time_ordered_id(kind: str, at: datetime, *entropy: str) -> str:
    """An id that sorts by creation time (UUIDv7 layout).

    The same arguments give the same id, so a command that is decided twice creates one game.
    """
    millis = int(at.timestamp() * 1000)
    digest = hashlib.sha256("\x00".join((kind, at.isoformat(), *entropy)).encode()).digest()
    raw = (
        millis.to_bytes(6, "big") + bytes([0x70 | digest[0] & 0x0F, digest[1], 0x80 | digest[2] & 0x3F]) + digest[3:10]
    )
    return f"{kind}-{uuid.UUID(bytes=raw)}"


def id_of_command(kind: str, command_id: str) -> str:
    """The id of what a command creates; the same for every repetition of the command."""
    return f"{kind}-{uuid.uuid5(uuid.NAMESPACE_OID, f'{kind}/{command_id}')}"


MODERATION = "moderation"
"""The type of the streams of the operator's decisions, which belong to no game."""


def moderation_of(at: datetime) -> str:
    """The stream of the operator's decisions of a UTC month."""
    return f"{MODERATION}-{uuid.uuid5(uuid.NAMESPACE_OID, f'{MODERATION}/{at.astimezone(UTC):%Y-%m}')}"


def lobby_of(game: str) -> str:
    """The stream of a game type's lobby, which assigns seats."""
    return f"lobby-{game}"


def is_lobby(stream: str) -> bool:
    """Whether a stream is a lobby."""
    return stream.startswith("lobby-")


def game_of(stream: str) -> str:
    """The type of a stream: its name up to the first dash."""
    return stream.partition("-")[0]


def is_sealed_type(stream: str) -> bool:
    """Whether a stream is a session of a type that is sealed."""
    return stream.partition("-")[0] in SEALED_TYPES


def rfc3339(at: datetime) -> str:
    """Format a time as RFC 3339 in UTC with exactly six decimals, as everywhere on the platform."""
    text = _encode(at if at.tzinfo is UTC else at.astimezone(UTC))[1:-1].decode()
    return text if at.microsecond else f"{text[:-1]}.000000Z"


def read_rfc3339(text: str) -> datetime:
    """A time that a caller wrote, in UTC; its letters may be small. Raises ValueError if it is none."""
    try:
        at = datetime.fromisoformat(text.upper())
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except OverflowError:
        pass
    raise ValueError(f"{text!r} is not a time of this calendar with a time zone")


def rfc3339_texts(times: Sequence[datetime]) -> list[str]:
    """As `rfc3339`, for many times with the time zone UTC: a third of the cost."""
    texts = _encode(times)[2:-2].decode().split('","')
    return [text if len(text) > _WITHOUT_DECIMALS else f"{text[:-1]}.000000Z" for text in texts] if times else []


SCRIPTED: Final = "scripted"
"""The alias of the model that needs no network. `scripted-NAME` is the scripted model with character NAME."""
ALIAS: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of models in catalogues and plans."""


def is_scripted(alias: str) -> bool:
    return alias == SCRIPTED or (alias.startswith(f"{SCRIPTED}-") and ALIAS.fullmatch(alias) is not None)
