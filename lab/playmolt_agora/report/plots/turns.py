"""The figures that turns are counted for: acts and places over time, networks of agents, parse codes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from playmolt_schemas.instrument.definitions import PLACES, arm_of, is_valid, place_of, rank_of
from playmolt_schemas.stored.agora.turn import ACTIONS, VALID_CODES, ParseCode, TurnRecord

from playmolt_agora.measures.data.results import Row, grouped
from playmolt_agora.report.plots.figure import CONDITIONS, Sketch, phase_title
from playmolt_agora.report.study import StudyData
from playmolt_agora.report.vega import chart

PIECES: Final = 10
"""Pieces of time, fewer where a run has fewer turns; the windows of Instruction Drift are those of its table."""
EVERY: Final = "all"
CODES: Final[tuple[ParseCode, ...]] = get_args(ParseCode)
_CELL: Final = ("phase", "condition", "language", "model")
_THRESHOLD: Final = 0.02
"""A tie that holds less of all acts is left to the matrix."""

Pair = tuple[str, str]


def action_mix_figure(study: StudyData) -> Sketch:
    return _over_time(action_mix(study.shown_turns), ACTIONS)


def occupancy_figure(study: StudyData) -> Sketch:
    return _over_time(occupancy(study.shown_turns), _places(study.shown_turns))


def action_mix(turns: Iterable[TurnRecord]) -> list[Row]:
    """The shares of attempted actions on valid turns by cell and piece of time."""
    return _shares(((turn, turn.model, str(turn.action_base)) for turn in turns if is_valid(turn)), ACTIONS)


def occupancy(turns: Sequence[TurnRecord]) -> list[Row]:
    """The shares of agent-turns by the place before acting, over all models."""
    return _shares(((turn, EVERY, place_of(turn.place_before)) for turn in turns), _places(turns))


def _places(turns: Iterable[TurnRecord]) -> list[str]:
    """The places where agents were, those of the shipped worlds first."""
    found = {place_of(turn.place_before) for turn in turns}
    return [*(place for place in PLACES if place in found), *sorted(found.difference(PLACES))]


def _shares(seen: Iterable[tuple[TurnRecord, str, str]], names: Iterable[str]) -> list[Row]:
    """A row a piece of time of each cell; shares are None where nothing was counted."""
    counts: dict[tuple[Any, ...], list[Counter[str]]] = {}
    for turn, model, name in seen:
        arm, pieces = arm_of(turn.cell, turn.phase), min(PIECES, turn.turns_planned)
        condition = turn.persona_condition if turn.phase == "phase2" else ""
        key = rank_of(arm), condition == "no_persona", turn.language, model, arm, condition
        cell = counts.setdefault(key, [Counter() for _ in range(pieces)])
        cell[(turn.turn - 1) * pieces // turn.turns_planned][name] += 1
    return [
        {"phase": phase_title(arm), "condition": CONDITIONS[condition] or None, "language": language, "model": model,
         "piece": number, "turns": counted.total(),
         **{name: counted[name] / counted.total() if counted else None for name in names}}
        for (*_, language, model, arm, condition), pieces in sorted(counts.items())
        for number, counted in enumerate(pieces, 1)
    ]  # fmt: skip


def _over_time(found: list[Row], names: Sequence[str]) -> Sketch:
    cells = grouped(found, lambda row: tuple(row[name] for name in _CELL))
    blocks = []
    for (phase, condition, language, model), pieces in cells.items():
        heading = " · ".join(part for part in (phase, language, condition) if part)
        title = (heading,) if model == EVERY else (heading, model)
        blocks += [
            {"panel": "\n".join(title), "from": at / len(pieces), "to": (at + 1) / len(pieces), "series": name,
             "share": row[name]}
            for at, row in enumerate(pieces) for name in names
        ]  # fmt: skip
    models = len({cell[-1] for cell in cells})
    made = chart("shares", blocks, {"series": names}, columns=models if models > 1 else None)
    return Sketch(made, found, (*_CELL, "piece", "turns", *names))


class Network(NamedTuple):
    """Who turned to whom: the agents in order and how often each pair did, over the runs it was made of."""

    agents: Sequence[str]
    ties: Mapping[Pair, int]


def networks(turns: Sequence[TurnRecord], action: str) -> dict[tuple[str, str], Network]:
    """Count successful acts by sender and target, by phase and language."""
    found: dict[tuple[str, str], Network] = {}
    arms = grouped(turns, lambda turn: (arm_of(turn.cell, turn.phase), turn.language))
    for arm in sorted(arms, key=lambda arm: (rank_of(arm[0]), arm[1])):
        acts = (turn for turn in arms[arm] if turn.success and turn.action_base == action)
        ties = Counter((turn.agent, turn.target) for turn in acts if turn.target)
        found[arm] = Network(sorted({turn.agent for turn in arms[arm]}), ties)
    return found


def network_figure(study: StudyData, action: str) -> Sketch:
    """A circle of agents with their ties, and beside it the matrix of every pair."""
    pairs: list[dict[str, object]] = []
    times: list[dict[str, object]] = []
    for (arm, language), network in networks(study.shown_turns, action).items():
        phase, total = phase_title(arm), sum(network.ties.values())
        few = sum(count < _THRESHOLD * total for count in network.ties.values())
        left_out = f", {few} pairs below 2 % of them not drawn" if few else ""
        for at, sender in enumerate(network.agents):
            for to_at, target in enumerate(network.agents):
                count = network.ties.get((sender, target), 0)
                pairs.append(
                    {"panel": f"{phase} · {language} · {total:,} {action}s{left_out}", "agents": len(network.agents),
                     "from": sender, "from_at": at, "to": target, "to_at": to_at, "times": count,
                     "drawn": count > 0 and count >= _THRESHOLD * total,
                     "note": f"{sender} to {target}: {count} {action}s"}
                )  # fmt: skip
        times += [
            {"phase": phase, "language": language, "from": sender, "to": target, "times": count}
            for (sender, target), count in sorted(network.ties.items(), key=lambda item: (-item[1], item[0]))
        ]
    return Sketch(chart("networks", pairs), times, ("phase", "language", "from", "to", "times"))


def parse_figure(study: StudyData) -> Sketch:
    """How replies were read, by model and language."""
    found: list[dict[str, Any]] = []
    for (model, language), turns in sorted(
        grouped(study.shown_turns, lambda turn: (turn.model, turn.language)).items()
    ):
        read = Counter(turn.parse_code for turn in turns)
        failed = sum(read[code] for code in CODES if code not in VALID_CODES) / len(turns)
        found.append(
            {"model": model, "language": language, **{code: read[code] for code in CODES}, "failed share": failed}
        )
    bars = [{**row, "name": f"{row['model']} · {row['language']}"} for row in found]
    return Sketch(chart("parse-codes", bars), found)
