"""Commands of a run: from the experiment that opens it, the workers that fulfil its effects, and the operator."""

from typing import Any

import msgspec
from playmolt_core.game.decider import Command
from playmolt_schemas.stored.agora.run import PauseCode
from playmolt_schemas.stored.agora.turn import RunSpec, Tokens
from playmolt_schemas.stored.event import Event

from playmolt_agora_runner.turn.interview import Answer
from playmolt_agora_runner.turn.reply_parser import Parsed


class OpenRun(Command, frozen=True, kw_only=True):
    """Open a run. Idempotent.

    A fork replays the parent's `events`, from the first up to the version of the branch; later turns are played. Its
    `spec` is the parent's with one change (`forks.forked`).
    """

    spec: RunSpec
    events: tuple[Event, ...] = ()


class RecordCall(Command, frozen=True, kw_only=True):
    """A call was made, or lost in flight, without completing the turn."""

    turn: int
    agent: str
    call: dict[str, Any]


class TurnReply(msgspec.Struct, frozen=True, kw_only=True):
    """A turn's answer, or one to a question asked aside: the last reply, its parse, and the usage of all its calls.

    `attempts` are the model runtime's accounts of every call, without floats; each becomes a separate event.
    `attempt` counts all calls, lost ones included.
    """

    parsed: Parsed | Answer
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


class TakeTurn(Command, frozen=True, kw_only=True):
    """The answer to `agent_turn` or `agent_interview`. An answer to any other than the pending effect is ignored."""

    effect_id: str
    reply: TurnReply


class PauseRun(Command, frozen=True, kw_only=True):
    """Pause the run; the turn in flight is still taken."""

    code: PauseCode
    detail: str = ""


class ResumeRun(Command, frozen=True, kw_only=True):
    """Resume the run."""


class EndRun(Command, frozen=True, kw_only=True):
    """The answer to a `report_run` effect: the experiment received the report."""

    effect_id: str
