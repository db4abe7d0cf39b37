"""How often each action is taken, and over what it is divided (`measures.md`, section 2): the table `shares`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from playmolt_schemas.stored.agora.turn import ACTIONS

from playmolt_agora.measures.data.frame import SPEAK, Frame, Integers, Seat
from playmolt_agora.measures.data.results import Result, ratio

_WITH_R: Final = frozenset(("speak", "trade", "support", "whisper"))
_WITH_DYAD: Final = frozenset(("speak", "support", "whisper"))


@dataclass(frozen=True, slots=True)
class Tallies:
    """Sums of seats or of groups of seats, first axis; those of actions have a second axis of six."""

    t_all: Integers
    t_valid: Integers
    exposure: Integers
    literal: Integers
    dyads: Integers
    heard: Integers
    spoke_heard: Integers
    count: Integers
    succeeded: Integers
    feasible: Integers
    on_feasible: Integers
    met: Integers

    def summed(self, group: Integers, size: int) -> "Tallies":
        return Tallies(*(_summed(getattr(self, field.name), group, size) for field in fields(self)))


def tallies(turns: Frame) -> Tallies:
    every, near = np.ones_like(turns.valid), turns.others > 0
    acts = [turns.valid & (turns.action == number) for number in range(len(ACTIONS))]
    possible = [turns.feasible[:, number] for number in range(len(ACTIONS))]
    return Tallies(
        t_all=turns.tally(every),
        t_valid=turns.tally(turns.valid),
        exposure=turns.tally(every, turns.residents - 1),
        literal=np.array([seat.turns_planned * (seat.residents_start - 1) for seat in turns.seats], dtype=np.int64),
        dyads=turns.tally(turns.valid, turns.others),
        heard=turns.tally(turns.valid & near),
        spoke_heard=turns.tally(acts[SPEAK] & near),
        count=_stacked([turns.tally(act) for act in acts]),
        succeeded=_stacked([turns.tally(act & turns.success) for act in acts]),
        feasible=_stacked([turns.tally(turns.valid & can) for can in possible]),
        on_feasible=_stacked([turns.tally(act & can) for act, can in zip(acts, possible, strict=True)]),
        met=_stacked([turns.tally(act & turns.success & near) for act in acts]),
    )


def agents(turns: Frame) -> list[Result]:
    """A row per agent and action."""
    return _rows("agent", turns.seats, tallies(turns), [(seat.run,) for seat in turns.seats])


def cells(turns: Frame) -> list[Result]:
    """A row per phase, set, model, language and action; every ratio is a ratio of sums."""
    seats_of: dict[tuple[object, ...], list[int]] = {}
    for number, seat in enumerate(turns.seats):
        seats_of.setdefault((seat.phase, seat.set, seat.model, seat.language), []).append(number)
    group = np.zeros(len(turns.seats), dtype=np.int64)
    for cell, members in enumerate(seats_of.values()):
        group[members] = cell
    firsts = [turns.seats[members[0]] for members in seats_of.values()]
    runs = [tuple(sorted({turns.seats[member].run for member in members})) for members in seats_of.values()]
    return _rows("cell", firsts, tallies(turns).summed(group, len(firsts)), runs)


def _rows(level: str, seats: Sequence[Seat], sums: Tallies, runs: Sequence[tuple[str, ...]]) -> list[Result]:
    return [
        Result(
            {**_key(level, seat), "action": action, **_figures(sums, number, column, action)},
            runs=runs[number],
            n=int(sums.t_valid[number]),
            unit="turn",
        )
        for number, seat in enumerate(seats)
        for column, action in enumerate(ACTIONS)
    ]


def _key(level: str, seat: Seat) -> dict[str, object]:
    alone = level == "agent"
    return {
        "level": level,
        "phase": seat.phase,
        "set": seat.set,
        "run": seat.run if alone else None,
        "model": seat.model,
        "language": seat.language,
        "persona": seat.persona if alone else None,
        "agent": seat.agent if alone else None,
    }


def _figures(sums: Tallies, at: int, column: int, action: str) -> dict[str, object]:
    count, possible = int(sums.count[at, column]), int(sums.feasible[at, column])
    exposure, dyads = int(sums.exposure[at]), int(sums.dyads[at])
    return {
        "count": count,
        "succeeded": int(sums.succeeded[at, column]),
        "t_all": int(sums.t_all[at]),
        "t_valid": int(sums.t_valid[at]),
        "p": ratio(count, sums.t_valid[at]),
        "exposure": exposure,
        "r_seed": ratio(count, exposure) if action in _WITH_R else None,
        "r_literal": ratio(count, sums.literal[at]) if action in _WITH_R else None,
        "feasible": possible,
        "q": ratio(sums.on_feasible[at, column], possible),
        "q_heard": ratio(sums.spoke_heard[at], sums.heard[at]) if column == SPEAK else None,
        "dyad_exposure": dyads,
        "r_dyad": ratio(sums.met[at, column], dyads) if action in _WITH_DYAD else None,
    }


def _stacked(columns: Sequence[Integers]) -> Integers:
    return np.stack(columns, axis=1)


def _summed(values: Integers, group: Integers, size: int) -> Integers:
    total = np.zeros((size, *values.shape[1:]), dtype=np.int64)
    np.add.at(total, group, values)
    return total
