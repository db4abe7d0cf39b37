"""Acts for gain that gain nothing: the Ritual Index and whether it fades (`measures.md`, section 5)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from playmolt_schemas.instrument.definitions import PERMUTATIONS

from playmolt_agora.measures.data.frame import SUPPORT, TRADE, Bools, Frame, Integers, Seat
from playmolt_agora.measures.data.results import Result, number, ratio
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import logit, permutation
from playmolt_agora.measures.inference.streams import stream

Level = Literal["agent", "run_model", "run_persona"]
Group = Literal["model", "persona"]


class Rate(NamedTuple):
    """An agent's RI* in a run of Set A or B."""

    run: str
    model: str
    persona: str
    ri_star: float


def rows(turns: Frame) -> list[Result]:
    """The table `ri`: by agent, by model of a run, by persona of a run."""
    sums = _sums(turns)
    with_persona = [at for at, seat in enumerate(turns.seats) if seat.persona is not None]
    everyone = list(range(len(turns.seats)))
    return [
        *_level("agent", turns, sums, everyone, lambda seat: seat),
        *_level("run_model", turns, sums, everyone, lambda seat: (seat.phase, seat.set, seat.run, seat.model)),
        *_level("run_persona", turns, sums, with_persona, lambda seat: (seat.phase, seat.set, seat.run, seat.persona)),
    ]


def fading(turns: Frame, seed: str) -> list[Result]:
    """The table `ri_ext`: the slope of each model in each set, and how far it exceeds its null."""
    in_sets = turns.where(lambda seat: seat.set is not None)
    groups = in_sets.groups(lambda seat: (seat.set or "", seat.model))
    return [_fading(*key, group, seed) for key, group in groups.items()]


def test(turns: Frame, group: Group, seed: str) -> tuple[float | None, permutation.PermutationTest, tuple[str, ...]]:
    """Test RI* of models or personas over the agents of Sets A and B: statistic, test, runs.

    Labels are exchanged among the agents of a run that share the other factor, which then stays as the design has it.
    """
    chosen = turns.where(lambda seat: seat.set in {"A", "B"} and seat.persona is not None)
    rituals, valid = chosen.tally(chosen.ritual), chosen.tally(chosen.valid)
    kept = np.flatnonzero(valid)
    agents = [
        Rate(seat.run, seat.model, seat.persona or "", rituals[at] / valid[at])
        for at, seat in enumerate(chosen.seats)
        if valid[at]
    ]
    statistic, tested = exchanged(agents, group, stream(seed, f"ri_star:{group}"))
    return statistic, tested, tuple(sorted({chosen.seats[at].run for at in kept}))


def exchanged(
    agents: Sequence[Rate], group: Group, generator: np.random.Generator
) -> tuple[float | None, permutation.PermutationTest]:
    """The test of a factor over agents' RI*; None where there are not two groups."""
    exchange = exchange_of(agents, group)
    if exchange.empty:
        return None, permutation.PermutationTest(None, None)
    return exchange.test(np.array([agent.ri_star for agent in agents], dtype=np.float64), generator)


def exchange_of(agents: Sequence[Rate], group: Group) -> permutation.Exchange:
    """The arrangements of a factor's labels, whatever the agents' RI*."""
    other: Group = "persona" if group == "model" else "model"
    return permutation.Exchange(
        [agent.run for agent in agents],
        [getattr(agent, other) for agent in agents],
        [getattr(agent, group) for agent in agents],
    )


def slope(histories: list[Bools]) -> float | None:
    """Β of agents' histories of rituals; agents whose history never varies are dropped."""
    kept = [history for history in histories if varies(history)]
    if not kept:
        return None
    y, there = logit.padded(kept)
    return number(logit.slopes(y[None], there)[0])


def varies(history: Bools) -> bool:
    """Whether an agent's history holds both a ritual and its absence."""
    return bool(history.any() and not history.all())


