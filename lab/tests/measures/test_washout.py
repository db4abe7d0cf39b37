from itertools import combinations

import numpy as np
import pytest
from playmolt_agora.measures import washout
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.divergence import count_jsd


def agents(turns, counts, number, **key):
    return [
        record
        for at in range(number)
        for record in turns(list(counts), agent=f"agent_{at:02}", turns_planned=2 * sum(counts), **key)
    ]


def off(turns, counts, number):
    return agents(turns, counts, number, run="off", set="C", persona=None, persona_condition="no_persona")


def test_counts_with_and_without_the_persona():
    assert count_jsd((6, 28, 9, 2, 3, 2), (50, 24, 30, 12, 20, 14), 0.5) == pytest.approx(0.1315, abs=5e-5)


def test_a_persona_that_shows(turns):
    records = agents(turns, (3, 14, 5, 1, 1, 1), 2) + off(turns, (8, 4, 5, 2, 3, 2), 6)
    row = washout.rows(frame(records), "seed")[0].row
    assert (row["language"], row["model"], row["persona"], row["window"]) == ("ko", "E", "merchant", 1)
    assert (row["n_on"], row["n_off"]) == (50, 144)
    assert row["pw"] == pytest.approx(count_jsd((6, 28, 10, 2, 2, 2), (48, 24, 30, 12, 18, 12), 0.5), abs=1e-12)
    assert row["pw_excess"] == pytest.approx(row["pw"] - row["pw_null"], abs=1e-12)
    assert row["pw_excess"] > 0.05


def test_the_null_is_the_mean_over_all_28_relabelings():
    on, without = np.zeros((2, 1, 6)), np.zeros((6, 1, 6))
    on[:, 0, 0] = without[:, 0, 1] = 10
    observed, null = washout.divergences(on, without, np.random.default_rng(1))
    ones, total = np.array([2, 1, 0]), 28
    by_ones = [
        count_jsd((10 * k, 10 * (2 - k), 0, 0, 0, 0), (10 * (2 - k), 10 * (4 + k), 0, 0, 0, 0), 0.5) for k in ones
    ]
    assert null[0] == pytest.approx(np.dot(by_ones, [1, 12, 15]) / total, abs=1e-12)
    assert observed[0] == pytest.approx(by_ones[0], abs=1e-12)


def test_alike_with_and_without_is_washed_out(turns):
    records = agents(turns, (5, 5, 5, 5, 5, 5), 2) + off(turns, (5, 5, 5, 5, 5, 5), 6)
    row = washout.rows(frame(records), "seed")[0].row
    assert (row["pw"], row["pw_excess"]) == (pytest.approx(0, abs=1e-3), pytest.approx(0, abs=1e-12))


def test_without_the_other_condition_or_a_window_it_is_null(turns):
    alone = washout.rows(frame(agents(turns, (5, 5, 5, 5, 5, 5), 2)), "seed")[0].row
    assert (alone["n_off"], alone["pw"], alone["pw_null"], alone["pw_excess"]) == (0, None, None, None)
    records = agents(turns, (5, 5, 5, 5, 5, 5), 2) + off(turns, (5, 5, 5, 5, 5, 5), 6)
    last = washout.rows(frame(records), "seed")[-1].row
    assert (last["n_on"], last["n_off"], last["pw"]) == (0, 0, None)


def test_languages_are_apart(turns):
    records = agents(turns, (5, 0, 0, 0, 0, 0), 2, language="en") + off(turns, (5, 0, 0, 0, 0, 0), 6)
    assert {each.row["pw"] for each in washout.rows(frame(records), "seed")} == {None}


def listed(on, off):
    """The mean over relabelings that are laid out one by one."""
    counts = np.concatenate([on, off])
    values = []
    for first in combinations(range(len(counts)), len(on)):
        inside = np.isin(np.arange(len(counts)), first)
        one, other = counts[inside].sum(axis=0), counts[~inside].sum(axis=0)
        empty = (one.sum(axis=-1) == 0) | (other.sum(axis=-1) == 0)
        values.append(np.where(empty, np.nan, count_jsd(one, other, 0.5)))
    return np.nanmean(values, axis=0)


@pytest.mark.parametrize(("first", "second"), [(2, 6), (4, 3), (3, 3), (5, 2), (6, 8)])
def test_the_null_is_exact_whatever_agents_did(first, second):
    generator = np.random.default_rng(first)
    on, without = (generator.integers(0, 6, (size, 3, 6)).astype(float) for size in (first, second))
    # Of the last window few have a turn, so that some relabelings leave a side without any.
    on[1:, 2] = without[1:, 2] = 0
    observed, null = washout.divergences(on, without, np.random.default_rng(1))
    assert not np.isnan(observed).any()
    assert null == pytest.approx(listed(on, without), abs=1e-12)


def test_more_relabelings_than_a_test_would_list_need_no_draw():
    counts = np.random.default_rng(4).multinomial(25, [0.3, 0.1, 0.2, 0.1, 0.2, 0.1], (24, 4)).astype(float)
    nulls = [washout.divergences(counts[:6], counts[6:], np.random.default_rng(seed))[1] for seed in (1, 2)]
    assert (nulls[0] == nulls[1]).all()


def test_of_very_many_agents_the_null_is_drawn():
    counts = np.random.default_rng(4).multinomial(25, [0.3, 0.1, 0.2, 0.1, 0.2, 0.1], (300, 1)).astype(float)
    counts[::2] += np.random.default_rng(5).integers(0, 9, counts[::2].shape)
    drawn = [washout.divergences(counts[:100], counts[100:], np.random.default_rng(seed))[1][0] for seed in (1, 2)]
    assert drawn[0] == pytest.approx(drawn[1], rel=0.05)
    assert drawn[0] != drawn[1]
