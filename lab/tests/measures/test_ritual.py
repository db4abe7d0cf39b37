import itertools
import statistics

import numpy as np
import pytest
from playmolt_agora.measures import descriptive, ritual
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
    row = only(descriptive.rituals(frame(small_log)))
    assert (row["ritual"], row["ritual_infeasible"], row["a_success"], row["feasible_a"]) == (4, 1, 4, 10)
    assert (row["ri_seed"], row["ri_star"], row["ri_opp"]) == (1, pytest.approx(4 / 13, abs=1e-12), 0.4)
    assert row["degenerate_by_design"] is True


def test_what_was_feasible_in_a_world_of_ones_own_counts_by_its_base(turn):
    own = {"feasible_actions": ("reap", "idle"), "feasible_base": ("trade", "idle"), "fn_class": "A"}
    log = [turn(turn=at, action="reap", action_base="trade", **own) for at in (1, 2)]
    log += [turn(turn=3, action="idle", feasible_actions=("idle",), feasible_base=None)]
    assert only(descriptive.rituals(frame(log)))["feasible_a"] == 2
    shares = {row["action"]: row["q"] for row in (each.row for each in descriptive.shares(frame(log), "agent"))}
    assert (shares["trade"], shares["idle"], shares["speak"]) == (1.0, pytest.approx(1 / 3), None)


def test_a_merchant_and_a_jester_differ_in_ri_star_alone(turn):
    busy = only(descriptive.rituals(frame(merchant(turn, 40, 10, 95))))
    assert (busy["ri_seed"], busy["ri_star"], busy["ri_opp"]) == (1.0, 0.5, pytest.approx(0.526, abs=5e-4))
    wild = only(descriptive.rituals(frame(merchant(turn, 5, 0, 95))))
    assert (wild["ri_seed"], wild["ri_star"]) == (1.0, 0.05)


def test_an_act_that_changed_something_is_not_a_ritual(turn):
    key = {"phase": "phase1", "set": None, "others_here": ("agent_01",)}
    acts = [
        turn(turn=1, action="support", null_effect=False, **key),
        turn(turn=2, action="trade", place_before="market", **key),
    ]
    row = only(descriptive.rituals(frame(acts)))
    assert (row["ritual"], row["a_success"], row["ri_seed"], row["degenerate_by_design"]) == (1, 2, 0.5, False)


def test_no_successful_act_and_no_valid_turn_are_null(turn):
    assert only(descriptive.rituals(frame([turn()])))["ri_seed"] is None
    row = only(descriptive.rituals(frame([turn(parse_code="refusal")])))
    assert (row["ri_star"], row["ri_opp"]) == (None, None)


def test_rows_by_model_and_by_persona_of_a_run(turn):
    records = [
        turn(agent="agent_01", model="E", persona="merchant", action="trade", place_before="market"),
        turn(agent="agent_02", model="M", persona="merchant"),
        turn(agent="agent_03", model="E", persona="jester"),
        turn(agent="agent_04", model="E", persona=None),
    ]
    rows = [each.row for each in descriptive.rituals(frame(records))]
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


GOLDEN = (("x", "E", 1), ("x", "M", 2), ("y", "M", 4), ("y", "H", 8), ("z", "H", 16), ("z", "E", 32))


def written_out(runs):
    """The test of model by listing every arrangement: labels change places inside a stratum of a run."""

    def statistic(arranged):
        names = sorted({model for run in arranged for _, model, _ in run})
        cells = {
            (at, name): statistics.mean(value for _, model, value in run if model == name)
            for at, run in enumerate(arranged)
            for name in names
            if any(model == name for _, model, _ in run)
        }
        grand = statistics.mean(cells.values())
        means = [statistics.mean(value for (_, model), value in cells.items() if model == name) for name in names]
        return sum((mean - grand) ** 2 for mean in means)

    def arranged(run):
        strata = [[row for row in run if row[0] == name] for name in sorted({row[0] for row in run})]
        for chosen in itertools.product(*(sorted(set(itertools.permutations(row[1] for row in s))) for s in strata)):
            yield [
                (row[0], label, row[2])
                for stratum, labels in zip(strata, chosen, strict=True)
                for row, label in zip(stratum, labels, strict=True)
            ]

    every = [statistic(each) for each in itertools.product(*map(arranged, runs))]
    observed = statistic(runs)
    return observed, sum(value >= observed - 1e-12 for value in every) / len(every), len(every)


def agents(runs):
    return [
        ritual.Rate(f"run-{at}", model, persona, value) for at, run in enumerate(runs) for persona, model, value in run
    ]


@pytest.mark.parametrize(("runs", "p"), [(1, 5 / 8), (2, 23 / 64)])
def test_labels_are_exchanged_inside_strata(runs, p):
    observed, written, count = written_out([GOLDEN] * runs)
    assert written == pytest.approx(p, abs=1e-12)
    found = ritual.exchanged(agents([GOLDEN] * runs), "model", np.random.default_rng(1))
    assert found == (pytest.approx(observed, abs=1e-9), pytest.approx(p, abs=1e-12), count)


