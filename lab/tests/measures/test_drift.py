from itertools import product
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from playmolt_agora.measures import drift
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.divergence import count_jsd
from playmolt_schemas.instrument import definitions
from playmolt_schemas.stored.agora.turn import ACTIONS


def of_persona(turns, seed):
    return [SimpleNamespace(**each.row) for each in drift.of_persona(turns, seed)]


FIRST, LATER = (8, 1, 7, 1, 2, 1), (7, 1, 2, 1, 4, 5)


@pytest.mark.parametrize(
    ("turns", "windows"), [(100, 4), (110, 4), (112, 4), (113, 5), (200, 8), (25, 2), (1, 2), (37, 2), (62, 2), (63, 3)]
)
def test_windows_of_25_turns_half_up_at_least_two(turns, windows):
    assert definitions.windows(turns) == windows


@pytest.mark.parametrize(("turns", "size"), [(100, 25), (130, 26)])
def test_no_window_is_short(turn, turns, size):
    played = frame([turn(turn=at, turns_planned=turns) for at in range(1, turns + 1)])
    assert drift.by_window(played).sum(axis=1).tolist() == [size] * (turns // size)


def two_windows(turn, first=FIRST, later=LATER, **key):
    acts = [action for row in (first, later) for action, count in zip(ACTIONS, row, strict=True) for _ in range(count)]
    return [turn(turn=at, action=action, turns_planned=len(acts), **key) for at, action in enumerate(acts, 1)]


def exact_null(first, later):
    """The mean, the 95 % point and the p of all ways to split the actions of both windows into two of this size."""
    totals = [a + b for a, b in zip(first, later, strict=True)]
    splits = np.array([split for split in product(*(range(t + 1) for t in totals)) if sum(split) == sum(first)])
    ways = np.array([np.prod([comb(t, int(s)) for t, s in zip(totals, split, strict=True)]) for split in splits], float)
    values, weights = count_jsd(splits, np.array(totals) - splits, 0.5), ways / ways.sum()
    order = np.argsort(values)
    point = values[order][np.searchsorted(np.cumsum(weights[order]), 0.95)]
    p = weights[values >= count_jsd(first, later, 0.5) - 1e-12].sum()
    return weights @ values, point, p


def test_what_looks_like_drift_and_is_not(turn):
    mean, point, p = exact_null(FIRST, LATER)
    assert (mean, p) == (pytest.approx(0.0684, abs=5e-5), pytest.approx(0.2519, abs=5e-5))
    assert point == pytest.approx(0.145, abs=5e-4)
    window = of_persona(frame(two_windows(turn)), "seed")[1]
    assert window.id_raw == pytest.approx(0.0892, abs=5e-5)
    assert (window.h, window.h_norm) == (pytest.approx(2.4392, abs=5e-5), pytest.approx(0.9436, abs=5e-5))
    assert window.id_null == pytest.approx(mean, abs=0.01)
    assert window.id_excess == pytest.approx(0.0208, abs=0.01)


def test_the_first_window_has_not_drifted(turn):
    window = of_persona(frame(two_windows(turn)), "seed")[0]
    assert (window.n, window.id_raw, window.id_null, window.id_excess) == (20, 0.0, 0.0, 0.0)
    assert window.h == pytest.approx(2.2197, abs=5e-5)


def test_another_character_in_the_second_window_is_drift(turn):
    window = of_persona(frame(two_windows(turn, (20, 0, 0, 0, 0, 0), (0, 20, 0, 0, 0, 0))), "seed")[1]
    assert window.id_excess > 0.4


def test_both_agents_of_a_persona_are_pooled_but_never_mixed(turn):
    calm = two_windows(turn, (20, 0, 0, 0, 0, 0), (20, 0, 0, 0, 0, 0), agent="agent_01")
    busy = two_windows(turn, (0, 20, 0, 0, 0, 0), (0, 20, 0, 0, 0, 0), agent="agent_02")
    windows = of_persona(frame(calm + busy), "seed")
    assert [window.n for window in windows] == [40, 40]
    # Each agent's own actions are all alike: no rearrangement of them can differ from another.
    assert windows[1].id_null == pytest.approx(0, abs=1e-12)


def test_a_window_without_valid_turns_is_null(turn):
    silent = [
        {**record, "parse_code": "timeout", "action": None, "action_base": None} for record in two_windows(turn)[20:]
    ]
    rows = [each.row for each in drift.rows(frame(two_windows(turn)[:20] + silent), "seed")]
    assert rows[1]["n"] == 0
    assert {rows[1][name] for name in ("h", "h_norm", "id_raw", "id_null", "id_excess")} == {None}
    assert rows[0]["id_excess"] == 0.0


def test_a_silent_first_window_leaves_nothing_to_drift_from(turn):
    silent = [
        {**record, "parse_code": "timeout", "action": None, "action_base": None} for record in two_windows(turn)[:20]
    ]
    window = of_persona(frame(silent + two_windows(turn)[20:]), "seed")[1]
    assert (window.id_raw, window.id_null, window.id_excess) == (None, None, None)
    assert window.h_norm == pytest.approx(0.9436, abs=5e-5)


def test_rows_name_persona_and_condition_and_order_does_not_matter(turn):
    records = two_windows(turn) + two_windows(turn, run="run-2", persona=None, persona_condition="no_persona", set="C")
    rows = [each.row for each in drift.rows(frame(records), "seed")]
    assert [(row["run"], row["persona"], row["condition"], row["window"]) for row in rows] == [
        ("run-1", "merchant", "with_persona", 1),
        ("run-1", "merchant", "with_persona", 2),
        ("run-2", None, "no_persona", 1),
        ("run-2", None, "no_persona", 2),
    ]
    assert [each.row for each in drift.rows(frame(records[::-1]), "seed")] == rows


def test_only_phase_2_drifts(turn):
    assert drift.rows(frame(two_windows(turn, phase="phase1", set=None)), "seed") == []


def test_pictures_of_entropy(turn):
    turns = frame(two_windows(turn))
    rolling = [each.row for each in drift.rolling(turns)]
    assert [row["first_turn"] for row in rolling] == [1, 6, 11, 16, 21]
    assert rolling[0]["h_norm"] == pytest.approx(0.8587, abs=5e-5)
    assert [each.row["h_norm"] for each in drift.by_model(turns)] == pytest.approx([0.8587, 0.9436], abs=5e-5)
