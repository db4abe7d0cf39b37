"""What is asked of a run: by the experiment that opens it, by the workers that fulfil its effects, by the operator."""

from typing import Any

from playmolt_core.game.decider import Command, Event
from playmolt_schemas.agora.feed import PauseCode
from playmolt_schemas.agora.turn import RunSpec

from playmolt_agora.turn.reply_parser import TurnReply


class OpenRun(Command, frozen=True, kw_only=True):
    """Open a run; given twice, it changes nothing."""

    spec: RunSpec


class ReplayRun(Command, frozen=True, kw_only=True):
    """Open a fork: the parent's `events`, from the first up to the version it branches off at, then on live.

    `spec` is the parent's with another `run` and `parent` set; models, personas and texts of its seats may differ.
    `content` replaces what the last replayed act said.
    """

    spec: RunSpec
    events: tuple[Event, ...]
    content: str | None = None


class RecordCall(Command, frozen=True, kw_only=True):
    """A call was made, or lost in flight, for a turn that has not been answered by it."""

    turn: int
    agent: str
    call: dict[str, Any]


class TakeTurn(Command, frozen=True, kw_only=True):
    """The answer to an `agent_turn` effect. An answer to another effect than the present one changes nothing."""

    effect_id: str
    reply: TurnReply


class PauseRun(Command, frozen=True, kw_only=True):
    """Ask for no more turns; the one under way is still taken."""

    code: PauseCode
    detail: str = ""


class ResumeRun(Command, frozen=True, kw_only=True):
    """Ask for turns again."""


class EndRun(Command, frozen=True, kw_only=True):
    """The answer to a `report_run` effect: the experiment has heard of it."""

    effect_id: str
