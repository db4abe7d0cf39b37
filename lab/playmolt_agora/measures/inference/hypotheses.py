"""H1 and H2 with runs as units (`measures.md`, section 7)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import polars as pl
from playmolt_schemas.instrument.definitions import LEVEL_MARGIN, TIE
from scipy.special import stdtr  # type: ignore[import-untyped]  # scipy ships no types

from playmolt_agora.measures import drift
from playmolt_agora.measures.data.frame import IN_SETS, pooled
from playmolt_agora.measures.data.results import Result, mean, number
from playmolt_agora.measures.divergence import Floats, normed_entropy
from playmolt_agora.measures.inference import permutation
from playmolt_agora.measures.inference.permutation import Test
from playmolt_agora.measures.inference.streams import stream

JESTER: Final = "jester"
ARCHIVIST: Final = "archivist"
MERCHANT: Final = "merchant"
PARTS: Final = ("H1a", "H1b", "H2a", "H2b")


class Figures(msgspec.Struct, frozen=True):
    """What the runs of Sets A and B say for each part, in their order; a run that says nothing is left out.

    `unadjusted` is the same without any model's mean subtracted. `rest` has H1b where each tenth of the draws of
    `id_null` is left out: (10, runs).
    """

    runs: tuple[str, ...]
    parts: dict[str, Floats]
    unadjusted: dict[str, Floats] = {}
    rest: Floats = np.empty((0, 0))


def figures(turns: pl.DataFrame, seed: str) -> Figures:
    """H1a and H2a as differences of entropy, H1b of slopes of excess drift, H2b as Jester's slope, by run."""
    inside = turns.filter(IN_SETS)
    agents, total = inside.partition_by("seat"), drift.longest(inside)
    if not agents:
        nothing: dict[str, Floats] = {part: np.empty(0) for part in PARTS}
        return Figures((), nothing, nothing)
    found = [drift.of_agent(own, seed, total) for own in agents]
    entropy, excess = np.array([own for own, _ in found]), np.stack([own for _, own in found], axis=1)
    design = Design([AgentOf(*own.select(AgentOf._fields).row(0)) for own in agents])
    parts = design.parts(entropy, excess)
    all_draws = {**parts, "H1b": parts["H1b"][0]}
    unadjusted = design.parts(entropy, excess[0], adjusted=False)
    return Figures(design.runs, present(all_draws), present(unadjusted), parts["H1b"][1:])


def tests(parts: Mapping[str, Floats], generator: Callable[[str], np.random.Generator]) -> dict[str, Test]:
    """Test parts of H1 and H2, each with its own draws: by sign flips, H2b by equivalence with 0.

    The statistic of each is its mean over runs.
    """
    return {
        part: Test(mean(values.tolist()), level_p(values))
        if part == "H2b"
        else permutation.sign_flips(values, generator(part))
        for part, values in parts.items()
    }


def larger(one: float | None, other: float | None) -> float | None:
    """The p of a hypothesis of two parts; None where a part has none."""
    return None if one is None or other is None else max(one, other)


def unadjusted(found: Figures, seed: str) -> list[Result]:
    """The four parts with no model's mean subtracted, descriptive: the table `unadjusted`."""
    rows = []
    for part, test in tests(found.unadjusted, lambda part: stream(seed, part)).items():
        n = found.unadjusted[part].size
        rows.append(Result({"test": part, **test._asdict(), "n": n}, runs=found.runs, n=n, unit="run"))
    return rows


def p_error(found: Figures, seed: str) -> float | None:
    """The Monte Carlo error that `id_null` leaves in the p of H1b: its jackknife over tenths of the draws."""
    values = [permutation.sign_flips(row[~np.isnan(row)], stream(seed, "H1b")).p for row in found.rest]
    if not values or None in values:
        return None
    drawn = np.array(values, dtype=np.float64)
    return float(np.sqrt((drawn.size - 1) * np.square(drawn - drawn.mean()).mean()))


class AgentOf(NamedTuple):
    """Where an agent of Set A or B plays and as whom."""

    set: str
    run: str
    model: str
    persona: str | None


