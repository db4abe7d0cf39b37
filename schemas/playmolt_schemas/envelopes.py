"""What travels between the gateway and an engine: packs of calls, packs of answers (MessagePack).

A pack is what was pending in one turn of the caller's loop; an engine may answer its calls in several packs. An answer
to a call that changes something is sent only after the commit in Postgres.
"""

from typing import Literal

import msgspec

Op = Literal[
    "act", "join", "leave", "end", "tell",
    "ask", "state", "events", "feed", "turn", "games", "log", "forward", "operator",
]  # fmt: skip
"""docs/engine-operations.md says what each carries."""

WRITES: frozenset[str] = frozenset({"act", "join", "leave", "end", "tell"})


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One request to an engine.

    `target` is a game id, or "" for the lobby. `agent` is "" for a spectator. `command_id` is 32 hex digits and the
    same on every retry; `fingerprint` is the digest of the body and "" unless the client sent an Idempotency-Key.
    `deadline_ms` (Unix time) is when nobody waits for the answer any more.
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
    deadline_ms: int = 0
    trace: str = ""


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
decode_calls = msgspec.msgpack.Decoder(list[Call]).decode
decode_answers = msgspec.msgpack.Decoder(list[Answer]).decode
