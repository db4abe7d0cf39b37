"""Effects of a run: a model's turn, a question asked aside, the end of a pause, the report to its experiment."""

from datetime import datetime
from typing import Final

import msgspec
from playmolt_core.game.decider import Effect
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.run import Outcome, PauseCode
from playmolt_schemas.stored.agora.turn import Interview, RunSpec

from playmolt_agora_runner.world.state import RunState

TURN: Final = "agent_turn"
INTERVIEW: Final = "agent_interview"
RESUME: Final = "resume_run"
REPORT: Final = "report_run"
NO_VALID_TURN: Final[PauseCode] = "no_valid_turn"


class AgentTurn(msgspec.Struct, frozen=True, gc=False):
    """Payload of `agent_turn`: the agent to act. Its scene is expensive, so the worker builds it (`scenes.scene`)."""

    spec: RunSpec
    turn: int
    agent: str

    @property
    def place(self) -> str:
        """What its calls are marked with while they are in flight."""
        return self.agent


class AgentInterview(msgspec.Struct, frozen=True, gc=False):
    """Payload of `agent_interview`: a question to an agent after `turn` (0: before the first)."""

    spec: RunSpec
    turn: int
    agent: str
    interview: Interview

    @property
    def place(self) -> str:
        return f"{self.agent} {self.interview.id}"


class EndOfPause(msgspec.Struct, frozen=True, gc=False):
    """Payload of `resume_run`: check whether the run can resume, from `until` on if it is set.

    With `since` the operator has to resume the experiment after that time.
    """

    experiment: str
    until: datetime | None
    since: datetime | None = None


class RunReport(msgspec.Struct, frozen=True, gc=False):
    """Payload of `report_run`: all turns are taken; report to the experiment."""

    spec: RunSpec
    outcome: Outcome


Payload = AgentTurn | AgentInterview | EndOfPause | RunReport
_KINDS: Final[dict[type[Payload], str]] = {
    AgentTurn: TURN,
    AgentInterview: INTERVIEW,
    EndOfPause: RESUME,
    RunReport: REPORT,
}


def effect(state: RunState) -> Effect[Payload] | None:
    """All effects of a run share one lease, so that one worker can take turn after turn."""
    pending = _pending(state)
    if pending is None or state.due is None:
        return None
    identifier, payload = pending
    if state.pause is not None:
        asked = state.pause.since if state.pause.code == NO_VALID_TURN else None
        payload = EndOfPause(state.run.experiment, state.pause.until, asked)
        identifier = _identifier("resume", state, state.version)
    return Effect(id=identifier, kind=_KINDS[type(payload)], due=state.due, lease=state.game_id, payload=payload)


def effect_id(state: RunState) -> str | None:
    """Id of the pending effect, paused or not: 32 hex digits, the same after a crash; None without one."""
    pending = _pending(state)
    return pending[0] if pending else None


def outcome(state: RunState) -> Outcome:
    """The ending of a run that has taken all turns."""
    return "completed" if state.living else "died_out"


def _pending(state: RunState) -> tuple[str, Payload] | None:
    """The id and the payload of what is to be done, if the run is not paused."""
    if state.over:
        return None
    if (asked := state.asked_aside) is not None:
        identifier = _identifier("interview", state, state.turn, asked.agent, asked.interview.id)
        return identifier, AgentInterview(state.run, state.turn, asked.agent, asked.interview)
    if state.stage == "finished":
        return _identifier("report", state), RunReport(state.run, outcome(state))
    agent = state.next_agent
    return (_identifier("turn", state, state.turn, agent), AgentTurn(state.run, state.turn, agent)) if agent else None


def _identifier(kind: str, state: RunState, *more: object) -> str:
    return digest([kind, state.game_id, *more])[:32]
