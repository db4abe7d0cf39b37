"""The channels: NATS subjects and feed paths with their messages."""

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from playmolt_schemas import limits, subjects
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.export import wire
from playmolt_schemas.export.json_schemas import leaves, name_of
from playmolt_schemas.game_messages import LobbyMessage, Moderated, StoredModerated
from playmolt_schemas.games import legal
from playmolt_schemas.identifiers import GAME_TYPES, lobby_of
from playmolt_schemas.records import Record
from playmolt_schemas.routes.platform import MESSAGES, ROUTES, AdminLog
from playmolt_schemas.routes.route import Route

JSON: Final = "application/json"
MSGPACK: Final = "application/msgpack"
TEXT: Final = "text/plain"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a channel: payload type, encoding and headers."""

    name: str
    payload: Any
    content_type: str = JSON
    headers: type | None = None
    summary: str = ""


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """A subject or path. `address` None is the requester's inbox. `stream` is the JetStream stream that stores it."""

    name: str
    address: str | None
    summary: str
    messages: tuple[Message, ...]
    server: str = "nats"
    stream: str = ""


_UUID: Final = "0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04"

PARAMETERS: Final = {
    "game": ("The game type: the part of an id before the first dash.", GAME_TYPES),
    "identifier": (
        "The id of a game, `<type>-<uuid>`; on `actions` and `public` also `lobby`, for calls without a game; on "
        "`events` and `sealed` also the stream of a lobby.",
        (*(f"{game}-{_UUID}" for game in GAME_TYPES), lobby_of(GAME_TYPES[0])),
    ),
    "id": ("The id in the path, `<type>-<uuid>`.", tuple(f"{game}-{_UUID}" for game in GAME_TYPES)),
    "instance": ("The name of an engine replica, from its announcement.", ("5f0c2a9be871",)),
    "call": ("The JetStream API call.", ("CONSUMER.CREATE.EVENTS.mine",)),
    "service": ("The name of a service, which is also its NATS user.", ("relay", "ox-engine")),
    "kind": ("The type of the stored event.", ("game_created", "game_end")),
}
"""Parameter of an address → description and examples."""


def address(subject: Callable[..., str]) -> str:
    """The address of a subject function, with its required parameters in braces."""
    required = (each for each in inspect.signature(subject).parameters.values() if each.default is each.empty)
    return subject(*(f"{{{each.name}}}" for each in required))


def parameters(channel: Channel) -> tuple[str, ...]:
    """The parameters of a channel's address, in order."""
    return tuple(re.findall(r"{(\w+)}", channel.address or ""))


def _said(kind: type, headers: type | None = None) -> Message:
    summary = inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
    return Message(name=name_of(kind), payload=kind, headers=headers, summary=summary)


def _empty(name: str, summary: str, headers: type | None = None) -> Message:
    return Message(name=name, payload=wire.Empty, content_type=TEXT, headers=headers, summary=summary)


PUBLIC: Final = (*dict.fromkeys(leaves(MESSAGES)), wire.ProgressMessage)
"""All public messages of all games."""

CALLS: Final = Message(
    name="calls",
    payload=list[Call],
    content_type=MSGPACK,
    summary="The calls of one iteration of the caller's event loop.",
)
ANSWERS: Final = Message(
    name="answers", payload=list[Answer], content_type=MSGPACK,
    summary="Answers to calls of one or more batches. A call that changes something is answered after the commit.",
)  # fmt: skip
_PUBLIC_STORED: Final = tuple(_said(kind, wire.PublicHeaders) for kind in PUBLIC)
_FEED: Final = tuple(_said(kind) for kind in PUBLIC)
_HEARTBEAT: Final = _said(wire.Heartbeat)
_LOBBY: Final = _said(LobbyMessage)
_MODERATED: Final = _said(Moderated)
_DROPPED: Final = (
    f"A reader with {limits.READER_MESSAGES} messages or {limits.READER_BYTES} bytes pending, or that reads nothing "
    f"for {limits.READER_STALL_SECONDS} s, is disconnected and can resume."
)
_CLOSES: Final = (
    "Close codes: 1000 after the closing message, 4008 if the reader is too slow, 4400 if `after` is not a version, "
    "1001 if the server stops, 1011 if it failed. Reconnect after any code except 1000."
)

STREAMS: Final = tuple(route for route in ROUTES if route.streams)
"""The gateway's routes that answer with server-sent events."""


def _own_feed(route: Route) -> Channel:
    kinds = [leaf for answer in route.answers.values() for leaf in leaves(answer)]
    said = tuple(_said(kind) for kind in dict.fromkeys([*kinds, wire.ProgressMessage, Moderated]))
    return Channel(name=route.name, address=route.path, server="gateway", summary=route.summary, messages=said)


