"""Seeds and orders of juries: reproducible, different, balanced, equal for the two of a pair."""

from collections import Counter

import pytest
from playmolt_jury.panels.order import order_of, seed_of


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7, 50])
@pytest.mark.parametrize("n", [2, 5, 20, 37])
def test_each_argument_is_equally_often_in_each_place(steps: int, n: int) -> None:
    orders = [order_of(3, number, steps) for number in range(1, n + 1)]
    assert all(sorted(order) == list(range(steps)) for order in orders)
    counts = Counter((place, step) for order in orders for place, step in enumerate(order))
    seen = [counts[place, step] for place in range(steps) for step in range(steps)]
    assert max(seen) - min(seen) <= 1


def test_orders_differ_between_blocks_and_plans() -> None:
    assert len({order_of(3, number, 4) for number in range(1, 41)}) > 10
    assert [order_of(3, n, 6) for n in range(1, 7)] != [order_of(4, n, 6) for n in range(1, 7)]


def test_seeds_are_different_and_reproducible() -> None:
    seeds = [seed_of(3, number) for number in range(1, 501)]
    assert len(set(seeds)) == 500
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert seeds == [seed_of(3, number) for number in range(1, 501)]
    assert seeds[0] != seed_of(4, 1)
