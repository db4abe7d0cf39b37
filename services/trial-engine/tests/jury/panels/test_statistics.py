"""Intervals, the paired test, its size and power: against enumeration from first principles, and known values."""

import math
from itertools import product

import pytest
from playmolt_jury.panels import statistics
from playmolt_jury.panels.statistics import (
    compared,
    detectable,
    mcnemar,
    mean_interval,
    ranked,
    rejection,
    smallest_p,
    speech_share,
    t_quantile,
    wilson,
)


@pytest.mark.parametrize(
    ("guilty", "n", "interval"),
    [(0, 5, (0.0, 0.4345)), (5, 5, (0.5655, 1.0)), (3, 10, (0.1078, 0.6032)), (250, 500, (0.4563, 0.5437))],
)
def test_shares_have_wilsons_interval(guilty: int, n: int, interval: tuple[float, float]) -> None:
    assert wilson(guilty, n) == pytest.approx(interval, abs=5e-5)


def test_an_empty_sample_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert mean_interval([]) == (None, None)


@pytest.mark.parametrize(
    ("degrees", "value"), [(1, 12.7062), (2, 4.30265), (3, 3.18245), (9, 2.26216), (30, 2.04227), (499, 1.96473)]
)
def test_students_quantile(degrees: int, value: float) -> None:
    assert t_quantile(degrees) == pytest.approx(value, abs=5e-6 * value)


def test_a_mean_has_students_interval_over_different_courses() -> None:
    mean, interval = mean_interval([("a", 1), ("b", 2), ("c", 6)])
    assert mean == 3
    assert interval == pytest.approx((3 - 4.302653 * math.sqrt(7 / 3), 3 + 4.302653 * math.sqrt(7 / 3)), abs=1e-5)


@pytest.mark.parametrize("rows", [[("a", 1), ("b", 3)], [("a", 1), ("b", 3), ("b", 3)], [("a", 2), ("b", 2), ("c", 2)]])
def test_a_mean_of_fewer_than_three_courses_or_of_equal_values_has_no_interval(rows: list[tuple[str, float]]) -> None:
    """Equal courses count once; faults.md row 26."""
    assert mean_interval(rows)[1] is None


def test_mcnemars_p_is_that_of_fair_coins() -> None:
    for n in range(1, 11):
        flips = [sum(each) for each in product((0, 1), repeat=n)]
        for a_only in range(n + 1):
            extreme = sum(min(each, n - each) <= min(a_only, n - a_only) for each in flips) / 2**n
            assert mcnemar(a_only, n - a_only) == pytest.approx(min(1.0, extreme), abs=1e-12)
    assert mcnemar(0, 0) == 1.0
    assert smallest_p(6) == pytest.approx(2 / 64)


@pytest.mark.parametrize("difference", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("pairs", [1, 5, 8, 13])
def test_size_and_power_are_those_of_all_tables(pairs: int, difference: float) -> None:
    high, low = 0.5 + difference / 2, 0.5 - difference / 2
    a_only, b_only = high * (1 - low), low * (1 - high)
    total = 0.0
    for a in range(pairs + 1):
        for b in range(pairs + 1 - a):
            rest = pairs - a - b
            ways = math.factorial(pairs) // (math.factorial(a) * math.factorial(b) * math.factorial(rest))
            if mcnemar(a, b) <= 0.05:
                total += ways * a_only**a * b_only**b * (1 - a_only - b_only) ** rest
    assert rejection(pairs, difference) == pytest.approx(total, abs=1e-12)


def test_the_size_never_exceeds_the_level() -> None:
    assert all(rejection(pairs, 0.0) <= 0.05 for pairs in (*range(1, 40), 100, 500))


@pytest.mark.parametrize("pairs", [10, 37, 100, 500])
def test_the_detectable_difference_is_the_first_with_power_point_eight(pairs: int) -> None:
    found = detectable(pairs)
    assert found is not None
    assert rejection(pairs, found) >= 0.8 > rejection(pairs, found - 0.001)


def test_too_few_pairs_detect_nothing() -> None:
    assert detectable(5) is None


def test_a_comparison_counts_pairs_that_differ() -> None:
    found = compared([(True, False)] * 8 + [(False, True)] + [(True, True)] * 11)
    assert (found.pairs, found.a_only, found.b_only, found.difference) == (20, 8, 1, pytest.approx(0.35))
    assert found.p == pytest.approx(20 / 512)
    assert found.p_min == pytest.approx(2 / 2**20)


def test_juries_that_cannot_differ_have_a_difference_but_no_test() -> None:
    found = compared([(True, False)] * 8, varies=False)
    assert (found.difference, found.p, found.p_min, found.size, found.power) == (1.0, None, None, None, None)
    assert compared([]).difference is None


def test_deliberations_share_is_of_all_movement() -> None:
    assert speech_share([(True, -3), (True, 1), (False, 4)]) == 0.5
    assert speech_share([(True, 0), (False, 0)]) is None


def test_ranks_are_by_size_without_sign() -> None:
    assert ranked({1: -7.0, 2: 2.0, 3: None, 4: 7.0, 5: 1.0}) == {1: 1, 2: 3, 3: None, 4: 1, 5: 4}


def test_statistics_import_no_numpy() -> None:
    assert not {"numpy", "scipy"} & set(vars(statistics))
