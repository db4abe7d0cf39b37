import numpy as np
import pytest
from playmolt_agora.measures import ritual
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.inference import permutation

X = np.array([int(digit) for digit in "1101101010010000"], dtype=bool)
Y = np.array([int(digit) for digit in "0101100101001010"], dtype=bool)


def only(results, level="agent"):
    return next(each.row for each in results if each.row["level"] == level)


def merchant(turn, trades, supports, feasible, total=100):
    for at in range(1, total + 1):
        place = {"place_before": "market"} if at <= feasible - supports else {}
        near = {"others_here": ("agent_01",)} if feasible - supports < at <= feasible else {}
        action = "trade" if at <= trades else "support" if near else "idle"
        yield turn(turn=at, action=action, **place, **near)


def test_the_small_log(small_log):
    row = only(ritual.rows(frame(small_log)))
    assert (row["ritual"], row["ritual_infeasible"], row["a_success"], row["feasible_a"]) == (4, 1, 4, 10)
    assert (row["ri_seed"], row["ri_star"], row["ri_opp"]) == (1, pytest.approx(4 / 13, abs=1e-12), 0.4)
    assert row["degenerate_by_design"] is True


def test_a_merchant_and_a_jester_differ_in_ri_star_alone(turn):
    busy = only(ritual.rows(frame(merchant(turn, 40, 10, 95))))
    assert (busy["ri_seed"], busy["ri_star"], busy["ri_opp"]) == (1.0, 0.5, pytest.approx(0.526, abs=5e-4))
    wild = only(ritual.rows(frame(merchant(turn, 5, 0, 95))))
    assert (wild["ri_seed"], wild["ri_star"]) == (1.0, 0.05)


def test_an_act_that_changed_something_is_no_ritual(turn):
    key = {"phase": "phase1", "set": None, "others_here": ("agent_01",)}
    acts = [
        turn(turn=1, action="support", null_effect=False, **key),
        turn(turn=2, action="trade", place_before="market", **key),
    ]
    row = only(ritual.rows(frame(acts)))
    assert (row["ritual"], row["a_success"], row["ri_seed"], row["degenerate_by_design"]) == (1, 2, 0.5, False)


def test_no_successful_act_and_no_valid_turn_are_null(turn):
    assert only(ritual.rows(frame([turn()])))["ri_seed"] is None
    row = only(ritual.rows(frame([turn(parse_code="refusal")])))
    assert (row["ri_star"], row["ri_opp"]) == (None, None)


def test_rows_by_model_and_by_persona_of_a_run(turn):
    records = [
        turn(agent="agent_01", model="E", persona="merchant", action="trade", place_before="market"),
        turn(agent="agent_02", model="M", persona="merchant"),
        turn(agent="agent_03", model="E", persona="jester"),
        turn(agent="agent_04", model="E", persona=None),
    ]
    rows = [each.row for each in ritual.rows(frame(records))]
    models = {row["model"]: row["ri_star"] for row in rows if row["level"] == "run_model"}
    personas = {row["persona"]: row["ri_star"] for row in rows if row["level"] == "run_persona"}
    assert models == {"E": pytest.approx(1 / 3, abs=1e-12), "M": 0.0}
    assert personas == {"jester": 0.0, "merchant": 0.5}


@pytest.mark.parametrize(
    ("histories", "slope"),
    [([X], -3.0357), ([X, Y], -1.2294), ([np.ones(3, dtype=bool), np.zeros(2, dtype=bool)], None), ([], None)],
)
def test_how_a_ritual_fades(histories, slope):
    assert ritual.slope(histories) == (None if slope is None else pytest.approx(slope, abs=5e-5))


def test_agents_that_never_vary_change_nothing():
    assert ritual.slope([X, np.ones(5, dtype=bool)]) == ritual.slope([X])


@pytest.mark.parametrize("history", ["111000", "10", "000001"])
def test_a_history_that_the_past_splits_or_that_has_no_past_is_null(history):
    assert ritual.slope([np.array([digit == "1" for digit in history])]) is None


def market(turn, history, **key):
    for at, acts in enumerate(history, 1):
        yield turn(turn=at, action="trade" if acts else "speak", place_before="market", **key)


def test_the_row_of_a_model_in_a_set(turn):
    records = [*market(turn, X, agent="x"), *market(turn, Y, agent="y"), *market(turn, [1, 1], agent="z")]
    row = ritual.fading(frame(records), "seed")[0].row
    assert (row["set"], row["model"], row["agents"], row["agents_kept"]) == ("A", "E", 3, 2)
    assert row["beta"] == pytest.approx(-1.2294, abs=5e-5)
    assert row["beta_excess"] == pytest.approx(row["beta"] - row["beta_null"], abs=1e-12)
    assert row["beta_null"] < 0
    assert 0 < row["p_perm"] <= 1
    assert (row["beta_loro_min"], row["beta_loro_max"]) == (None, None)


def test_runs_left_out_of_the_slope(turn):
    records = [*market(turn, X, run="run-1"), *market(turn, Y, run="run-2")]
    row = ritual.fading(frame(records), "seed")[0].row
    ends = sorted((ritual.slope([X]), ritual.slope([Y])))
    assert [row["beta_loro_min"], row["beta_loro_max"]] == pytest.approx(ends, abs=1e-9)


def test_the_null_leans_downwards_though_nothing_changes(turn):
    drawn = np.random.default_rng(3).random((40, 100)) < 0.1
    records = [each for at, history in enumerate(drawn) for each in market(turn, history, agent=f"agent_{at}")]
    row = ritual.fading(frame(records), "seed")[0].row
    assert row["beta_null"] == pytest.approx(-0.17, abs=0.1)
    assert row["p_perm"] > 0.01


def test_a_model_that_never_acts_for_gain_has_no_slope(turn):
    row = ritual.fading(frame([turn(turn=at) for at in range(1, 9)]), "seed")[0].row
    assert (row["agents"], row["agents_kept"]) == (1, 0)
    assert {row[name] for name in ("beta", "beta_null", "beta_excess", "p_perm")} == {None}


def test_three_runs_in_one_order():
    statistic, tested = permutation.within_rows(np.array([[1.0, 2.0, 4.0]] * 3), np.random.default_rng(1))
    assert tested == permutation.Test(pytest.approx(6 / 216, abs=1e-12), 216)
    assert statistic == pytest.approx(sum((value - 7 / 3) ** 2 for value in (1, 2, 4)), abs=1e-12)


def test_models_of_the_runs_of_sets_a_and_b(turn):
    records = [
        turn(turn=at, run=f"run-{run}", set="AB"[run % 2], agent=model, model=model, place_before="market", action=act)
        for run in range(4)
        for model, rituals in (("E", 1), ("M", 2), ("H", 4))
        for at in range(1, 6)
        for act in ["trade" if at <= rituals else "idle"]
    ]
    others = [{**record, "set": "C", "run": "other"} for record in records]
    _, tested, runs = ritual.test(frame(records + others), "model", "seed")
    assert tested == permutation.Test(pytest.approx(6**-3, abs=1e-12), 6**4)
    assert runs == ("run-0", "run-1", "run-2", "run-3")


def test_a_group_that_a_run_lacks_is_not_permuted_there():
    values = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 4.0]])
    _, tested = permutation.within_rows(values, np.random.default_rng(1))
    assert tested.labelings == 2 * 6
    nothing = np.array([[1.0, np.nan]])
    assert permutation.within_rows(nothing, np.random.default_rng(1)) == (None, permutation.Test(None, None))
