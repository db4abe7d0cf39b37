"""All NATS subjects (api.md, Subjects).

Callers check ids with `identifiers.type_of` first, so no id contains a dot, a wildcard or white space.
"""

from typing import Final

from playmolt_schemas import shards as in_shards
from playmolt_schemas.shards import token_of

EVENTS_STREAM: Final = in_shards.EVENTS_STREAM
SPECTATE_STREAM: Final = in_shards.SPECTATE_STREAM
COMMITTED: Final = "committed"
PROJECTED: Final = "projections.sync"
"""Request: answered once the projections include everything that was committed before it."""
LAG: Final = "relay.lag"
"""Request: answered with the positions of the log, its two copies and the projections."""
LOG: Final = "relay.log"
"""Request: answered with a page of the whole log, which engines cannot read."""
HISTORY: Final = "relay.history"
"""Request: answered with the public messages of a game that NATS still has, one by one, then an empty one with a
`Status`. Only the relay may request them from JetStream, because the requester chooses where the answer goes."""
KEYS_REVOKED: Final = "gateway.keys.revoked"
CLOSES_HEADER: Final = "Playmolt-Closes"
"""Set on the last public message of a game's feed."""
INVITE_HEADER: Final = "Playmolt-Invite"
"""Set on the public messages of a private game, except the last: the hex SHA-256 of its invite."""
TRACE_HEADER: Final = "traceparent"
"""Set on the public message of a traced request: its W3C trace context."""


def committed(shard: int, shards: int = 1) -> str:
    """Hint that an engine could not publish records of a shard. It may be lost; the relay also polls."""
    return f"{COMMITTED}.{shard}" if shards > 1 else COMMITTED


def action(game: str, identifier: str) -> str:
    """Batches of calls to a game; any replica takes them (queue group)."""
    return f"actions.{game}.{identifier}"


def replica(game: str, instance: str) -> str:
    """Calls to the replica that probably has a game in memory; an optimization."""
    return f"actions.{game}.pack.{instance}"


def public(game: str, identifier: str) -> str:
    """Calls that are answered with public data only; used by the spectator."""
    return f"public.{game}.{identifier}"


def table(game: str, identifier: str) -> str:
    """Calls that seat a tournament's game; used by the tournaments' engine."""
    return f"tables.{game}.{identifier}"


def event(game: str, identifier: str, kind: str, shards: int = 1) -> str:
    """Complete records, for services only."""
    return f"events{token_of(identifier, shards)}.{game}.{identifier}.{kind}"


def spectate(game: str, identifier: str, shards: int = 1) -> str:
    """Public messages of one game, in order."""
    return f"spectate{token_of(identifier, shards)}.{game}.{identifier}"


def sealed(game: str, identifier: str, shards: int = 1) -> str:
    """Placeholder for a record without a public form, so that sequence k is always position k."""
    return f"sealed{token_of(identifier, shards)}.{game}.{identifier}"


def speaking(game: str, identifier: str) -> str:
    """Text of a session while a model generates it: core NATS only, never stored, may be lost."""
    return f"speaking.{game}.{identifier}"


def lobby(game: str) -> str:
    """Lobby messages of a game type; core NATS only. Readers recover from losses by requesting the list."""
    return f"lobby.{game}"


def announced(service: str) -> str:
    """Announcements of a service's instances; only the NATS user of that name may publish them."""
    return f"announced.{service}"


def reader_call(call: str) -> str:
    """A reader's request to JetStream (`CONSUMER.CREATE.EVENTS.mine`), from the readers' account.

    The relay answers only requests for pull consumers: a push consumer could deliver to subjects of the event streams.
    """
    return f"reader.api.{call}"
