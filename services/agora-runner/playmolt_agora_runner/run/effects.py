"""Effects of a run: a model's turn, a question asked aside, the end of a pause, the report to its experiment."""

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
    """Payload of `agent_turn`: the agent to act. Its scene is expensive, so the worker builds it (`scenes.scene`).

    With an `interview` it is that of `agent_interview`: a question to the agent after `turn` (0: before the first).
    """

    spec: RunSpec
    turn: int
    agent: str
    interview: Interview | None = None

    @property
    def model(self) -> str:
        """The alias that is asked."""
        return next(seat.model for seat in self.spec.seats if seat.agent == self.agent)

    @property
    def labels(self) -> dict[str, str]:
        """What its calls are stored with, beside their fields."""
        return {"interview": self.interview.id} if self.interview else {}

    @property
    def place(self) -> str:
        """What its calls are marked with while they are in flight."""
        return " ".join((self.agent, *self.labels.values()))


class RunReport(msgspec.Struct, frozen=True, gc=False):
    """Payload of `report_run`: all turns are taken; report to the experiment."""

    outcome: Outcome


Payload = AgentTurn | RunReport | None
"""`resume_run` has none: its worker reads the pause."""


def effect(state: RunState) -> Effect[Payload] | None:
    """All effects of a run share one lease, so that one worker can take turn after turn."""
    pending = _pending(state)
    if pending is None or state.due is None:
        return None
    kind, identifier, payload = pending
    if state.pause is not None:
        kind, identifier, payload = RESUME, _identifier("resume", state, state.version), None
    return Effect(id=identifier, kind=kind, due=state.due, lease=state.game_id, payload=payload)


def effect_id(state: RunState) -> str | None:
    """Id of the pending effect, paused or not: 32 hex digits, the same after a crash; None without one."""
    pending = _pending(state)
    return pending[1] if pending else None


def due(state: RunState, effect_id: str) -> Payload | None:
    """The payload of the pending effect, paused or not, if that has this id."""
    pending = _pending(state)
    return pending[2] if pending and pending[1] == effect_id else None


def _pending(state: RunState) -> tuple[str, str, Payload] | None:
    """The kind, the id and the payload of what is to be done, if the run is not paused."""
    if state.over:
        return None
    if (asked := state.asked_aside) is not None:
        agent, interview = asked
        identifier = _identifier("interview", state, state.turn, agent, interview.id)
        return INTERVIEW, identifier, AgentTurn(state.run, state.turn, agent, interview)
    if state.stage == "finished":
        return REPORT, _identifier("report", state), RunReport("completed" if state.living else "died_out")
    if (actor := state.next_agent) is None:
        return None
    return TURN, _identifier("turn", state, state.turn, actor), AgentTurn(state.run, state.turn, actor)


def _identifier(kind: str, state: RunState, *more: object) -> str:
    return digest([kind, state.game_id, *more])[:32]
