"""Exact and Monte Carlo tests (`measures.md`, sections 0, 3, 5 and 7).

Exact tests count the observed arrangement and take ties within 1e-12 as reached; beyond 50,000 arrangements 10,000 are
drawn and p = (1 + hits) / (1 + draws).
"""

from collections.abc import Callable, Sequence
from itertools import combinations, permutations, product
from math import comb, factorial, prod

import msgspec
import numpy as np

from playmolt_agora.measures.data.definitions import DRAWS, EXACT_LIMIT, TIE
from playmolt_agora.measures.divergence import Floats

Relabeling = tuple[Floats, Floats]


class Test(msgspec.Struct, frozen=True):
    """A p with the number of arrangements there are."""

    p: float | None
    labelings: int | None


def exact_p(values: Floats, observed: float) -> float:
    """Share of all arrangements that are at least as large as the observed one."""
    return float(np.count_nonzero(values >= observed - TIE) / values.size)


def drawn_p(values: Floats, observed: float) -> float:
    """Monte Carlo p of drawn arrangements."""
    return float((1 + np.count_nonzero(values >= observed - TIE)) / (1 + values.size))


def labelings(first: int, second: int) -> int:
    """Count the ways to label runs as two arms of these sizes."""
    return comb(first + second, first)


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


def two_arms(
    strata: Sequence[tuple[Floats, Floats]],
    statistic: Callable[[Floats, Floats], Floats],
    generator: np.random.Generator,
) -> Test:
    """Test the sum over strata of a statistic of two arms of runs by permuting run labels inside each stratum.

    A stratum is its arms' rows, (runs, K); the statistic takes the summed rows, (arrangements, K), of both arms.
    """
    if not strata or any(min(len(first), len(second)) == 0 for first, second in strata):
        return Test(None, None)
    count = prod(labelings(len(first), len(second)) for first, second in strata)
    observed = sum(float(statistic(first.sum(axis=0)[None], second.sum(axis=0)[None])[0]) for first, second in strata)
    parts: list[Floats] = []
    exact = True
    for first, second in strata:
        rows = np.concatenate([first, second])
        inside, complete = members(len(rows), len(first), generator)
        parts.append(statistic(inside @ rows, (1 - inside) @ rows))
        exact &= complete
    if exact:
        return Test(_at_least_share(parts, observed), count)
    drawn = [part if part.size == DRAWS else generator.choice(part, DRAWS) for part in parts]
    return Test(drawn_p(np.sum(drawn, axis=0), observed), count)


def sign_flips(differences: Floats, generator: np.random.Generator) -> Test:
    """One-sided test that differences lie above 0: their signs are flipped in every way."""
    n = differences.size
    if n == 0:
        return Test(None, None)
    if 2**n <= EXACT_LIMIT:
        signs = np.array(list(product((1.0, -1.0), repeat=n)))
        return Test(exact_p(signs @ differences / n, float(differences.mean())), 2**n)
    signs = generator.choice((1.0, -1.0), size=(DRAWS, n))
    return Test(drawn_p(signs @ differences / n, float(differences.mean())), 2**n)


def within_rows(values: Floats, generator: np.random.Generator) -> tuple[float | None, Test]:
    """Test that groups (columns) differ by permuting the values of each run (row) among the groups it has.

    NaN: the run lacks the group. The statistic, given first, is the sum over groups of squared distances of the
    group's mean over runs from the mean of all values.
    """
    rows = [row for row in values if np.count_nonzero(~np.isnan(row))]
    if not rows or len({at for row in rows for at in np.flatnonzero(~np.isnan(row))}) < 2:
        return None, Test(None, None)
    table = np.array(rows)
    per_group = np.count_nonzero(~np.isnan(table), axis=0)
    centre = float(np.nanmean(table))

    def statistic(sums: Floats) -> Floats:
        means = np.divide(sums, per_group, out=np.full_like(sums, centre), where=per_group > 0)
        return np.asarray(((means - centre) ** 2).sum(axis=-1))

    observed = float(statistic(np.nansum(table, axis=0)))
    count = prod(factorial(int(np.count_nonzero(~np.isnan(row)))) for row in rows)
    if count <= EXACT_LIMIT:
        return observed, Test(exact_p(statistic(_all_sums(rows)), observed), count)
    return observed, Test(drawn_p(statistic(_drawn_sums(rows, generator)), observed), count)


def _at_least_share(parts: list[Floats], observed: float) -> float:
    # The sums over strata are never laid out: for each sum of the first strata the last is searched in its order.
    last = np.sort(parts[-1])
    sums = np.zeros(1)
    for part in parts[:-1]:
        sums = np.add.outer(sums, part).ravel()
    at_least = last.size - np.searchsorted(last, observed - TIE - sums, side="left")
    return float(at_least.sum() / (sums.size * last.size))


def _all_sums(rows: Sequence[Floats]) -> Floats:
    sums = np.zeros((1, rows[0].size))
    for row in rows:
        present = np.flatnonzero(~np.isnan(row))
        orders = np.array(list(permutations(row[present])))
        laid = np.zeros((len(orders), row.size))
        laid[:, present] = orders
        sums = (sums[:, None] + laid[None]).reshape(-1, row.size)
    return sums


def _drawn_sums(rows: Sequence[Floats], generator: np.random.Generator) -> Floats:
    sums = np.zeros((DRAWS, rows[0].size))
    for row in rows:
        present = np.flatnonzero(~np.isnan(row))
        sums[:, present] += generator.permuted(np.tile(row[present], (DRAWS, 1)), axis=1)
    return sums


def page(ranked: Sequence[Floats], generator: np.random.Generator) -> tuple[float, Test]:
    """Page's L of runs whose groups are ranked in the expected order, with its one-sided p under permuted ranks."""
    expected = np.arange(1, ranked[0].size + 1)
    observed = float(sum(ranked) @ expected)
    count = factorial(ranked[0].size) ** len(ranked)
    if count <= EXACT_LIMIT:
        return observed, Test(exact_p(_all_sums(ranked) @ expected, observed), count)
    return observed, Test(drawn_p(_drawn_sums(ranked, generator) @ expected, observed), count)
