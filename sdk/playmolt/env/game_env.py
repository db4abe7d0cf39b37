"""Base of the environments: seats act in turn, and observations are made from views only."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Literal

import msgspec
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from playmolt_core.game.decider import Act, Command, Create, Decider, Join, Refused, Viewer
from playmolt_schemas.stored.values import GameLanguage

from playmolt.calls import State
from playmolt.feed import OVER

_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of all events: the games have no deadlines."""


class LocalGame:
    """One game with all seats taken, on its rules and without a server."""

    def __init__(self, decider: Decider, seats: Sequence[str], game: str, seed: str, language: GameLanguage) -> None:
        self._decider = decider
        self._state = decider.initial(f"{game}-env")
        self._views: dict[str, State] = {}
        self._do(Create(seed=seed, config={"phase_deadline_seconds": 0, "language": language}))
        for seat in seats:
            self._do(Join(agent_id=seat, name=seat))

    def view(self, seat: str) -> State:
        """The state as that seat reads it over the API."""
        if seat not in self._views:
            seen = self._decider.view(self._state, Viewer(seat))
            self._views[seat] = msgspec.json.decode(msgspec.json.encode(seen))
        return self._views[seat]

    def asks(self, seat: str) -> str | None:
        """The type of the action expected from a seat now, or None."""
        offers = self._decider.allowed_actions(self._state, seat)
        return offers[0].type if offers else None

    def act(self, seat: str, action: Mapping[str, object]) -> None:
        self._do(Act(agent_id=seat, action=action))

    @property
    def over(self) -> bool:
        return self._decider.summary(self._state).phase in OVER

    def _do(self, command: Command) -> None:
        decision = self._decider.decide(self._state, command, _AT)
        if isinstance(decision, Refused):
            raise ValueError(f"the rules refused {command}: {decision.detail}")  # noqa: TRY004 -- no type is wrong
        for event in decision.events:
            self._state = self._decider.evolve(self._state, event, _AT)
        self._views.clear()


Observation = dict[str, NDArray[Any]]
RenderMode = Literal["ansi"]
OBSERVATION: Final = "observation"
ACTION_MASK: Final = "action_mask"


class GameEnv(AECEnv[str, Observation, int | None], ABC):
    """A game as an environment. Actions are numbers; `action_mask` marks those allowed now."""

    game: ClassVar[str]
    seats: ClassVar[int]
    actions: ClassVar[int]
    """Number of actions; `size` is the length of an observation."""
    size: ClassVar[int]

    def __init__(
        self, seed: int | None = None, language: GameLanguage = "en", *, render_mode: RenderMode | None = None,
        max_cycles: int | None = None,
    ) -> None:  # fmt: skip
        """`max_cycles`: a game is truncated after so many actions of each seat on average; None: it is played out."""
        super().__init__()
        if max_cycles is not None and max_cycles < 1:
            raise ValueError("max_cycles must be at least 1, or None for whole games")
        if render_mode not in (None, "ansi"):
            raise ValueError('render_mode must be "ansi" or None')
        self.render_mode = render_mode
        self._most_steps = None if max_cycles is None else max_cycles * self.seats
        self._decider = self.decider()
        self._language = language
        self._seed = 0 if seed is None else seed
        self._played = 0
        self.possible_agents = [f"seat_{number}" for number in range(self.seats)]
        self.agents: list[str] = []
        box = spaces.Box(0.0, 1.0, (self.size,), np.float32)
        mask = spaces.Box(0, 1, (self.actions,), np.int8)
        self.observation_spaces = {
            agent: spaces.Dict({OBSERVATION: box, ACTION_MASK: mask}) for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(self.actions) for agent in self.possible_agents}

    @abstractmethod
    def decider(self) -> Decider:
        """The rules, with their shipped content."""

    @abstractmethod
    def encode(self, view: State) -> Sequence[float]:
        """A seat's view as `size` numbers from 0 to 1."""

    @abstractmethod
    def allowed(self, view: State) -> Sequence[int]:
        """The actions that a seat with this view may take."""

    @abstractmethod
    def action(self, number: int, view: State) -> Mapping[str, Any]:
        """An action in its API form."""

    @abstractmethod
    def points(self, agent: str, view: State) -> float:
        """A seat's points so far; rewards are the differences."""

    def observation_space(self, agent: str) -> spaces.Space[object]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[object]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """Start a new game: from `seed`, else the next game of the last seed."""
        del options  # required by PettingZoo, unused here
        if seed is not None:
            self._seed, self._played = seed, 0
        self._table = LocalGame(
            self._decider, self.possible_agents, self.game, f"{self._seed}/{self._played}", self._language
        )
        self._played += 1
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._steps = 0
        self._got = {agent: self.points(agent, self.view(agent)) for agent in self.agents}
        self._skip_agent_selection = None
        self.agent_selection = self._next()
        self.infos = self._masks()

    def view(self, agent: str) -> State:
        """A seat's view as JSON, from which its observation is made."""
        return self._table.view(agent)

    def observe(self, agent: str) -> Observation:
        return {OBSERVATION: np.asarray(self.encode(self.view(agent)), np.float32), ACTION_MASK: self._mask(agent)}

    def _mask(self, agent: str) -> NDArray[np.int8]:
        view = self.view(agent)
        mask = np.zeros(self.actions, np.int8)
        if view["allowed_actions"]:
            mask[list(self.allowed(view))] = 1
        return mask

    def _masks(self) -> dict[str, dict[str, object]]:
        """The mask of each seat in its `info`, too: some libraries read it there alone."""
        return {agent: {ACTION_MASK: self._mask(agent)} for agent in self.agents}

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        view = self.view(agent)
        if action is None or int(action) not in self.allowed(view):
            raise ValueError(f"{agent} may not take action {action} now; see its action_mask")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._table.act(agent, self.action(int(action), view))
        for other in self.agents:
            got = self.points(other, self.view(other))
            self.rewards[other] = got - self._got[other]
            self._got[other] = got
        self._steps += 1
        cut = self._steps == self._most_steps and not self._table.over
        self.terminations = dict.fromkeys(self.agents, self._table.over)
        self.truncations = dict.fromkeys(self.agents, cut)
        self.agent_selection = self.agents[0] if self._table.over or cut else self._next()
        self.infos = self._masks()
        self._accumulate_rewards()

    def render(self) -> str | None:
        """With `ansi`, the view of the seat that acts, as JSON; otherwise None."""
        if self.render_mode is None:
            return None
        return msgspec.json.format(msgspec.json.encode(self.view(self.agent_selection))).decode()

    def _next(self) -> str:
        return next(agent for agent in self.agents if self._table.asks(agent))


def wrapped(env: GameEnv, illegal_reward: float | None) -> AECEnv[str, Observation, int | None]:
    """Wrap it like PettingZoo's own environments: calls out of order raise an error.

    An action that the mask forbids raises ValueError, or with `illegal_reward` ends the game with this reward for its
    agent, as in PettingZoo's board games.
    """
    ended = env if illegal_reward is None else wrappers.TerminateIllegalWrapper(env, illegal_reward=illegal_reward)
    return wrappers.OrderEnforcingWrapper(ended)


def one_of(value: object, choices: Sequence[object]) -> list[float]:
    """One-hot encoding of a value."""
    return [float(value == choice) for choice in choices]