@pytest.mark.parametrize("seed", range(6))
def test_uneven_designs_agree_with_the_list_of_all_arrangements(seed):
    generator = np.random.default_rng(seed)
    runs = [
        [
            (str(generator.choice(["x", "y"])), str(generator.choice(["E", "M", "H"])), float(generator.integers(9)))
            for _ in range(5)
        ]
        for _ in range(2)
    ]
    statistic, p, count = written_out(runs)
    found = ritual.exchanged(agents(runs), "model", np.random.default_rng(1))
    assert found == (pytest.approx(statistic, abs=1e-9), pytest.approx(p, abs=1e-12), count)


def test_six_runs_of_the_white_room_are_enumerated_and_seven_drawn():
    generator = np.random.default_rng(5)
    runs = [[(*row[:2], row[2] + generator.normal()) for row in GOLDEN] for _ in range(7)]
    six = ritual.exchanged(agents(runs[:6]), "model", np.random.default_rng(1))
    assert (six.labelings, round(six.p * 8**6, 6) % 1) == (8**6, 0)
    seven = ritual.exchanged(agents(runs), "model", np.random.default_rng(1))
    assert seven.labelings == 8**7
    hits = seven.p * 10_001
    assert hits == pytest.approx(round(hits), abs=1e-9)
    assert seven.statistic > 0


def test_many_agents_of_one_label_are_one_arrangement():
    alike = [("x", "E", float(at)) for at in range(30)]
    found = ritual.exchanged(agents([[*alike, ("y", "E", 1.0), ("y", "M", 2.0)]]), "model", np.random.default_rng(1))
    assert found.labelings == 2


def test_one_group_has_nothing_to_differ_from():
    alone = ritual.exchanged(agents([[("x", "E", 1.0), ("y", "E", 2.0)]]), "model", np.random.default_rng(1))
    assert alone == permutation.Test()
    assert ritual.exchanged([], "model", np.random.default_rng(1)) == permutation.Test()


def test_models_and_personas_of_the_runs_of_sets_a_and_b(turn):
    seats = [("merchant", "E", 1), ("merchant", "M", 2), ("jester", "M", 2), ("jester", "H", 4)]
    records = [
        turn(
            turn=at, run=f"run-{run}", set="AB"[run % 2], agent=f"{persona}-{model}", model=model, persona=persona,
            place_before="market", action="trade" if at <= rituals else "idle",
        )
        for run in range(4)
        for persona, model, rituals in seats
        for at in range(1, 6)
    ]  # fmt: skip
    others = [{**record, "set": "C", "run": "other"} for record in records]
    silent = {"parse_code": "timeout", "agent": "silent", "persona": "merchant", "model": "E"}
    unheard = [turn(run="run-1", **silent)]
    for factor, other in (("model", 0), ("persona", 1)):
        rows = [(seat[other], seat[1 - other], seat[2] / 5) for seat in seats]
        statistic, p, count = written_out([rows] * 4)
        tested, runs = ritual.test(frame(records + others + unheard), factor, "seed")
        assert tested == (pytest.approx(statistic, abs=1e-12), pytest.approx(p, abs=1e-12), count)
        assert runs == ("run-0", "run-1", "run-2", "run-3")


def test_a_difference_of_the_other_factor_does_not_hide_one(turn):
    """Personas are .15 apart and the models .1, in three runs without noise."""
    shift = {"x": -0.15, "y": 0.0, "z": 0.15}
    effect = {"E": 0.0, "M": 0.1, "H": 0.2}
    runs = [[(row[0], row[1], 0.3 + shift[row[0]] + effect[row[1]]) for row in GOLDEN]] * 3
    tested = ritual.exchanged(agents(runs), "model", np.random.default_rng(1))
    assert tested.p == pytest.approx(5 / 8**3, abs=1e-12)


def test_the_null_rotates_each_history():
    kept = [X, np.roll(Y, 3), X[:9]]
    beta, centre, excess, p = ritual.ri_ext(kept, np.random.default_rng(2))
    generator = np.random.default_rng(2)
    offsets = [generator.integers(0, len(history), 500) for history in kept]
    null = np.array(
        [
            ritual.slope([np.roll(history, -int(own[draw])) for history, own in zip(kept, offsets, strict=True)])
            for draw in range(500)
        ],
        dtype=float,
    )
    null = null[~np.isnan(null)]
    assert centre == pytest.approx(null.mean(), abs=1e-6)
    assert (beta, excess) == (ritual.slope(kept), pytest.approx(beta - null.mean(), abs=1e-6))
    reached = abs(null - null.mean()) >= abs(beta - null.mean()) - 1e-9
    assert p == pytest.approx((1 + reached.sum()) / (1 + len(null)), abs=1e-12)
