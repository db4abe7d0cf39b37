"""Acts for gain that gain nothing: the Ritual Index and whether it fades (`measures.md`, section 5)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from playmolt_schemas.instrument.definitions import PERMUTATIONS

from playmolt_agora.measures.data.frame import SUPPORT, TRADE, Bools, Frame
from playmolt_agora.measures.data.results import Result, number
from playmolt_agora.measures.divergence import Floats
from playmolt_agora.measures.inference import logit, permutation
from playmolt_agora.measures.inference.streams import stream

Group = Literal["model", "persona"]


class Rate(NamedTuple):
    """An agent's RI* in a run of Set A or B."""

    run: str
    model: str
    persona: str
    ri_star: float


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


def possible(turns: Frame) -> Bools:
    """The valid turns on which an act of class A was feasible."""
    return turns.valid & (turns.feasible[:, TRADE] | turns.feasible[:, SUPPORT])


def _fading(set_: str, model: str, group: Frame, seed: str) -> Result:
    could = possible(group)
    histories = {seat: group.ritual[could & (group.seat == at)] for at, seat in enumerate(group.seats)}
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
