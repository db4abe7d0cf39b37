"""Exact and Monte Carlo tests (`measures.md`, sections 0, 3, 5 and 7).

Exact tests count the observed arrangement and take ties within 1e-12 as reached; beyond 50,000 arrangements 10,000 are
drawn and p = (1 + hits) / (1 + draws). Exchanges inside strata are exact up to 300,000.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations, permutations, product
from math import comb, factorial, prod
from typing import Final, NamedTuple

import numpy as np
from playmolt_schemas.instrument.definitions import DRAWS, EXACT_EXCHANGES, EXACT_LIMIT, TIE

from playmolt_agora.measures.divergence import Floats, Integers
from playmolt_agora.measures.inference import attainable_p

_PIECES: Final = 20
"""Drawn arrangements of many agents are laid out piece by piece."""


class Test(NamedTuple):
    """A statistic, its p, and how many arrangements there are; None where the data give none."""

    statistic: float | None = None
    p: float | None = None
    labelings: int | None = None

    def without_p(self) -> "Test":
        """The same for runs that do not differ: a test would only count them."""
        return self._replace(p=None)


def exact_p(values: Floats, observed: float) -> float:
    """Share of all arrangements that are at least as large as the observed one."""
    return float(np.count_nonzero(values >= observed - TIE) / values.size)


def drawn_p(values: Floats, observed: float) -> float:
    """Monte Carlo p of drawn arrangements."""
    return float((1 + np.count_nonzero(values >= observed - TIE)) / (1 + values.size))


def members(size: int, chosen: int, generator: np.random.Generator) -> tuple[Floats, bool]:
    """Who is in the first arm, 0 or 1, (arrangements, size), and whether these are all arrangements, not drawn."""
    total = comb(size, chosen)
    if total <= EXACT_LIMIT:
        places = np.array(list(combinations(range(size), chosen)), dtype=np.int64).reshape(total, chosen)
    else:
        places = np.argsort(generator.random((DRAWS, size)), axis=1)[:, :chosen]
    inside = np.zeros((len(places), size))
    np.put_along_axis(inside, places, 1.0, axis=1)
    return inside, total <= EXACT_LIMIT


def relabelled(
    first: Floats, second: Floats, statistic: Callable[[Floats, Floats], Floats], generator: np.random.Generator
) -> tuple[Floats, bool]:
    """A statistic of two arms of runs under every labelling of the runs, or drawn ones, and whether it is every one."""
    rows = np.concatenate([first, second])
    inside, complete = members(len(rows), len(first), generator)
    return statistic(inside @ rows, (1 - inside) @ rows), complete


def two_arms(
    strata: Sequence[tuple[Floats, Floats]],
    statistic: Callable[[Floats, Floats], Floats],
    generator: np.random.Generator,
) -> Test:
    """Test the sum over strata of a statistic of two arms of runs by permuting run labels inside each stratum.

    A stratum is its arms' rows, (runs, K); the statistic takes the summed rows, (arrangements, K), of both arms.
    """
    if not strata or any(min(len(first), len(second)) == 0 for first, second in strata):
        return Test()
    count = prod(comb(len(first) + len(second), len(first)) for first, second in strata)
    observed = sum(float(statistic(first.sum(axis=0)[None], second.sum(axis=0)[None])[0]) for first, second in strata)
    found = [relabelled(first, second, statistic, generator) for first, second in strata]
    exact = all(complete for _, complete in found)
    return Test(observed, _p_of_sums([values for values, _ in found], observed, generator, exact=exact), count)


def sign_flips(differences: Floats, generator: np.random.Generator, *, two_sided: bool = False) -> Test:
    """Test that differences lie above 0, or away from it: their signs are flipped in every way, or drawn."""
    n = differences.size
    if n == 0:
        return Test()
    exact = 2**n <= EXACT_LIMIT
    signs = np.array(list(product((1.0, -1.0), repeat=n))) if exact else generator.choice((1.0, -1.0), size=(DRAWS, n))
    means, mean = signs @ differences / n, float(differences.mean())
    values, observed = (np.abs(means), abs(mean)) if two_sided else (means, mean)
    return Test(mean, (exact_p if exact else drawn_p)(values, observed), 2**n)


class Exchange:
    """Labels of groups exchanged inside strata: which arrangements there are, for any values of the agents.

    The statistic is the sum over groups of squared distances of the group's mean over runs (of its mean in each run it
    is in) from the mean of all these run means. It is linear in the values but for the squares, so that the runs are
    laid out in two halves and each pair of half arrangements is one product.
    """

    def __init__(self, runs: Sequence[str], strata: Sequence[Hashable], groups: Sequence[str]) -> None:
        """One entry an agent: its run, its stratum inside the run, and the group whose labels are exchanged."""
        self._names = sorted(set(groups))
        self._own = np.array([self._names.index(group) for group in groups], dtype=np.int64)
        places: dict[str, dict[Hashable, list[int]]] = {}
        for at, (run, stratum) in enumerate(zip(runs, strata, strict=True)):
            places.setdefault(run, {}).setdefault(stratum, []).append(at)
        self._runs = [list(inside.values()) for inside in places.values()]
        labels = [[groups[at] for at in stratum] for run in self._runs for stratum in run]
        self.labelings = attainable_p.exchanged(labels)[0]
        held = np.array([[group in self._own[_joined(run)] for group in range(len(self._names))] for run in self._runs])
        per_group, cells = held.sum(axis=0) if self._runs else np.zeros(0), int(held.sum())
        self._deviation = np.diag(1 / np.maximum(per_group, 1)) - (1 / max(cells, 1))
        self._arranged = sorted(map(self._arrangements, self._runs), key=len) if self.complete else []

    @property
    def complete(self) -> bool:
        """Whether every arrangement is looked at, none drawn."""
        return self.labelings <= EXACT_EXCHANGES

    @property
    def empty(self) -> bool:
        """Whether there are fewer than two groups to compare."""
        return len(self._names) < 2

    def statistic(self, values: Floats) -> float:
        labels = self._own[None]
        return float(np.square(self._deviations(self._runs, labels) @ values).sum(axis=1)[0])

    def test(self, values: Floats, generator: np.random.Generator) -> Test:
        """The statistic of agents' values and its p."""
        observed = self.statistic(values)
        if not self.complete:
            drawn = np.array_split(self._permuted(DRAWS, generator), _PIECES)
            found = [np.square(self._deviations(self._runs, each) @ values).sum(axis=1) for each in drawn]
            return Test(observed, drawn_p(np.concatenate(found), observed), self.labelings)
        one, two = (self._sums(self._arranged[half::2], values) for half in range(2))
        # |a + b|² = |a|² + 2ab + |b|² of every pair, as one product.
        left = np.column_stack([2 * one, np.square(one).sum(axis=1), np.ones(len(one))])
        right = np.column_stack([two, np.ones(len(two)), np.square(two).sum(axis=1)])
        reached = np.count_nonzero(left @ right.T >= observed - TIE)
        return Test(observed, float(reached / self.labelings), self.labelings)

    def drawn(self, count: int, generator: np.random.Generator) -> Floats:
        """Deviations of groups by agents under the observed labels, then under `count` drawn ones."""
        labels = np.concatenate([self._own[None], self._permuted(count, generator)])
        return self._deviations(self._runs, labels)

    def _permuted(self, count: int, generator: np.random.Generator) -> Integers:
        labels = np.tile(self._own, (count, 1))
        for stratum in (each for run in self._runs for each in run):
            labels[:, stratum] = generator.permuted(labels[:, stratum], axis=1)
        return labels

    def _arrangements(self, run: list[list[int]]) -> Floats:
        """The deviations that every arrangement of a run adds: (arrangements, groups, agents)."""
        labels = self._own[None]
        for stratum in run:
            orders = np.array(list(_orders(self._own[stratum].tolist())), dtype=np.int64)
            labels = np.repeat(labels, len(orders), axis=0)
            labels[:, stratum] = np.tile(orders, (len(labels) // len(orders), 1))
        return self._deviations([run], labels)

    def _sums(self, arranged: Sequence[Floats], values: Floats) -> Floats:
        """The deviations of groups under every arrangement of several runs: (arrangements, groups)."""
        total = np.zeros((1, len(self._names)))
        for run in arranged:
            total = (total[:, None] + run @ values).reshape(-1, len(self._names))
        return total

    def _deviations(self, runs: list[list[list[int]]], labels: Integers) -> Floats:
        """How the values of agents under these labels (arrangements, agents) add up to the groups' deviations."""
        total = np.zeros((len(labels), len(self._names), self._own.size))
        for run in runs:
            agents = _joined(run)
            member = labels[:, None, agents] == np.arange(len(self._names))[None, :, None]
            total[:, :, agents] = member / np.maximum(member.sum(axis=2, keepdims=True), 1)
        return np.asarray(np.einsum("gh,ahn->agn", self._deviation, total))


def _orders(labels: list[int]) -> Iterator[list[int]]:
    """Every distinct order of labels, which may repeat."""
    if not labels:
        yield []
    for first in sorted(set(labels)):
        rest = labels.copy()
        rest.remove(first)
        yield from ([first, *others] for others in _orders(rest))


def _joined(run: list[list[int]]) -> list[int]:
    return [at for stratum in run for at in stratum]


def _p_of_sums(parts: Sequence[Floats], observed: float, generator: np.random.Generator, *, exact: bool) -> float:
    """The p of a sum of independent parts, each with its values under every arrangement or drawn ones."""
    if not exact:
        drawn = [part if part.size == DRAWS else generator.choice(part, DRAWS) for part in parts]
        return drawn_p(np.sum(drawn, axis=0), observed)
    # The sums are never laid out: for each sum of the first parts the last is searched in its order.
    last = np.sort(parts[-1])
    sums = np.zeros(1)
    for part in parts[:-1]:
        sums = np.add.outer(sums, part).ravel()
    at_least = last.size - np.searchsorted(last, observed - TIE - sums, side="left")
    return float(at_least.sum() / (sums.size * last.size))


def page(ranked: Sequence[Floats], generator: np.random.Generator) -> Test:
    """Page's L of runs whose groups are ranked in the expected order, with its one-sided p under permuted ranks."""
    expected = np.arange(1, ranked[0].size + 1)
    observed = float(sum(ranked) @ expected)
    count = factorial(ranked[0].size) ** len(ranked)
    parts = [np.array(list(permutations(ranks)), dtype=np.float64) @ expected for ranks in ranked]
    return Test(observed, _p_of_sums(parts, observed, generator, exact=count <= EXACT_LIMIT), count)
