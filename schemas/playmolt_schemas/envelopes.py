"""Batches of calls and answers between the gateway and an engine, in MessagePack.

A batch contains the calls that were pending in one iteration of the caller's event loop; an engine may answer them in
several batches. A call that changes something is answered only after the commit in Postgres.
"""

from typing import Literal

import msgspec

from playmolt_schemas.stored.values import NO_IDENTITY, Identity

Op = Literal[
    "act", "open", "join", "seat_table", "leave", "resign", "forfeit", "away", "fault", "end", "command",
    "query", "state", "events", "feed", "turn", "games", "log", "operator", "erase",
]  # fmt: skip
"""The operations, described in docs/engine-operations.md."""

WRITES: frozenset[str] = frozenset(
    {"act", "open", "join", "seat_table", "leave", "resign", "forfeit", "away", "fault", "end", "command"}
)


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A request to an engine.

    `target` is a game id, or "" for the lobby. `agent` is "" for a spectator. `command_id` is 32 hex digits and the
    same on every retry; `fingerprint` is the digest of the body, or "" if the client sent no Idempotency-Key.
    `patience_ms` is how long the caller waits for the answer; 0: it does not say.
    """

    id: int
    op: Op
    target: str
    body: bytes = b"{}"
    agent: str = ""
    name: str = ""
    operator: bool = False
    command_id: str = ""
    fingerprint: str = ""
    trace: str = ""
    identity: Identity = NO_IDENTITY
    """The agent's identity, on `open` and `join`."""
    invite: str = ""
    """The hex SHA-256 of the caller's invite; "" for none."""
    patience_ms: int = 0
    present: bool = False
    """Whether the agent itself sent the request: a seat of its that is away is then back."""


class Answer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An engine's answer: an HTTP status and a body, which is JSON unless `content_type` is set.

    `total` is the length of a body that is too long for one answer; `body` is then the requested part.
    """

    id: int
    status: int
    body: bytes
    content_type: str = ""
    total: int = 0


encode_pack = msgspec.msgpack.Encoder().encode
decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
decode_calls = msgspec.msgpack.Decoder(list[Call]).decode