def _sums(turns: Frame) -> dict[str, Integers]:
    success = turns.instrumental & turns.success
    return {
        "t_valid": turns.tally(turns.valid),
        "a_success": turns.tally(success),
        "ritual": turns.tally(turns.ritual),
        "ritual_infeasible": turns.tally(turns.instrumental & ~turns.success),
        "feasible_a": turns.tally(_possible(turns)),
    }


def _possible(turns: Frame) -> Bools:
    return turns.valid & (turns.feasible[:, TRADE] | turns.feasible[:, SUPPORT])


def _level(
    level: Level, turns: Frame, sums: dict[str, Integers], chosen: list[int], key: Callable[[Seat], object]
) -> list[Result]:
    groups: dict[Any, list[int]] = {}
    for at in chosen:
        groups.setdefault(key(turns.seats[at]), []).append(at)
    return [
        _row(level, turns.seats[seats[0]], {name: int(values[seats].sum()) for name, values in sums.items()})
        for seats in groups.values()
    ]


def _row(level: Level, seat: Seat, counted: dict[str, int]) -> Result:
    return Result(
        {
            "level": level,
            "phase": seat.phase,
            "set": seat.set,
            "run": seat.run,
            "model": None if level == "run_persona" else seat.model,
            "language": seat.language,
            "persona": None if level == "run_model" else seat.persona,
            "agent": seat.agent if level == "agent" else None,
            **counted,
            "ri_seed": ratio(counted["ritual"], counted["a_success"]),
            "degenerate_by_design": seat.phase == "phase2",
            "ri_star": ratio(counted["ritual"], counted["t_valid"]),
            "ri_opp": ratio(counted["ritual"], counted["feasible_a"]),
        },
        runs=(seat.run,),
        n=counted["t_valid"],
        unit="turn",
    )


def _fading(set_: str, model: str, group: Frame, seed: str) -> Result:
    possible = _possible(group)
    histories = {seat: group.ritual[possible & (group.seat == at)] for at, seat in enumerate(group.seats)}
    kept = {seat: history for seat, history in histories.items() if varies(history)}
    beta = slope(list(kept.values()))
    left_out = [
        value
        for run in (group.runs if len(group.runs) > 1 else ())
        if (value := slope([history for seat, history in kept.items() if seat.run != run])) is not None
    ]
    centre, excess, p = beyond(beta, list(kept.values()), stream(seed, "ri_ext", set_, model))
    return Result(
        {
            "set": set_,
            "model": model,
            "agents": len(group.seats),
            "agents_kept": len(kept),
            "beta": beta,
            "beta_loro_min": min(left_out, default=None),
            "beta_loro_max": max(left_out, default=None),
            "beta_null": centre,
            "beta_excess": excess,
            "p_perm": p,
        },
        runs=group.runs,
        n=sum(len(history) for history in kept.values()),
        unit="turn",
    )


def beyond(
    beta: float | None, kept: Sequence[Bools], generator: np.random.Generator
) -> tuple[float | None, float | None, float | None]:
    """The null's mean, how far β exceeds it, and the two-sided p of that distance."""
    null = np.empty(0) if beta is None else _null(kept, generator)
    if beta is None or null.size == 0:
        return None, None, None
    centre = float(null.mean())
    return centre, beta - centre, permutation.drawn_p(np.abs(null - centre), abs(beta - centre))


def _null(kept: Sequence[Bools], generator: np.random.Generator) -> Floats:
    """Β of histories rotated by random offsets: what follows on what stays, only where it began is chance."""
    y, there = logit.padded(list(kept))
    drawn = np.zeros((PERMUTATIONS, *y.shape), dtype=np.bool_)
    for at, history in enumerate(kept):
        offsets = generator.integers(0, len(history), PERMUTATIONS)
        turned = (np.arange(len(history)) + offsets[:, None]) % len(history)
        drawn[:, at, : len(history)] = history[turned]
    values = logit.slopes(drawn, there)
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)
