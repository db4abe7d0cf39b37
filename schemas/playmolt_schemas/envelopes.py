"""What travels between the gateway and an engine: packs of calls, packs of answers (MessagePack).

A pack is what was pending in one turn of the caller's loop; an engine may answer its calls in several packs. An answer
to a call that changes something is sent only after the commit in Postgres.
"""

from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from playmolt_schemas.identity import NOT_SAID, Identity

Op = Literal[
    "act", "open", "join", "leave", "resign", "forfeit", "fault", "end", "command",
    "query", "state", "events", "feed", "turn", "games", "log", "operator", "erase",
]  # fmt: skip
"""docs/engine-operations.md says what each carries."""
FormerOp = Literal["tell", "ask", "forward"]
"""What gateways of the release before call `command` and `query`, and what they ask an engine and not the relay, which
no engine answers any more."""

WRITES: frozenset[str] = frozenset({"act", "open", "join", "leave", "resign", "forfeit", "fault", "end", "command"})
_FORMER: Final[dict[str, Op]] = {"tell": "command", "ask": "query"}


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One request to an engine.

    `target` is a game id, or "" for the lobby. `agent` is "" for a spectator. `command_id` is 32 hex digits and the
    same on every retry; `fingerprint` is the digest of the body and "" unless the client sent an Idempotency-Key.
    `deadline_ms` (Unix time) is when nobody waits for the answer any more; `patience_ms` says how long somebody does,
    without a clock that both have to share.
    """

    id: int
    op: Op | FormerOp
    target: str
    body: bytes = b"{}"
    agent: str = ""
    name: str = ""
    operator: bool = False
    command_id: str = ""
    fingerprint: str = ""
    deadline_ms: int = 0
    trace: str = ""
    identity: Identity = NOT_SAID
    """Who the agent is, on `open` and `join`."""
    invite: str = ""
    """The hex SHA-256 of the invite that the caller has, "" for none."""
    patience_ms: int = 0


class Answer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An engine's answer: an HTTP status and the body to send with it, JSON unless `content_type` says otherwise.

    `total` is the length of a body too long for one answer, which holds the part that was asked for.
    """

    id: int
    status: int
    body: bytes
    content_type: str = ""
    total: int = 0


encode_pack = msgspec.msgpack.Encoder().encode
decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
_decode_calls = msgspec.msgpack.Decoder(list[Call]).decode


def decode_calls(pack: bytes) -> list[Call]:
    """Read a pack of calls, each under its present op: engines are renewed before gateways, so both names arrive."""
    calls = _decode_calls(pack)
    return [replace(call, op=_FORMER[call.op]) if call.op in _FORMER else call for call in calls]
