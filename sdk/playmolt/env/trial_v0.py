"""The mock trial, seat by seat: each speech is visible to all later speakers.

Actions: 0 speaks without evidence, 1 to 4 present a piece of evidence (two per side), 5 and 6 vote guilty and not
guilty. Rewards are the result's points as a fraction of those for a won trial.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pettingzoo import AECEnv
from playmolt_core.game.decider import Decider
from playmolt_schemas.games.trial import ARGUMENT_ROUNDS
from playmolt_schemas.stored.values import GameLanguage
from playmolt_trial.rules import Trial
from typing_extensions import override

from playmolt.bots.phrases import language_of
from playmolt.calls import State
from playmolt.env.game_env import GameEnv, Observation, RenderMode, one_of, wrapped

_PHASES: Final = ("opening", "argument", "rebuttal", "jury_vote", "verdict", "end")
_ROLES: Final = ("PROSECUTOR", "DEFENSE", "JUDGE", "JUROR")
_VERDICTS: Final = ("GUILTY", "NOT_GUILTY")
_WON: Final = 200
_PIECES: Final = 4
_FIRST_VOTE: Final = 1 + _PIECES
_SPEECHES: Final = 8
"""Upper bound on the speeches of a seat in a trial."""
_NOTHING_NEW: Final[Mapping[GameLanguage, str]] = {
    "ko": "더 드릴 말씀은 없습니다.",
    "en": "I have nothing to add.",
    "zh": "我没有补充。",
}


class _TrialEnv(GameEnv):
    """Observation: phase, round, own role, evidence presented by each role, tally, verdict."""

    metadata: ClassVar[dict[str, Any]] = {"name": "trial_v0", "render_modes": [], "is_parallelizable": False}
    game = "trial"
    seats = 6
    actions = _FIRST_VOTE + len(_VERDICTS)
    size = len(_PHASES) + 1 + len(_ROLES) + len(_ROLES) * (1 + _PIECES) + 2 * len(_VERDICTS)

    @override
    def decider(self) -> Decider:
        return Trial()

    @override
    def encode(self, view: State) -> Sequence[float]:
        pieces = _pieces(view)
        numbers = [*one_of(view["phase"], _PHASES), view["round"] / ARGUMENT_ROUNDS]
        numbers += one_of(view["self"]["role"], _ROLES)
        for role in _ROLES:
            said = [line["text"] for line in view["history"] if line["role"] == role]
            numbers.append(min(1.0, len(said) / (_SPEECHES * (3 if role == "JUROR" else 1))))
            numbers += [float(any(piece in text for text in said)) for piece in pieces]
        tally = view["tally"] or dict.fromkeys(_VERDICTS, 0)
        return [*numbers, *(tally[verdict] / 3 for verdict in _VERDICTS), *one_of(view["verdict"], _VERDICTS)]

    @override
    def allowed(self, view: State) -> Sequence[int]:
        if "vote" in view["allowed_actions"]:
            return tuple(range(_FIRST_VOTE, self.actions))
        return tuple(range(_FIRST_VOTE)) if "speak" in view["allowed_actions"] else ()

    @override
    def action(self, number: int, view: State) -> Mapping[str, Any]:
        if number >= _FIRST_VOTE:
            return {"type": "vote", "verdict": _VERDICTS[number - _FIRST_VOTE]}
        texts = (_NOTHING_NEW[language_of(view, view["case"]["title"])], *_pieces(view))
        return {"type": "speak", "text": texts[number]}

    @override
    def points(self, agent: str, view: State) -> float:
        return next((line["points"] / _WON for line in view["results"] or () if line["agent_id"] == agent), 0.0)


def _pieces(view: State) -> tuple[str, ...]:
    """The first two pieces of evidence of each side."""
    case = view["case"]
    return (*case["evidence_for"][:2], *case["evidence_against"][:2])


def env(
    seed: int | None = None, language: GameLanguage = "en", *, illegal_reward: float | None = None,
    render_mode: RenderMode | None = None, max_cycles: int | None = None,
) -> AECEnv[str, Observation, int | None]:  # fmt: skip
    """Six seats; a seat has no turn in phases that do not involve it."""
    return wrapped(_TrialEnv(seed, language, render_mode=render_mode, max_cycles=max_cycles), illegal_reward)
