import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora.measures.divergence import (
    count_jsd,
    entropy,
    jsd,
    jsd_parts,
    miller_madow,
    normed_entropy,
    shares,
    smoothing,
)

counts = st.lists(st.integers(0, 60), min_size=6, max_size=6)
alphas = st.sampled_from([0.0, 0.5])
FIRST, LATER = (8, 1, 7, 1, 2, 1), (7, 1, 2, 1, 4, 5)


@settings(max_examples=100)
@given(counts.filter(any), counts.filter(any), alphas)
def test_symmetric_bounded_and_the_sum_of_its_parts(left, right, alpha):
    p, q = shares(left, alpha), shares(right, alpha)
    value = jsd(p, q)
    assert value == pytest.approx(jsd(q, p), abs=1e-12)
    assert 0 <= value <= 1
    assert jsd_parts(p, q).sum() == pytest.approx(value, abs=1e-12)
    assert value == pytest.approx(entropy((p + q) / 2) - entropy(p) / 2 - entropy(q) / 2, abs=1e-12)


@settings(max_examples=50)
@given(counts.filter(any), counts.filter(any), st.permutations(range(6)))
def test_the_order_of_actions_does_not_matter(left, right, order):
    moved = [count_jsd([row[at] for at in order], [other[at] for at in order], 0.5) for row, other in [(left, right)]]
    assert moved == [pytest.approx(count_jsd(left, right, 0.5), abs=1e-12)]


@settings(max_examples=50)
@given(st.lists(st.integers(1, 60), min_size=3, max_size=3), st.lists(st.integers(1, 60), min_size=3, max_size=3))
def test_disjoint_supports_differ_by_one(left, right):
    assert count_jsd([*left, 0, 0, 0], [0, 0, 0, *right], 0.0) == pytest.approx(1, abs=1e-12)


def test_no_counts_have_no_distribution_without_smoothing():
    assert np.isnan(shares([0] * 6, 0.0)).all()
    assert np.isnan(count_jsd([0] * 6, [1] * 6, 0.0))


@pytest.mark.parametrize(("n", "m", "alpha"), [(600, 600, 0.0), (599, 4000, 0.5), (100, 100, 0.5)])
def test_smoothing_ends_at_600_turns_on_both_sides(n, m, alpha):
    assert smoothing(n, m) == alpha


def test_entropy_with_miller_and_madows_correction():
    assert miller_madow(FIRST) == pytest.approx(2.2197, abs=5e-5)
    assert miller_madow(LATER) == pytest.approx(2.4392, abs=5e-5)
    assert normed_entropy(FIRST) == pytest.approx(0.8587, abs=5e-5)
    assert normed_entropy(LATER) == pytest.approx(0.9436, abs=5e-5)


def test_entropy_is_at_most_its_maximum_and_null_without_turns():
    assert normed_entropy([3] * 6) == 1.0
    assert np.isnan(miller_madow([0] * 6))
    assert np.isnan(normed_entropy([0] * 6))
