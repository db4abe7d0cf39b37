"""The operations: which service sends or receives what on which channel."""

from typing import Final, Literal

import msgspec

from playmolt_schemas.export.channels import STREAMS

ENGINE: Final = "engine"
GATEWAY: Final = "gateway"
TOURNAMENTS: Final = "tournament-engine"
RELAY: Final = "relay"
SPECTATOR: Final = "spectator"


class Operation(msgspec.Struct, frozen=True):
    """A service's role on a channel. `reply` names the messages of the answer, on the requester's inbox."""

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
    Operation(GATEWAY, "send", "replica", "Call the preferred replica of the game.", _ANSWERS),
    Operation(GATEWAY, "receive", "spectate", "Wake up long polls and streams of the game."),
    Operation(
        GATEWAY,
        "send",
        "keys_revoked",
        "Announce that a key is revoked, before the new key is returned; or whom the operator moderated.",
    ),
    Operation(GATEWAY, "receive", "keys_revoked", "Remove the key, or all keys of the agent or owner, from the cache."),
    Operation(GATEWAY, "receive", "speaking", "Forward it to the session's owner."),
    Operation(
        GATEWAY, "send", "projections_sync", "Wait until committed points are visible.", ("wire.ProjectionsPosition",)
    ),
    Operation(GATEWAY, "send", "relay_lag", "Request the positions of the copies.", ("wire.Lag",)),
    Operation(GATEWAY, "send", "relay_log", "Read the whole log.", ("routes_platform.AdminLog", "wire.LogRefused")),
    Operation(
        GATEWAY, "send", "discovery", "Discover instances that started earlier, and check silent ones.", _PRESENCE
    ),
    Operation(GATEWAY, "receive", "discovery", "Answer with its presence.", _PRESENCE),
    Operation(GATEWAY, "receive", "announced", "Track services and engines."),
    Operation(GATEWAY, "send", "announced", "Announce itself."),
    *(Operation(GATEWAY, "send", route.name, "Send the events that the caller may see.") for route in STREAMS),
    Operation(
        ENGINE, "receive", "actions", "Handle commands and queries; the queue group is `<game>-engine`.", _ANSWERS
    ),
    Operation(ENGINE, "receive", "replica", "Handle commands and queries sent to this replica.", _ANSWERS),
    Operation(ENGINE, "receive", "public", "Handle public queries; the queue group is `<game>-engine`.", _ANSWERS),
    Operation(ENGINE, "receive", "tables", "Seat a tournament's game; the queue group is `<game>-engine`.", _ANSWERS),
    Operation(TOURNAMENTS, "send", "tables", "Seat a tournament's game; retried until the deadline.", _ANSWERS),
    Operation(TOURNAMENTS, "send", "public", "List the games of a tournament and read their results.", _ANSWERS),
    Operation(ENGINE, "send", "events", "Publish each record of a commit, fenced by the expected last sequence."),
    Operation(ENGINE, "send", "spectate", "Publish each public message, fenced by the expected last sequence."),
    Operation(ENGINE, "send", "sealed", "Publish a placeholder for a record without a public form."),
    Operation(ENGINE, "send", "lobby", "Publish a lobby change after the commit."),
    Operation(ENGINE, "send", "committed", "Leave records to the relay."),
    Operation(ENGINE, "send", "speaking", "Send the text of a role while the model generates it."),
    Operation(ENGINE, "send", "discovery", "Check for other replicas if no announcement is received.", _PRESENCE),
    Operation(ENGINE, "receive", "discovery", "Answer with its presence.", _PRESENCE),
    Operation(ENGINE, "receive", "announced", "Track other replicas."),
    Operation(ENGINE, "send", "announced", "Announce itself with game type and instance."),
    Operation(RELAY, "receive", "committed", "Publish what an engine could not."),
    Operation(RELAY, "send", "events", "Publish each missing record, fenced by the expected last sequence."),
    Operation(RELAY, "send", "spectate", "Publish each missing public message, fenced by the expected last sequence."),
    Operation(RELAY, "send", "sealed", "Publish a placeholder for a record without a public form."),
    Operation(
        RELAY,
        "receive",
        "projections_sync",
        "Answer once the projections have caught up.",
        ("wire.ProjectionsPosition",),
    ),
    Operation(RELAY, "receive", "relay_lag", "Answer with the positions of the copies.", ("wire.Lag",)),
    Operation(RELAY, "receive", "reader_calls", "Create a pull consumer for a reader."),
    Operation(
        RELAY,
        "receive",
        "relay_log",
        "Answer with a page of the whole log.",
        ("routes_platform.AdminLog", "wire.LogRefused"),
    ),
    Operation(RELAY, "receive", "relay_history", "Let NATS send the stored messages of a game."),
    Operation(RELAY, "receive", "discovery", "Answer with its presence.", _PRESENCE),
    Operation(RELAY, "send", "announced", "Announce itself, and whether the feeds progress."),
    Operation(
        SPECTATOR, "send", "public", "Request messages that the stream no longer has, and lists of games.", _ANSWERS
    ),
    Operation(SPECTATOR, "send", "relay_history", "Request messages that the stream has."),
    Operation(SPECTATOR, "receive", "spectate", "Forward a game's messages to its readers."),
    Operation(SPECTATOR, "receive", "lobby", "Forward lobby messages to readers."),
    Operation(SPECTATOR, "send", "discovery", "Discover instances that started earlier.", _PRESENCE),
    Operation(SPECTATOR, "receive", "discovery", "Answer with its presence.", _PRESENCE),
    Operation(SPECTATOR, "receive", "announced", "Track engines."),
    Operation(SPECTATOR, "send", "announced", "Announce itself."),
    Operation(SPECTATOR, "send", "game_socket", "Send a game's messages, and heartbeats in between."),
    Operation(SPECTATOR, "send", "lobby_socket", "Send the lobby, and heartbeats in between."),
    Operation(SPECTATOR, "send", "game_events", "Send a game's messages; heartbeats are comments."),
    Operation(SPECTATOR, "send", "lobby_events", "Send the lobby; heartbeats are comments."),
)
