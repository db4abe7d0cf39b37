"""House bots of the O/X arena: their choices, switches and comments."""

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, cast

from playmolt_schemas.limits import COMMENT_CHARS

from playmolt.bots.house_bots import HouseBots
from playmolt.bots.phrases import clipped, language_of, pick, stream
from playmolt.calls import State
from playmolt.loop import Action, Turn

Choice = Literal["O", "X"]
OTHER: Mapping[Choice, Choice] = {"O": "X", "X": "O"}


@dataclass(frozen=True)
class TableView:
    """A game as seen from one seat. Other agents are identified by id."""

    me: str
    others: tuple[str, ...]
    rounds_left: int
    rounds: int
    choices: Mapping[str, Choice]
    """This round's revealed first choices; empty before the reveal."""
    decided: Mapping[str, bool]
    """Agents that have decided about the switch → whether they switched."""
    can_switch: frozenset[str]
    points: Mapping[str, int]
    past: tuple[Mapping[str, Choice], ...]
    """First choices of each finished round."""
    last_minority: Choice | None


def read_table(state: State) -> TableView:
    """Parse the state of an O/X game."""
    me = state["self"]
    board = {line["id"]: line for line in state["scoreboard"]}
    available = {agent for agent, line in board.items() if line["switch_available"]} - {me["id"]}
    return TableView(
        me=me["id"],
        others=tuple(sorted(seat["id"] for seat in state["participants"] if seat["id"] != me["id"])),
        rounds_left=state["maxRounds"] - state["round"],
        rounds=state["maxRounds"],
        choices={line["id"]: line["choice"] for line in state["reveal"]},
        decided={line["id"]: line["switched"] for line in state.get("decisions") or ()},
        can_switch=frozenset(available | ({me["id"]} if me["switch_available"] else set())),
        points={agent: line["points"] for agent, line in board.items()},
        past=tuple({line["id"]: line["first_choice"] for line in entry["choices"]} for entry in state["history"]),
        last_minority=state["history"][-1]["minority"] if state["history"] else None,
    )


def gain(mine: Choice, others_o: int, others: int) -> int:
    """Points for a choice when `others_o` of `others` end on O (ox.md, Points)."""
    with_me = 1 + (others_o if mine == "O" else others - others_o)
    against = others + 1 - with_me
    return against * (against - 1) if with_me < against else 0


def counts(chances: Iterable[float]) -> list[float]:
    """Probability of each number of agents on O, from each agent's probability of O."""
    spread = [1.0]
    for chance in chances:
        grown = [0.0] * (len(spread) + 1)
        for number, weight in enumerate(spread):
            grown[number] += weight * (1 - chance)
            grown[number + 1] += weight * chance
        spread = grown
    return spread


def expected(mine: Choice, chances: list[float]) -> float:
    """Expected points of a choice, from the other agents' probabilities of O."""
    return sum(weight * gain(mine, number, len(chances)) for number, weight in enumerate(counts(chances)))


def _coin(rng: random.Random) -> Choice:
    return "O" if rng.random() < 0.5 else "X"


def _crowded(table: TableView) -> bool:
    """Whether I am in the majority and my switch alone would help."""
    mine = table.choices[table.me]
    others_o = sum(table.choices.get(agent) == "O" for agent in table.others)
    stays, moves = (gain(choice, others_o, len(table.others)) for choice in (mine, OTHER[mine]))
    return moves > stays


def _tossed(_table: TableView, rng: random.Random) -> Choice:
    return _coin(rng)


def _on_a_whim(table: TableView, rng: random.Random) -> bool:
    return rng.random() < 1 / (table.rounds_left + 2)


def _where_few_stood(table: TableView, rng: random.Random) -> Choice:
    return table.last_minority or _coin(rng)


def _crowded_sooner_or_later(table: TableView, rng: random.Random) -> bool:
    return _crowded(table) and rng.random() < 1 / (table.rounds_left + 1)


def _crowded_at_once(table: TableView, _rng: random.Random) -> bool:
    return _crowded(table)


_TEMPERATURE = 1.5
"""Randomness in points: without it, two table readers would always make the same choice."""
_KEEPING = 3.0
"""Initial value of the switch in points: half of an ordinary win."""


def _by_habits(table: TableView, rng: random.Random) -> Choice:
    chances = [_habit(table, agent) for agent in table.others]
    better = expected("O", chances) - expected("X", chances)
    return "O" if rng.random() < 1 / (1 + math.exp(-better / _TEMPERATURE)) else "X"


def _where_it_gains(table: TableView, _rng: random.Random) -> bool:
    mine = table.choices[table.me]
    chances = [_ending_on_o(table, agent) for agent in table.others]
    better = expected(OTHER[mine], chances) - expected(mine, chances)
    return better > _worth_of_keeping(table)


def _worth_of_keeping(table: TableView) -> float:
    ahead = table.points.get(table.me, 0) - max((table.points.get(agent, 0) for agent in table.others), default=0)
    # A leader can wait; a bot that is behind must catch up while rounds remain.
    urgency = 1.5 if ahead > 0 else 0.5 if ahead < 0 else 1.0
    return _KEEPING * urgency * table.rounds_left / table.rounds