CHANNELS: Final = (
    Channel(
        name="actions", address=address(subjects.action), messages=(CALLS,),
        summary="Calls to a game type; any replica takes a batch.",
    ),
    Channel(
        name="replica", address=address(subjects.replica), messages=(CALLS,),
        summary="Calls to the replica that probably has a game in memory; an optimization.",
    ),
    Channel(
        name="public", address=address(subjects.public), messages=(CALLS,),
        summary="Calls answered with public data only (`feed` as a spectator, and `games`).",
    ),
    Channel(
        name="tables", address=address(subjects.table), messages=(CALLS,),
        summary="Calls that seat a tournament's game (`seat_table`).",
    ),
    Channel(
        name="inbox", address=None, summary="The reply subject of a request: `_INBOX.<requester>.<responder>.…`.",
        messages=(ANSWERS, _said(wire.Presence), _said(wire.ProjectionsPosition), _said(wire.Lag), _said(AdminLog),
                  _said(wire.LogRefused)),
    ),
    Channel(
        name="events", address=address(subjects.event), stream=subjects.EVENTS_STREAM,
        summary="Complete records, for services only. Sequence k is position k. With several shards the stream is"
        " `EVENTS_<shard>`, and the shard is the second token of the subject.",
        messages=(_said(Record, wire.FenceHeaders),),
    ),
    Channel(
        name="spectate", address=address(subjects.spectate), stream=subjects.SPECTATE_STREAM,
        summary="Public messages of one game, in order. Sequence k is position k. Shards as in `events`.",
        messages=(*_PUBLIC_STORED, _said(StoredModerated, wire.PublicHeaders)),
    ),
    Channel(
        name="sealed", address=address(subjects.sealed), stream=subjects.SPECTATE_STREAM,
        summary="Placeholder for a record without a public form.",
        messages=(_empty("sealed", "Placeholder for a record without a public form.", wire.FenceHeaders),),
    ),
    Channel(
        name="lobby", address=address(subjects.lobby), messages=(_LOBBY,),
        summary="Changes of the lobby; not stored. Readers recover from losses by requesting the list from "
        "the engines.",
    ),
    Channel(
        name="committed", address=subjects.COMMITTED, messages=(_empty("committed", "Something was committed."),),
        summary="Hint that an engine could not publish records; with several shards `committed.<shard>`."
        " It may be lost; the relay also polls.",
    ),
    Channel(
        name="projections_sync", address=subjects.PROJECTED, messages=(_empty("sync", "Wait for the projections."),),
        summary="Answered once the projections include everything that was committed before the request.",
    ),
    Channel(
        name="relay_lag", address=subjects.LAG, messages=(_empty("lag", "Request the lag."),),
        summary="The positions of the log and its copies.",
    ),
    Channel(
        name="relay_log", address=subjects.LOG, messages=(_said(wire.LogPageRequest),),
        summary="A page of the whole log, in order.",
    ),
    Channel(
        name="reader_calls", address=address(subjects.reader_call), messages=(_said(wire.ConsumerRequest),),
        summary="JetStream requests of readers, from their own account; requests that create a consumer are answered.",
    ),
    Channel(
        name="relay_history", address=subjects.HISTORY, messages=(_said(wire.HistoryRequest),),
        summary="The public messages of a game that NATS still has, one by one, then an empty one with a status.",
    ),
    Channel(
        name="speaking", address=address(subjects.speaking), messages=(_said(legal.SpeakingMessage),),
        summary="Text of a role in a legal session while the model generates it; not stored, parts may be lost.",
    ),
    Channel(
        name="keys_revoked", address=subjects.KEYS_REVOKED, summary="Every gateway removes keys from its cache.",
        messages=(
            Message(
                name="key_hash", payload=wire.Hex64, content_type=TEXT, summary="The stored hash of a revoked key."
            ),
            Message(
                name="moderated", payload=wire.SubjectId, content_type=TEXT,
                summary="The agent or owner that was banned, renamed or restored, and whose keys to look up again.",
            ),
        ),
    ),
    Channel(
        name="announced", address=address(subjects.announced), messages=(_said(wire.Announcement),),
        summary=(
            "A service instance announces itself: at start, every 12 to 15 s, when it changes, and when it stops. Only "
            "the NATS user of that name may publish there."
        ),
    ),
    Channel(
        name="discovery", address=wire.DISCOVERY, messages=(_empty("ping", "Request all instances."),),
        summary="NATS services API: every instance of a service answers, on its own subject of the requester's inbox.",
    ),
    Channel(
        name="game_socket", address="/ws/games/{id}", server="spectator_ws", messages=(*_FEED, _MODERATED, _HEARTBEAT),
        summary=f"A game's feed: all messages after `after`, then live. {_DROPPED} {_CLOSES}",
    ),
    Channel(
        name="lobby_socket", address="/ws/lobby", server="spectator_ws", messages=(_LOBBY, _MODERATED, _HEARTBEAT),
        summary=f"The current list of games, then changes. {_DROPPED} {_CLOSES}",
    ),
    Channel(
        name="game_events", address="/sse/games/{id}", server="spectator_http", messages=(*_FEED, _MODERATED),
        summary=f"A game's feed as server-sent events; `id:` is the version. {_DROPPED}",
    ),
    Channel(
        name="lobby_events", address="/sse/lobby", server="spectator_http", messages=(_LOBBY, _MODERATED),
        summary=f"The lobby as server-sent events; with `?only=moderated` the operator's decisions alone. {_DROPPED}",
    ),
    *map(_own_feed, STREAMS),
)  # fmt: skip
