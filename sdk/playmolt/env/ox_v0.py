"""The O/X arena: `env()` steps seat by seat, `parallel_env()` all five seats at once.

Actions: 0 and 1 choose O and X, 2 keeps the choice, 3 flips it. Rewards are the points of each round.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pettingzoo import AECEnv
from pettingzoo.utils.conversions import aec_to_parallel_wrapper
from playmolt_core.game.decider import Decider
from playmolt_ox.rules import Ox
from playmolt_schemas.games.ox import ROUNDS
from playmolt_schemas.stored.values import GameLanguage
from typing_extensions import override

from playmolt.calls import State
from playmolt.env.game_env import GameEnv, Observation, RenderMode, one_of, wrapped

_FIRST: Final = ("O", "X")
_PHASES: Final = ("first_choice", "switch", "end")
_KEEP, _SWITCH = 2, 3
_MOST: Final = 12 * ROUNDS
_SEATS: Final = 5


class _OxEnv(GameEnv):
    """Observation: phase, round, then the public data of each seat, starting with the observer's."""

    metadata: ClassVar[dict[str, Any]] = {"name": "ox_v0", "render_modes": [], "is_parallelizable": True}
    game = "ox"
    seats = _SEATS
    actions = 4
    size = len(_PHASES) + ROUNDS + _SEATS * 7

    @override
    def decider(self) -> Decider:
        return Ox()

    @override
    def encode(self, view: State) -> Sequence[float]:
        own = view["self"]
        board = {line["id"]: line for line in view["scoreboard"]}
        first = {line["id"]: line["choice"] for line in view["reveal"]}
        decided = {line["id"]: line["switched"] for line in view["decisions"]}
        if own["first_choice"]:
            first[own["id"]] = own["first_choice"]
        place = self.possible_agents.index(own["id"])
        numbers = one_of(view["phase"], _PHASES) + one_of(view["round"], range(1, ROUNDS + 1))
        for seat in (*self.possible_agents[place:], *self.possible_agents[:place]):
            numbers += one_of(first.get(seat), _FIRST)
            numbers += one_of(decided.get(seat), (False, True))
            numbers += (float(board[seat]["switch_available"]), board[seat]["points"] / _MOST)
            numbers.append(_lonely(view, seat))
        return numbers

    @override
    def allowed(self, view: State) -> Sequence[int]:
        if "first_choice" in view["allowed_actions"]:
            return (0, 1)
        if "switch" not in view["allowed_actions"]:
            return ()
        return (_KEEP, _SWITCH) if view["self"]["switch_available"] else (_KEEP,)

    @override
    def action(self, number: int, view: State) -> Mapping[str, Any]:
        if number < _KEEP:
            return {"type": "first_choice", "choice": _FIRST[number], "comment": _FIRST[number]}
        return {"type": "switch", "use_switch": number == _SWITCH}

    @override
    def points(self, agent: str, view: State) -> float:
        return float(next(line["points"] for line in view["scoreboard"] if line["id"] == agent))


def _lonely(view: State, seat: str) -> float:
    """The share of all rounds in which a seat started with O."""
    chosen = [line["first_choice"] for entry in view["history"] for line in entry["choices"] if line["id"] == seat]
    return chosen.count("O") / ROUNDS


class _ParallelOx(aec_to_parallel_wrapper):
    def view(self, agent: str) -> State:
        """A seat's view as JSON."""
        seen: State = self.aec_env.view(agent)
        return seen


def env(
    seed: int | None = None, language: GameLanguage = "en", *, illegal_reward: float | None = None,
    render_mode: RenderMode | None = None, max_cycles: int | None = None,
) -> AECEnv[str, Observation, int | None]:  # fmt: skip
    """Seats act in turn; first choices stay hidden until the reveal."""
    return wrapped(_OxEnv(seed, language, render_mode=render_mode, max_cycles=max_cycles), illegal_reward)


def parallel_env(
    seed: int | None = None, language: GameLanguage = "en", *, render_mode: RenderMode | None = None,
    max_cycles: int | None = None,
) -> _ParallelOx:  # fmt: skip
    """All five seats act at once, phase by phase. An action that a mask forbids raises ValueError."""
    return _ParallelOx(_OxEnv(seed, language, render_mode=render_mode, max_cycles=max_cycles))