def _habit(table: TableView, agent: str) -> float:
    """Estimated frequency of an agent's O, with a prior of one half."""
    seen = [choices[agent] for choices in table.past if agent in choices]
    return (seen.count("O") + 1) / (len(seen) + 2)


def _ending_on_o(table: TableView, agent: str) -> float:
    choice = table.choices[agent]
    on_o = float(choice == "O")
    if agent in table.decided:
        return 1 - on_o if table.decided[agent] else on_o
    if agent not in table.can_switch:
        return on_o
    crowd = list(table.choices.values()).count(choice) * 2 > len(table.choices)
    moves = 0.5 / (table.rounds_left + 1) if crowd else 0.03
    return on_o * (1 - moves) + (1 - on_o) * moves


class Policy(NamedTuple):
    """The two decisions of a bot: a side, and whether to use an available switch."""

    first: Callable[[TableView, random.Random], Choice]
    switches: Callable[[TableView, random.Random], bool]


POLICIES: Mapping[str, Policy] = {
    "random": Policy(_tossed, _on_a_whim),
    "contrarian": Policy(_where_few_stood, _crowded_sooner_or_later),
    "table_reader": Policy(_by_habits, _where_it_gains),
    "majority_dodger": Policy(_tossed, _crowded_at_once),
}
"""`random` is the control; `contrarian` takes the last minority's side; `majority_dodger` leaves a majority at once;
`table_reader` models the other agents' habits and switches when that gains more than keeping the switch."""

_FIRST = {
    "ko": {
        "random": (
            "동전을 던졌더니 {side}가 나왔습니다.",
            "오늘은 느낌대로 {side}입니다.",
            "깊이 생각하지 않고 {side}로 갑니다.",
        ),
        "contrarian": ("다들 가지 않는 길, {side}를 택합니다.", "한산해 보이는 {side}에 서 보겠습니다."),
        "table_reader": ("기록을 보니 {side}가 비어 보입니다.", "모두의 습관을 세어 보고 {side}를 골랐습니다."),
        "majority_dodger": ("우선 {side}, 붐비면 떠납니다.", "{side}로 시작하고 분위기를 보겠습니다."),
    },
    "en": {
        "random": ("The coin says {side}.", "A feeling, nothing more: {side}.", "No theory today, just {side}."),
        "contrarian": ("{side} looks lonely, and I like that.", "The road less taken is {side}."),
        "table_reader": ("Counting your habits, {side} looks empty.", "The record of this table points to {side}."),
        "majority_dodger": ("{side} for now; I leave if it gets crowded.", "Starting with {side} and an open door."),
    },
    "zh": {
        "random": ("抛了硬币，是 {side}。", "今天凭感觉选 {side}。", "不多想，就选 {side}。"),
        "contrarian": ("大家不走的路，我选 {side}。", "{side} 看起来冷清，我去那边。"),
        "table_reader": ("看记录，{side} 那边人少。", "数过各位的习惯，我选 {side}。"),
        "majority_dodger": ("先站 {side}，挤了就走。", "从 {side} 开始，看看情况。"),
    },
}
_SWITCH = {
    "ko": {
        True: ("여기는 너무 붐빕니다. {side}로 옮깁니다.", "한 번뿐인 기회를 {side}에 씁니다."),
        False: ("그대로 {side}입니다.", "{side}를 지킵니다.", "기회는 아껴 두고 {side}에 남습니다."),
    },
    "en": {
        True: ("Too crowded here: I move to {side}.", "My one switch goes to {side}."),
        False: ("I stay with {side}.", "{side} it remains.", "Keeping my switch, keeping {side}."),
    },
    "zh": {
        True: ("这边太挤了，我换到 {side}。", "唯一的一次机会用在 {side}。"),
        False: ("我留在 {side}。", "{side} 不变。", "机会留着，继续 {side}。"),
    },
}


class OxBot:
    """A house bot of the O/X arena. The same state and seed give the same action."""

    def __init__(self, policy: str, seed: object) -> None:
        self.policy = policy
        self._policy = POLICIES[policy]
        self._seed = seed

    def __call__(self, turn: Turn) -> Action:
        table = read_table(turn.state)
        kind = turn.actions[0].type
        rng = stream(self._seed, "ox", self.policy, turn.state["round"], kind)
        language = language_of(turn.state, turn.state["question"] or "")
        if kind == "first_choice":
            choice = self._policy.first(table, rng)
            comment = _spoken(rng, _FIRST[language][self.policy], choice)
            return {"type": kind, "choice": choice, "comment": comment}
        use = table.me in table.can_switch and self._policy.switches(table, rng)
        mine = cast("Choice", turn.state["self"]["first_choice"])
        comment = _spoken(rng, _SWITCH[language][use], OTHER[mine] if use else mine)
        return {"type": kind, "use_switch": use, "comment": comment}


def _spoken(rng: random.Random, templates: tuple[str, ...], side: str) -> str:
    return clipped(pick(rng, templates).format(side=side), COMMENT_CHARS)


def bot(policy: str, seed: object) -> OxBot:
    """A house bot with this policy; raises LookupError for an unknown one."""
    if policy not in POLICIES:
        raise LookupError(f"no policy {policy!r} for ox; choose from {', '.join(POLICIES)}")
    return OxBot(policy, seed)


def names() -> tuple[str, ...]:
    return tuple(POLICIES)


BOTS: Final = HouseBots(bot, names(), names())
