import numpy as np
import pytest
from playmolt_agora.measures.inference import resampling
from playmolt_agora.measures.inference.streams import stream


@pytest.mark.parametrize(("first", "second"), [(5, 3), (1, 4), (3, 3), (7, 1), (2, 12)])
def test_a_replicate_draws_its_first_arm_then_its_second(first, second):
    left, right = resampling.resamples(stream("s", "pcs", "E"), first, second)
    generator = stream("s", "pcs", "E")
    for replicate in range(len(left)):
        assert left[replicate].tolist() == generator.integers(0, first, first).tolist()
        assert right[replicate].tolist() == generator.integers(0, second, second).tolist()
    assert len(left) == len(right) == 2000


def test_an_interval_by_linear_interpolation():
    span = resampling.bootstrapped(np.arange(101.0), 4)
    assert (span.low, span.high, span.indicative) == (2.5, 97.5, False)


def test_replicates_without_a_value_are_left_out():
    span = resampling.bootstrapped(np.array([np.nan, 1.0, 2.0]), 3)
    assert (span.low, span.high, span.indicative) == (pytest.approx(1.025), pytest.approx(1.975), True)
    assert resampling.bootstrapped(np.array([np.nan]), 4) == resampling.Interval(None, None, False)


@pytest.mark.parametrize("values", [[0.3, 0.3, 0.1 + 0.2], [np.nan, 1.0, 1.0], [0.0, 0.0]])
def test_replicates_that_do_not_differ_are_no_interval(values):
    assert resampling.bootstrapped(np.array(values), 4) == resampling.Interval(None, None, False)


def test_effect_size_is_null_below_three_runs_and_without_spread():
    assert resampling.effect_size(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])) == pytest.approx(1.0)
    assert np.isnan(resampling.effect_size(np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0])))
    assert np.isnan(resampling.effect_size(np.ones(3), np.zeros(3)))


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 7, 1e-9])
def test_a_spread_that_rounding_leaves_is_none(value):
    same, other = np.full(3, value), np.full(3, 2 * value)
    assert np.isnan(resampling.effect_size(same, other))
    drawn = resampling.effect_size(np.array([[value] * 3, [value, value, 2 * value]]), np.array([other, other]))
    assert np.isnan(drawn).tolist() == [True, False]
    assert abs(drawn[1]) < 10
