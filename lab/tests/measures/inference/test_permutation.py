import numpy as np
import pytest
from playmolt_agora.measures.divergence import count_jsd
from playmolt_agora.measures.inference import permutation


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([0.08, 0.05, 0.11, 0.02, 0.09, 0.04], 1 / 64),
        ([0.08, 0.05, 0.11, -0.02, 0.09, 0.04], 2 / 64),
        ([0.3, 0.2, 0.1], 1 / 8),
    ],
)
def test_signs_flipped_in_every_way(differences, p):
    tested = permutation.sign_flips(np.array(differences), np.random.default_rng(1))
    assert tested == (pytest.approx(np.mean(differences)), pytest.approx(p, abs=1e-12), 2 ** len(differences))


def test_signs_are_drawn_where_they_are_too_many():
    tested = permutation.sign_flips(np.full(20, 0.1), np.random.default_rng(1))
    assert tested == (pytest.approx(0.1), pytest.approx(1 / 10_001), 2**20)
    assert permutation.sign_flips(np.empty(0), np.random.default_rng(1)) == permutation.Test()


def test_labels_are_drawn_where_they_are_too_many():
    rows = np.eye(6)[[0] * 12] * 9, np.eye(6)[[1] * 12] * 9
    tested = permutation.two_arms([rows], lambda p, q: count_jsd(p, q, 0.5), np.random.default_rng(1))
    assert tested[1:] == (pytest.approx(1 / 10_001), 2_704_156)


def test_pages_l():
    ranked = [np.array([1.0, 2.0, 3.0])] * 3
    assert permutation.page(ranked, np.random.default_rng(1)) == (42.0, pytest.approx(1 / 216), 216)
