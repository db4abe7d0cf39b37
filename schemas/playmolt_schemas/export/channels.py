"""Where messages travel: the subjects of NATS and the paths of the feeds, each with what is said there."""

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from playmolt_schemas import limits, subjects
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.export import wire
from playmolt_schemas.export.json_schemas import leaves, name_of
from playmolt_schemas.game_messages import LobbyMessage
from playmolt_schemas.games import legal
from playmolt_schemas.identifiers import GAME_TYPES, lobby_of
from playmolt_schemas.records import Record
from playmolt_schemas.routes.platform import MESSAGES, ROUTES, AdminLog
from playmolt_schemas.routes.route import Route

JSON: Final = "application/json"
MSGPACK: Final = "application/msgpack"
TEXT: Final = "text/plain"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """What is said on a channel: a payload type, how it is encoded, and its headers."""

    name: str
    payload: Any
    content_type: str = JSON
    headers: type | None = None
    summary: str = ""


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """A subject or a path. `address` None: the inbox of whoever asked. `stream` names the JetStream stream it is in."""

    name: str
    address: str | None
    summary: str
    messages: tuple[Message, ...]
    server: str = "nats"
    stream: str = ""


_UUID: Final = "0190a5a0-7c1e-7f00-8a3b-5d2c6e9f1a04"

PARAMETERS: Final = {
    "game": ("The game type: what stands before the first dash of an id.", GAME_TYPES),
    "identifier": (
        "The id of a game, `<type>-<uuid>`; on `actions` and `public` also `lobby`, for what is about no game; on "
        "`events` and `sealed` also the stream of a lobby.",
        (*(f"{game}-{_UUID}" for game in GAME_TYPES), lobby_of(GAME_TYPES[0])),
    ),
    "id": ("The id in the path, `<type>-<uuid>`.", tuple(f"{game}-{_UUID}" for game in GAME_TYPES)),
    "instance": ("An engine replica's own name, from its announcement.", ("5f0c2a9be871",)),
    "call": ("What JetStream is asked.", ("CONSUMER.CREATE.EVENTS.mine",)),
    "service": ("A service's name, which is its NATS user, too.", ("relay", "ox-engine")),
    "kind": ("The type of the stored event.", ("game_created", "game_end")),
}
"""Every parameter of an address: what it is, and examples."""


def address(subject: Callable[..., str]) -> str:
    """The address of a subject function, its own parameters in braces."""
    required = (each for each in inspect.signature(subject).parameters.values() if each.default is each.empty)
    return subject(*(f"{{{each.name}}}" for each in required))


def parameters(channel: Channel) -> tuple[str, ...]:
    """Name the parameters of a channel's address, in order."""
    return tuple(re.findall(r"{(\w+)}", channel.address or ""))


def _said(kind: type, headers: type | None = None) -> Message:
    summary = inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
    return Message(name=name_of(kind), payload=kind, headers=headers, summary=summary)


def _empty(name: str, summary: str, headers: type | None = None) -> Message:
    return Message(name=name, payload=wire.Empty, content_type=TEXT, headers=headers, summary=summary)


PUBLIC: Final = (*dict.fromkeys(leaves(MESSAGES)), wire.ProgressMessage)
"""Every public message of every game."""

CALLS: Final = Message(
    name="calls", payload=list[Call], content_type=MSGPACK, summary="What one turn of the caller's loop had to ask."
)
ANSWERS: Final = Message(
    name="answers", payload=list[Answer], content_type=MSGPACK,
    summary="Answers to calls of one or more packs; to a call that changes something only after the commit.",
)  # fmt: skip
_PUBLIC_STORED: Final = tuple(_said(kind, wire.PublicHeaders) for kind in PUBLIC)
_FEED: Final = tuple(_said(kind) for kind in PUBLIC)
_HEARTBEAT: Final = _said(wire.Heartbeat)
_LOBBY: Final = _said(LobbyMessage)
_DROPPED: Final = (
    f"A reader with {limits.READER_MESSAGES} messages or {limits.READER_BYTES} bytes waiting, or taking nothing for "
    f"{limits.READER_STALL_SECONDS} s, is dropped and can resume."
)
_CLOSES: Final = (
    "Close codes: 1000 after the closing message, 4008 for a reader that is too slow, 4400 for an `after` that is no "
    "version, 1001 when the server stops, 1011 when it failed; after any but the first, reconnect."
)

STREAMS: Final = tuple(route for route in ROUTES if route.streams)
"""The routes of the gateway that answer with server-sent events."""


def _own_feed(route: Route) -> Channel:
    kinds = [leaf for answer in route.answers.values() for leaf in leaves(answer)]
    said = tuple(_said(kind) for kind in dict.fromkeys([*kinds, wire.ProgressMessage]))
    return Channel(name=route.name, address=route.path, server="gateway", summary=route.summary, messages=said)


