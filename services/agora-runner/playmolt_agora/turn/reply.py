"""What a model's reply came to: one parser for all models (`reply_parser.read`), one code for each way it can end."""

from typing import Any

import msgspec
from playmolt_schemas.agora.turn import ParseCode, Tokens


class Parsed(msgspec.Struct, frozen=True, kw_only=True):
    """A reply as it was read. `action` is one of ACTIONS or SKILLS when `code` is valid, else None with the rest.

    `fault` says in the run's language what was wrong, for the call that asks again.
    """

    code: ParseCode
    thought: str | None = None
    action: str | None = None
    target: str | None = None
    content: str | None = None
    fault: str = ""

    @property
    def valid(self) -> bool:
        """Whether the turn acts."""
        return self.action is not None


class TurnReply(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's answer as the worker hands it to the rules: the last reply, what it came to, and what it took.

    `attempts` are the model runtime's accounts of every call, without floats; each becomes an event of its own.
    `attempt` counts all calls of this turn, lost ones included.
    """

    parsed: Parsed
    raw_reply: str
    prompt_hash: str
    model_asked: str
    model_answered: str | None
    attempt: int
    tokens: Tokens
    cost: str | None
    latency_ms: int
    cache_hit: bool
    attempts: tuple[dict[str, Any], ...] = ()
