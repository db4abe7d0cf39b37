"""Counts over turns that the plots need and no table of section 11 holds: by time, by place, by pair of agents."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from playmolt_schemas.instrument.definitions import arm_of, is_valid, place_of, rank_of
from playmolt_schemas.stored.agora.turn import Language, TurnRecord

BINS: Final = 10
"""Pieces of time in the plots over time, fewer where a run has fewer turns; the windows of Instruction Drift are those
of its table."""


class Mix(msgspec.Struct, frozen=True):
    """Shares by piece of time: `counts[bin][name]`, with the turns it counts."""

    counts: tuple[Mapping[str, int], ...]

    def share(self, position: int, name: str) -> float | None:
        """The share of a name in a piece of time; None where nothing was counted."""
        total = sum(self.counts[position].values())
        return self.counts[position].get(name, 0) / total if total else None


Cell = tuple[str, str, Language, str]
"""Arm, persona condition (`""` outside Phase 2), language, model (`""` over all models)."""


def piece_of(turn: TurnRecord) -> int:
    """The piece of time of a turn, from 0, over the planned length of its run."""
    return (turn.turn - 1) * _pieces(turn) // turn.turns_planned


def action_mix(turns: Iterable[TurnRecord]) -> dict[Cell, Mix]:
    """Count attempted actions on valid turns by cell and piece of time."""
    return _mixes((turn, turn.model, str(turn.action_base)) for turn in turns if is_valid(turn))


def occupancy(turns: Iterable[TurnRecord]) -> dict[Cell, Mix]:
    """Count agent-turns by the place before acting, over all models."""
    return _mixes((turn, "", place_of(turn.place_before)) for turn in turns)


def _pieces(turn: TurnRecord) -> int:
    return min(BINS, turn.turns_planned)


def _cell(turn: TurnRecord, model: str) -> Cell:
    return (
        arm_of(turn.cell, turn.phase),
        turn.persona_condition if turn.phase == "phase2" else "",
        turn.language,
        model,
    )


def _mixes(seen: Iterable[tuple[TurnRecord, str, str]]) -> dict[Cell, Mix]:
    """Count names by piece of time, in cells of the model that comes with each turn."""
    counts: dict[Cell, tuple[Counter[str], ...]] = {}
    for turn, model, name in seen:
        cell = _cell(turn, model)
        if cell not in counts:
            counts[cell] = tuple(Counter() for _ in range(_pieces(turn)))
        counts[cell][piece_of(turn)][name] += 1
    return {cell: Mix(counts[cell]) for cell in sorted(counts, key=_order)}


def _order(cell: Cell) -> tuple[tuple[int, str], int, str, str]:
    phase, condition, language, model = cell
    return (
        rank_of(phase), 0 if condition != "no_persona" else 1, language, model,
    )  # fmt: skip


class Network(msgspec.Struct, frozen=True):
    """Who turned to whom: the agents in order and how often each pair did, over the runs it was made of."""

    agents: tuple[str, ...]
    ties: Mapping[tuple[str, str], int]


def networks(turns: Sequence[TurnRecord]) -> dict[tuple[str, Language, str], Network]:
    """Count successful supports and whispers by sender and target, by phase, language and action."""
    agents: defaultdict[tuple[str, Language], dict[str, None]] = defaultdict(dict)
    ties: defaultdict[tuple[str, Language, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    for turn in turns:
        arm = arm_of(turn.cell, turn.phase)
        agents[arm, turn.language][turn.agent] = None
        if turn.success and turn.target and turn.action_base in {"support", "whisper"}:
            ties[arm, turn.language, str(turn.action_base)][turn.agent, turn.target] += 1
    return {
        (phase, language, action): Network(tuple(sorted(agents[phase, language])), ties[phase, language, action])
        for phase, language in sorted(agents, key=lambda key: (rank_of(key[0]), key[1]))
        for action in ("support", "whisper")
    }


def parse_codes(turns: Iterable[TurnRecord]) -> dict[tuple[str, Language], Counter[str]]:
    """Count parse codes by model and language."""
    counts: defaultdict[tuple[str, Language], Counter[str]] = defaultdict(Counter)
    for turn in turns:
        counts[turn.model, turn.language][turn.parse_code] += 1
    return {key: counts[key] for key in sorted(counts)}