CHANNELS: Final = (
    Channel(
        name="actions", address=address(subjects.action), messages=(CALLS,),
        summary="Calls to a game type; any replica takes a pack.",
    ),
    Channel(
        name="replica", address=address(subjects.replica), messages=(CALLS,),
        summary="Calls to the replica that holds a game in memory: a hint for speed, never a promise.",
    ),
    Channel(
        name="public", address=address(subjects.public), messages=(CALLS,),
        summary="Calls answered with public messages only (`feed` for nobody's eyes, and `games`).",
    ),
    Channel(
        name="inbox", address=None, summary="The reply subject of a request: `_INBOX.<asker>.<who answers>.…`.",
        messages=(ANSWERS, _said(wire.Presence), _said(wire.ProjectionsPosition), _said(wire.Lag), _said(AdminLog),
                  _said(wire.LogRefused)),
    ),
    Channel(
        name="events", address=address(subjects.event), stream=subjects.EVENTS_STREAM,
        summary="Full records, for services only. Sequence k is position k. Of a log of several shards"
        " `EVENTS_<shard>`, and the shard is the second token.",
        messages=(_said(Record, wire.FenceHeaders),),
    ),
    Channel(
        name="spectate", address=address(subjects.spectate), stream=subjects.SPECTATE_STREAM,
        summary="Public messages of one game, in order. Sequence k is position k. Shards as in `events`.",
        messages=_PUBLIC_STORED,
    ),
    Channel(
        name="sealed", address=address(subjects.sealed), stream=subjects.SPECTATE_STREAM,
        summary="Keeps the place of a record that has no public form.",
        messages=(_empty("sealed", "A record without a public form.", wire.FenceHeaders),),
    ),
    Channel(
        name="lobby", address=address(subjects.lobby), messages=(_LOBBY,),
        summary="Changes of the lobby; not stored, healed by asking the engines for the list.",
    ),
    Channel(
        name="committed", address=subjects.COMMITTED, messages=(_empty("committed", "Something was committed."),),
        summary="A hint that there is something to relay, of a log of several shards `committed.<shard>`."
        " It may be lost; the relay looks by itself as well.",
    ),
    Channel(
        name="projections_sync", address=subjects.PROJECTED, messages=(_empty("sync", "Are the projections there?"),),
        summary="Answered when the projections hold everything that was committed before the request.",
    ),
    Channel(
        name="relay_lag", address=subjects.LAG, messages=(_empty("lag", "How far behind?"),),
        summary="How far the copies of the log are.",
    ),
    Channel(
        name="relay_log", address=subjects.LOG, messages=(_said(wire.LogPageRequest),),
        summary="A page of the whole log, in its order.",
    ),
    Channel(
        name="reader_calls", address=address(subjects.reader_call), messages=(_said(wire.ConsumerRequest),),
        summary="What readers ask of JetStream, from an account of their own; what makes a consumer is answered.",
    ),
    Channel(
        name="relay_history", address=subjects.HISTORY, messages=(_said(wire.HistoryRequest),),
        summary="What NATS still holds of a game's public messages, one by one, then an empty one with a status.",
    ),
    Channel(
        name="speaking", address=address(subjects.speaking), messages=(_said(legal.SpeakingMessage),),
        summary="What a role of a legal session says while it says it: no event, stored nowhere, and some may be lost.",
    ),
    Channel(
        name="keys_revoked", address=subjects.KEYS_REVOKED, summary="Every gateway forgets a key.",
        messages=(
            Message(
                name="key_hash", payload=wire.Hex64, content_type=TEXT, summary="The stored hash of a key that is void."
            ),
        ),
    ),
    Channel(
        name="announced", address=address(subjects.announced), messages=(_said(wire.Announcement),),
        summary=(
            "An instance of a service tells that it is there: at its start, every 12 to 15 s, when something about it "
            "changes, and when it leaves. Only the NATS user of that name may publish there."
        ),
    ),
    Channel(
        name="discovery", address=wire.DISCOVERY, messages=(_empty("ping", "Who is there?"),),
        summary="NATS services API: every instance of a service answers, on its own part of the asker's inbox.",
    ),
    Channel(
        name="game_socket", address="/ws/games/{id}", server="spectator_ws", messages=(*_FEED, _HEARTBEAT),
        summary=f"A game's feed: everything after `after`, then live. {_DROPPED} {_CLOSES}",
    ),
    Channel(
        name="lobby_socket", address="/ws/lobby", server="spectator_ws", messages=(_LOBBY, _HEARTBEAT),
        summary=f"The present list, then what changes. {_DROPPED} {_CLOSES}",
    ),
    Channel(
        name="game_events", address="/sse/games/{id}", server="spectator_http", messages=_FEED,
        summary=f"The same as server-sent events; `id:` is the version. {_DROPPED}",
    ),
    Channel(
        name="lobby_events", address="/sse/lobby", server="spectator_http", messages=(_LOBBY,),
        summary=f"The lobby as server-sent events. {_DROPPED}",
    ),
    *map(_own_feed, STREAMS),
)  # fmt: skip