class Design:
    """Which agents' windows go into which mean. Values are (…, agents, windows), NaN where there is none."""

    def __init__(self, agents: Sequence[AgentOf]) -> None:
        self.runs = tuple(sorted({agent.run for agent in agents}))
        peers = [[(one.set, one.model) == (other.set, other.model) for other in agents] for one in agents]
        self._peers = np.array(peers, dtype=np.float64).reshape(len(agents), len(agents))
        self._jesters, self._archivists = (
            np.array([[agent[1::2] == (run, name) for agent in agents] for run in self.runs], dtype=np.float64).reshape(
                len(self.runs), len(agents)
            )
            for name in (JESTER, ARCHIVIST)
        )

    def parts(self, entropy: Floats, excess: Floats, *, adjusted: bool = True) -> dict[str, Floats]:
        """H1a, H1b, H2a, H2b of each run: (…, runs), NaN where it says nothing.

        From each agent's window the mean of its model's agents in the set is subtracted, unless it is not `adjusted`;
        the Jester's slope stays.
        """
        own = entropy
        if adjusted:
            entropy, excess = (values - mean_of(self._peers, values) for values in (entropy, excess))
        wild, strict = (mean_of(side, entropy) for side in (self._jesters, self._archivists))
        drifting, staying = (mean_of(side, excess)[..., 1:] for side in (self._archivists, self._jesters))
        return {
            "H1a": (wild - strict)[..., 0] if entropy.shape[-1] else np.full(wild.shape[:-1], np.nan),
            "H1b": slopes(drifting) - slopes(staying),
            "H2a": _over_windows(wild) - _over_windows(strict),
            "H2b": mean_of(self._jesters, slopes(own)[..., None])[..., 0],
        }


def mean_of(members: Floats, values: Floats) -> Floats:
    """The means over members (groups, agents) of values (…, agents, windows), without those that have none."""
    there = ~np.isnan(values)
    total, count = members @ np.where(there, values, 0.0), members @ there
    return np.asarray(np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0))


def slopes(values: Floats) -> Floats:
    """Least-squares slopes over the last axis, windows; NaN for fewer than two windows with a value."""
    there = ~np.isnan(values)
    count = there.sum(axis=-1, keepdims=True)
    x = np.arange(values.shape[-1], dtype=np.float64)
    centred = np.where(there, x - np.divide((there * x).sum(axis=-1, keepdims=True), np.maximum(count, 1)), 0.0)
    above = (centred * np.where(there, values, 0.0)).sum(axis=-1)
    below = np.square(centred).sum(axis=-1)
    return np.asarray(np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0))


def _over_windows(values: Floats) -> Floats:
    return np.asarray(np.ma.masked_invalid(values).mean(axis=-1).filled(np.nan))


def present(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    """The parts without the runs that say nothing."""
    return {part: values[~np.isnan(values)] for part, values in parts.items()}


def level_p(slopes: Sequence[float] | Floats) -> float | None:
    """The larger p of two one-sided t tests of the mean slope against ±0.02 a window; None below two runs.

    None, too, for slopes without any spread: the runs do not differ.
    """
    values = np.asarray(slopes, dtype=np.float64)
    if values.size < 2:
        return None
    room = LEVEL_MARGIN - abs(float(values.mean()))
    error = float(values.std(ddof=1)) / values.size**0.5
    if error <= TIE * float(np.abs(values).max()):
        return None
    return float(stdtr(values.size - 1, -room / error))


def shared_models(turns: pl.DataFrame) -> list[Result]:
    """The table `shared_model`: models that play Jester and Archivist in one run, compared in the first window."""
    groups = turns.filter(IN_SETS).sort("run", "model", maintain_order=True).partition_by("run", "model", as_dict=True)
    rows = []
    for (run, model), group in groups.items():
        if {JESTER, ARCHIVIST} <= set(group["persona"]):
            first = [pooled(group.filter(persona=name, window=0)) for name in (JESTER, ARCHIVIST)]
            wild, strict = normed_entropy(first)
            row = {"run": run, "model": model, "contrast": number(wild - strict)}
            rows.append(Result(row, runs=(run,), n=int(sum(side.sum() for side in first)), unit="turn"))
    return rows


def merchant_between(turns: pl.DataFrame, seed: str) -> list[Result]:
    """Test by Page's L that mean entropy rises from Archivist over Merchant to Jester: the table `merchant`."""
    ranked: dict[str, Floats] = {}
    for (run,), group in (
        turns.filter(IN_SETS).sort("run", maintain_order=True).partition_by("run", as_dict=True).items()
    ):
        sides = [group.filter(persona=name) for name in (ARCHIVIST, MERCHANT, JESTER)]
        means = [mean(map(number, normed_entropy(drift.by_window(side)))) for side in sides]
        if None not in means:
            ranked[run] = pl.Series(means).rank().to_numpy()
    if not ranked:
        return []
    tested = permutation.page(list(ranked.values()), stream(seed, "merchant"))
    return [Result({**tested._asdict(), "n": len(ranked)}, runs=tuple(ranked), n=len(ranked), unit="run")]
