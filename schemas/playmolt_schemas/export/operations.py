"""Who says what on which channel, and who listens."""

from typing import Final, Literal

import msgspec

from playmolt_schemas.export.channels import STREAMS

ENGINE: Final = "engine"
GATEWAY: Final = "gateway"
RELAY: Final = "relay"
SPECTATOR: Final = "spectator"


class Operation(msgspec.Struct, frozen=True):
    """One service's part on a channel. `reply` names the messages of the answer, on the asker's inbox."""

    service: str
    action: Literal["send", "receive"]
    channel: str
    summary: str
    reply: tuple[str, ...] = ()


_ANSWERS: Final = ("answers",)
_PRESENCE: Final = ("wire.Presence",)
_POSITION: Final = ("wire.ProjectionsPosition",)

OPERATIONS: Final = (
    Operation(GATEWAY, "send", "actions", "Call an engine; retried until the deadline.", _ANSWERS),
    Operation(GATEWAY, "send", "replica", "Call the replica that the game prefers.", _ANSWERS),
    Operation(GATEWAY, "receive", "spectate", "Wake long polls and streams of the game."),
    Operation(GATEWAY, "send", "keys_revoked", "Tell that a key is void before the new one is told."),
    Operation(GATEWAY, "receive", "keys_revoked", "Forget the key."),
    Operation(GATEWAY, "receive", "speaking", "Pass it on to the session's owner."),
    Operation(
        GATEWAY, "send", "projections_sync", "Wait for points that are committed.", ("wire.ProjectionsPosition",)
    ),
    Operation(GATEWAY, "send", "relay_lag", "Ask how far the copies are.", ("wire.Lag",)),
    Operation(GATEWAY, "send", "relay_log", "Read the whole log.", ("routes_platform.AdminLog", "wire.LogRefused")),
    Operation(GATEWAY, "send", "discovery", "Ask who was there before, and whoever falls silent.", _PRESENCE),
    Operation(GATEWAY, "receive", "discovery", "Say that it is there.", _PRESENCE),
    Operation(GATEWAY, "receive", "announced", "Learn which services and engines there are."),
    Operation(GATEWAY, "send", "announced", "Show up."),
    *(Operation(GATEWAY, "send", route.name, "Send what the caller may see.") for route in STREAMS),
    Operation(ENGINE, "receive", "actions", "Decide and read; the queue group is `<game>-engine`.", _ANSWERS),
    Operation(ENGINE, "receive", "replica", "The same, for this replica alone.", _ANSWERS),
    Operation(ENGINE, "receive", "public", "Read what is public; the queue group is `<game>-engine`.", _ANSWERS),
    Operation(ENGINE, "send", "committed", "Wake the relay."),
    Operation(ENGINE, "send", "speaking", "Tell what a role says while it says it."),
    Operation(ENGINE, "send", "discovery", "Ask whether it is alone when nothing is heard.", _PRESENCE),
    Operation(ENGINE, "receive", "discovery", "Say that it is there.", _PRESENCE),
    Operation(ENGINE, "receive", "announced", "Hear that it is not alone."),
    Operation(ENGINE, "send", "announced", "Show up with game type and instance."),
    Operation(RELAY, "receive", "committed", "Copy what is new."),
    Operation(RELAY, "send", "events", "Copy each record, fenced by the expected last sequence."),
    Operation(RELAY, "send", "spectate", "Copy each public message, fenced by the expected last sequence."),
    Operation(RELAY, "send", "sealed", "Keep the place of a record without a public form."),
    Operation(RELAY, "send", "lobby", "Say what the lobby shows once its record is in both streams."),
    Operation(
        RELAY,
        "receive",
        "projections_sync",
        "Answer when the projections have caught up.",
        ("wire.ProjectionsPosition",),
    ),
    Operation(RELAY, "receive", "relay_lag", "Say how far the copies are.", ("wire.Lag",)),
    Operation(RELAY, "receive", "reader_calls", "Make a pull consumer for a reader."),
    Operation(
        RELAY, "receive", "relay_log", "Give a page of the whole log.", ("routes_platform.AdminLog", "wire.LogRefused")
    ),
    Operation(RELAY, "receive", "relay_history", "Have NATS send what it holds of a game."),
    Operation(RELAY, "receive", "discovery", "Say that it is there.", _PRESENCE),
    Operation(RELAY, "send", "announced", "Show up, and say whether the feeds move."),
    Operation(SPECTATOR, "send", "public", "Ask for what the stream does not hold, and for lists of games.", _ANSWERS),
    Operation(SPECTATOR, "send", "relay_history", "Ask for what the stream holds."),
    Operation(SPECTATOR, "receive", "spectate", "Fan a game's messages out to its readers."),
    Operation(SPECTATOR, "receive", "lobby", "Fan the lobby out to its readers."),
    Operation(SPECTATOR, "send", "discovery", "Ask who was there before.", _PRESENCE),
    Operation(SPECTATOR, "receive", "discovery", "Say that it is there.", _PRESENCE),
    Operation(SPECTATOR, "receive", "announced", "Learn which engines there are."),
    Operation(SPECTATOR, "send", "announced", "Show up."),
    Operation(SPECTATOR, "send", "game_socket", "Send a game's messages, and a heartbeat when there are none."),
    Operation(SPECTATOR, "send", "lobby_socket", "Send the lobby, and a heartbeat when nothing changes."),
    Operation(SPECTATOR, "send", "game_events", "Send a game's messages; heartbeats are comments."),
    Operation(SPECTATOR, "send", "lobby_events", "Send the lobby; heartbeats are comments."),
)
