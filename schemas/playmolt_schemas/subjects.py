"""Every NATS subject, once (api.md, Subjects).

Ids are checked (`identifiers.type_of`) before they come here, so none can hold a dot, a wildcard or white space.
"""

from typing import Final

from playmolt_schemas import shards as in_shards
from playmolt_schemas.shards import token_of

EVENTS_STREAM: Final = in_shards.EVENTS_STREAM
SPECTATE_STREAM: Final = in_shards.SPECTATE_STREAM
COMMITTED: Final = "committed"
PROJECTED: Final = "projections.sync"
"""Request: answered when the projections hold everything that was committed before the request."""
LAG: Final = "relay.lag"
"""Request: answered with the positions of the log, of its two copies and of the projections."""
LOG: Final = "relay.log"
"""Request: answered with a page of the whole log, which no engine can read."""
HISTORY: Final = "relay.history"
"""Request: answered with the public messages that NATS still holds of a game, one by one and then an empty one with a
`Status`. The relay asks for them: whoever may ask a stream chooses where the answer lands, be it another stream."""
KEYS_REVOKED: Final = "gateway.keys.revoked"
CLOSES_HEADER: Final = "Playmolt-Closes"
"""Set on a public message after which the feed of its game ends."""
INVITE_HEADER: Final = "Playmolt-Invite"
"""Set on a private game's public messages but the closing one: the hex SHA-256 of its invite."""
TRACE_HEADER: Final = "traceparent"
"""Set on a public message whose event came of a traced request: its W3C trace context."""


def committed(shard: int, shards: int = 1) -> str:
    """A hint, after a commit, that a shard has something to relay. It may be lost; the relay looks by itself, too."""
    return f"{COMMITTED}.{shard}" if shards > 1 else COMMITTED


def action(game: str, identifier: str) -> str:
    """Calls to a game, one or more in a pack; any replica takes it (queue group)."""
    return f"actions.{game}.{identifier}"


def replica(game: str, instance: str) -> str:
    """Calls to the replica that holds a game in memory: a hint for speed, never a promise."""
    return f"actions.{game}.pack.{instance}"


def public(game: str, identifier: str) -> str:
    """Calls answered with public messages only: where the spectator asks."""
    return f"public.{game}.{identifier}"


def event(game: str, identifier: str, kind: str, shards: int = 1) -> str:
    """Full records, for services only."""
    return f"events{token_of(identifier, shards)}.{game}.{identifier}.{kind}"


def spectate(game: str, identifier: str, shards: int = 1) -> str:
    """Public messages of one game, in order."""
    return f"spectate{token_of(identifier, shards)}.{game}.{identifier}"


def sealed(game: str, identifier: str, shards: int = 1) -> str:
    """Keeps the place of a record that has no public form, so that sequence k is always position k."""
    return f"sealed{token_of(identifier, shards)}.{game}.{identifier}"


def speaking(game: str, identifier: str) -> str:
    """What is said in a session while it is said: core NATS only, stored nowhere, and it may be lost."""
    return f"speaking.{game}.{identifier}"


def lobby(game: str) -> str:
    """Lobby messages of a game type; core NATS only, healed by asking the engines for the list."""
    return f"lobby.{game}"


def announced(service: str) -> str:
    """Where every instance of a service tells that it is there: the NATS user of that name alone may publish there."""
    return f"announced.{service}"


def reader_call(call: str) -> str:
    """A reader's request to JetStream (`CONSUMER.CREATE.EVENTS.mine`), which comes from an account of its own.

    The relay answers those that make a pull consumer: one that delivers by itself could be told to deliver to where
    events live.
    """
    return f"reader.api.{call}"
