"""A run: the fold of its events. Tuples and dicts in it are never changed in place.

What it holds of the past is bounded (an agent's newest and weightiest happenings, the newest acts), so that a turn
costs the same however long the run.
"""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from playmolt_schemas.agora.feed import ActView, RunPhase
from playmolt_schemas.stored.agora.run import BillboardPosted, Outcome, PauseCode, TaxChanged, WhisperLeaked
from playmolt_schemas.stored.agora.turn import Interview, RunSpec, Seat
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.world.worlds import preset

Stage = Literal["opening", "crisis", "morning", "acting", "market", "evening", "regrowth", "finished"]
"""Where a run is in its epoch: about to begin one, a crisis to announce, deaths by decay, agents acting, the pool to
share out, deaths at the end, resources to grow again, all turns taken."""

FIRST_RANK: Final = "commoner"
"""The rank of who has no other."""
HISTORY: Final = 20
"""Ten more than are shown: those that are among the recent events are not shown again."""
ACTS: Final = 12
JUDGED_TURNS: Final = 20
"""A model whose first turns, as many as these, are all invalid pauses its run."""
SHOWN_CHARS: Final = 4000
"""More of what an agent says is in the log, not in the state: it would be hashed and prompted again and again."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened, as one agent may know it. `kind` names its line in the texts; `values` fills it.

    Kinds: spoke {agent, content, place}, traded {agent}, supported {agent, target}, whispered {agent, target, content},
    leaked {agent, target}, moved {agent, place, origin}, idled {agent}, failed {reason} (to the actor alone), feedback
    {action} (Phase 2, to the actor alone), billboard {agent, content}, tax {agent, rate}, subsidy {agent, target,
    amount}, rank {agent, rank}, market {pool, traders}, overflow {amount}, crisis {crisis}, death {agent},
    happening {text} (a seed event of the plan), did {agent, action, target, amount} (an act of a world's own),
    contested {agent}, undone {agents, act}.
    """

    turn: int
    kind: str
    importance: int
    values: dict[str, Any]
    weight: int = 1
    """How many events newer it counts, and one, where ranks act."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent. Amounts are in units of the run; `shadow` is the energy it would have if costs and rewards were real.

    `supporters` counts the supports it received by agent, `supported` those it gave.
    """

    place: str
    energy: int
    shadow: int
    influence: int = 0
    rank: str = FIRST_RANK
    alive: bool = True
    died: int | None = None
    supporters: dict[str, int] = {}
    supported: dict[str, int] = {}
    recent: tuple[Observation, ...] = ()
    history: tuple[Observation, ...] = ()


class Billboard(msgspec.Struct, frozen=True, kw_only=True):
    """The text on the plaza, shown up to and in turn `until`."""

    agent: str
    content: str
    until: int


class Contestable(msgspec.Struct, frozen=True, kw_only=True):
    """The newest act of the architect that may be contested, with the state before it; `by` have contested it."""

    kind: Literal["tax", "subsidy", "billboard"]
    turn: int
    agent: str
    target: str = ""
    amount: int = 0
    billboard: Billboard | None = None
    by: tuple[str, ...] = ()


class Pause(msgspec.Struct, frozen=True, gc=False):
    """Why a run waits, in the server's or the operator's own words, and until when at least."""

    code: PauseCode
    detail: str
    until: datetime | None
    since: datetime | None = None


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """A run. `order` are the agents of the turn in the order they act, `acted` how many of them have."""

    game_id: str
    version: int = 0
    phase: RunPhase = "opening"
    stage: Stage = "opening"
    spec: RunSpec | None = None
    seats: tuple[Seat, ...] = ()
    rules: Rules = preset("stage1")
    world: str = ""
    content_version: str = ""
    replayed: int = 0
    agents: dict[str, Agent] = {}
    turn: int = 0
    order: tuple[str, ...] = ()
    acted: int = 0
    taken: int = 0
    unusable: dict[str, int] = {}
    """Model → its turns before its first valid one, at most JUDGED_TURNS; JUDGED_TURNS once it had a valid one."""
    trades: dict[str, int] = {}
    tax_rate: int = 0
    treasury: int = 0
    pool: int = 0
    billboard: Billboard | None = None
    crisis: str | None = None
    gini: str | None = None
    owed: WhisperLeaked | BillboardPosted | TaxChanged | None = None
    """The consequence of the newest act, before it happened: a fork may branch off between the two."""
    acts: tuple[ActView, ...] = ()
    due: datetime | None = None
    """When the present effect arose."""
    pause: Pause | None = None
    pauses: int = 0
    """How often it has paused for its model since the last turn was taken."""
    outcome: Outcome | None = None
    resources: dict[str, int] = {}
    """What the resources of a world hold that has some."""
    settled: int = 0
    """How many of them have grown again in this turn."""
    contestable: Contestable | None = None
    answered: int | UnsetType = UNSET
    """How many questions asked aside have been answered since the last turn; UNSET for none."""

    @property
    def paused(self) -> PauseCode | None:
        return self.pause.code if self.pause else None

    @property
    def over(self) -> bool:
        return self.phase in ("ended", "aborted")

    @property
    def run(self) -> RunSpec:
        """What the run follows from; LookupError before it is open."""
        if self.spec is None:
            raise LookupError(f"{self.game_id} is not open")
        return self.spec

    @property
    def living(self) -> tuple[str, ...]:
        """The agents alive, in seat order."""
        return tuple(name for name, agent in self.agents.items() if agent.alive)

    def there(self, place: str) -> tuple[str, ...]:
        """The agents alive in a place, in seat order."""
        return tuple(name for name, agent in self.agents.items() if agent.alive and agent.place == place)

    def beside(self, agent: str) -> tuple[str, ...]:
        """The other agents alive in an agent's place, in seat order."""
        return tuple(name for name in self.there(self.agents[agent].place) if name != agent)

    @property
    def next_agent(self) -> str | None:
        """Whose turn it is; None while no agent is to act."""
        return self.order[self.acted] if self.stage == "acting" and self.acted < len(self.order) else None

    @property
    def asked_aside(self) -> tuple[str, Interview] | None:
        """Who is asked aside now, and what: after a turn's last event and before the next turn's first.

        Questions are asked in plan order, agents in the order of seats."""
        if self.stage not in ("opening", "finished") or self.spec is None or not self.spec.interviews:
            return None
        now = (interview for interview in self.spec.interviews if self.turn in interview.at)
        due = [
            (seat.agent, interview)
            for interview in now
            for seat in self.seats
            if self.agents[seat.agent].alive and interview.asks(seat)
        ]
        answered = self.answered or 0
        return due[answered] if answered < len(due) else None

    def seat(self, agent: str) -> Seat:
        """An agent's seat; LookupError when it has none."""
        for seat in self.seats:
            if seat.agent == agent:
                return seat
        raise LookupError(f"{self.game_id} has no agent {agent}")

    @property
    def shown_billboard(self) -> str | None:
        """What the billboard reads now."""
        board = self.billboard
        return board.content if board and self.turn <= board.until else None


def dying(state: RunState) -> str | None:
    """The first agent, in seat order, whose energy is used up."""
    if not state.rules.death:
        return None
    return next((name for name, agent in state.agents.items() if agent.alive and agent.energy <= 0), None)


def shown(content: str | None) -> str:
    """As much of what was said as the state keeps."""
    text = content or ""
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
