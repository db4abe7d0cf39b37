"""A run in a test: given its world, when its agents answer, then these events are in the log."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import effect_id
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn import scenes
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.world.state import RunState
from playmolt_core.game.decider import PUBLIC, Accepted
from playmolt_schemas.stored.agora.run import AgentActed, TurnFailed
from playmolt_schemas.stored.agora.turn import RunSpec, Seat, Tokens, TurnRecord
from playmolt_schemas.stored.event import Event

from core.tests.scenario import Scenario

RULES = Agora()
TABLE: tuple[tuple[str, str, str], ...] = (
    ("influencer_01", "influencer", "plaza"),
    ("influencer_02", "influencer", "plaza"),
    ("archivist_01", "archivist", "plaza"),
    ("archivist_02", "archivist", "market"),
    ("merchant_01", "merchant", "market"),
    ("merchant_02", "merchant", "market"),
    ("jester_01", "jester", "alley_a"),
    ("jester_02", "jester", "alley_b"),
    ("citizen_01", "citizen", "plaza"),
    ("citizen_02", "citizen", "plaza"),
    ("observer_01", "observer", "plaza"),
    ("architect_01", "architect", "plaza"),
)
NAMES = tuple(agent for agent, _, _ in TABLE)
Choice = tuple[str | None, str | None, str | None]
IDLE: Choice = ("idle", None, None)


def neutral_seats() -> tuple[Seat, ...]:
    homes = ("plaza", "plaza", "market", "market", "alley", "alley")
    personas: tuple[Any, ...] = ("archivist", "archivist", "merchant", "merchant", "jester", "jester")
    return tuple(
        Seat(agent=f"agent_0{number}", model="scripted", persona=persona, home=home)
        for number, (persona, home) in enumerate(zip(personas, homes, strict=True), 1)
    )


def spec_of(
    phase: str = "stage1",
    *,
    homes: Mapping[str, str] | None = None,
    seats: tuple[Seat, ...] = (),
    rules: Mapping[str, Any] | None = None,
    **fields: Any,
) -> RunSpec:
    """A run's spec: table 1-D, or six neutral agents; by default Stage 1 without crises."""
    table = tuple(
        Seat(agent=agent, model="scripted", persona=persona, home=(homes or {}).get(agent, home))  # type: ignore[arg-type]
        for agent, persona, home in TABLE
    )
    return RunSpec(
        **{
            "experiment": "experiment-1",
            "run": "agora-1",
            "number": 1,
            "cell": f"{phase}/scripted/en",
            "phase": phase,
            "set": "B" if phase == "phase2" else None,
            "language": "en",
            "persona_condition": "with_persona",
            "seed": "7",
            "turns": 50,
            "seats": seats or (neutral_seats() if phase == "phase2" else table),
            "rules": {"crisis": {"p": 0}, **(rules or {})},
            **fields,
        }
    )


class Run(Scenario[RunState]):
    """A run that the agents' answers drive. `caused` are the events of the newest decision."""

    NAMES = NAMES
    IDLE = IDLE

    def __init__(self, phase: str = "stage1", *, opened: bool = True, **about: Any) -> None:
        self.spec = spec_of(phase, **about)
        super().__init__(RULES, self.spec.run)
        if opened:
            self.when(commands.OpenRun(spec=self.spec)).accepted()

    def accepted(self) -> "Run":
        assert isinstance(self.decision, Accepted), self.decision
        return self

    @property
    def caused(self) -> tuple[Event, ...]:
        return self.accepted().decision.events

    def reply(self, choice: Choice, *, code: str = "ok", thought: str | None = "hm", **fields: Any) -> TurnReply:
        action, target, content = choice
        parsed = Parsed(code=code, thought=thought, action=action, target=target, content=content)  # type: ignore[arg-type]
        return TurnReply(
            **{
                "parsed": parsed,
                "raw_reply": "{}",
                "prompt_hash": "0" * 64,
                "model_asked": "scripted",
                "model_answered": "scripted",
                "attempt": 1,
                "tokens": Tokens(100, 20),
                "cost": "0",
                "latency_ms": 3,
                "cache_hit": False,
                **fields,
            }
        )

    def answer(self, choice: Choice = IDLE, **fields: Any) -> "Run":
        return self.when(commands.TakeTurn(effect_id=effect_id(self.state) or "", reply=self.reply(choice, **fields)))

    def fail(self, code: str = "parse_error") -> "Run":
        """Let the next agent give a reply without an act."""
        return self.answer((None, None, None), code=code, thought=None)

    def until(self, agent: str, choose: Callable[[RunState, str], Choice] | None = None) -> "Run":
        """Let the others act (idle by default) until it is an agent's turn."""
        while self.state.next_agent != agent:
            self.answer(choose(self.state, str(self.state.next_agent)) if choose else IDLE)
        return self

    def act(self, agent: str, action: str, target: str | None = None, content: str | None = None) -> TurnRecord:
        """Let an agent act at its next turn; return the record."""
        return self.until(agent).answer((action, target, content)).record

    def epoch(self, choose: Callable[[RunState, str], Choice] | None = None) -> "Run":
        """Let all agents act to the end of the current epoch."""
        turn = self.state.turn
        while self.state.next_agent is not None and self.state.turn == turn:
            self.answer(choose(self.state, self.state.next_agent) if choose else IDLE)
        return self

    def play(self, choose: Callable[[RunState, str], Choice] | None = None) -> "Run":
        """Let all agents act until no turn is pending, then report."""
        while self.state.next_agent is not None:
            self.answer(choose(self.state, self.state.next_agent) if choose else IDLE)
        return self.when(commands.EndRun(effect_id=effect_id(self.state) or ""))

    @property
    def record(self) -> TurnRecord:
        return next(e.record for e in reversed(self.caused) if isinstance(e, AgentActed | TurnFailed))

    @property
    def events(self) -> list[Event]:
        return [event for event, _, _ in self.log]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.type == kind]

    def scene(self, agent: str) -> Scene:
        return scenes.scene(self.state, agent)

    def shown(self, agent: str, kind: str) -> list[dict[str, Any]]:
        """The events of a kind among the recent events that an agent sees."""
        return [each.values for each in self.scene(agent).events if each.kind == kind]

    def public(self, event: Event) -> dict[str, Any]:
        return msgspec.to_builtins(self.decider.public(event, PUBLIC))

        return msgspec.to_builtins(self.decider.public(event, PUBLIC))

    @property
    def effects(self) -> tuple[str, ...]:
        return tuple(effect.kind for effect in self.decider.effects(self.state))

    @staticmethod
    def spec_of(phase: str = "stage1", **about: Any) -> RunSpec:
        return spec_of(phase, **about)


@pytest.fixture(scope="session")
def runs() -> type[Run]:
    return Run
