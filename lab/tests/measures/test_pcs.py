import statistics
from itertools import combinations

import numpy as np
import pytest
from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.divergence import count_jsd, jsd_parts, shares
from playmolt_agora.measures.inference import arms, attainable_p, permutation, resampling
from playmolt_schemas.stored.agora.turn import ACTIONS
from scipy import stats
from scipy.spatial import distance

STAGE1 = ((2, 11, 5, 1, 1, 0), (3, 9, 5, 1, 0, 2), (1, 12, 4, 1, 1, 1), (2, 10, 6, 0, 0, 2), (2, 10, 5, 1, 1, 1))
PHASE1 = ((16, 0, 12, 4, 0, 1), (15, 0, 13, 4, 0, 1), (16, 0, 12, 4, 1, 1))
POOLED = ((10, 52, 25, 4, 3, 6), (47, 0, 37, 12, 1, 3))


def arm(name, runs):
    return arms.Arm(tuple(f"{name}/{at}" for at in range(len(runs))), np.array(runs, dtype=float))


def intervals(*given):
    """(model, language) → both ends, None where there are none."""
    found = {(each.model, each.language): (each.low, each.high) for each in pcs.intervals(*given)}
    return {key: None if ends == (None, None) else tuple(map(float, ends)) for key, ends in found.items()}


@pytest.fixture
def cell():
    return arms.PcsCell(arm("stage1", STAGE1), arm("phase1", PHASE1), "E", "ko")


@pytest.fixture
def study(turns):
    """The runs of the golden example as turn records."""

    def build(**changed):
        records = []
        for phase, runs in (("stage1", STAGE1), ("phase1", PHASE1)):
            for number, counts in enumerate(runs):
                key = {"phase": phase, "set": None, "cell": f"{phase}/E/ko", "run": f"{phase}/{number}"}
                records += turns(list(counts), **{**key, **changed})
        return records

    return build


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, 0.3850), (0.5, 0.3548)])
def test_divergence_of_pooled_counts(alpha, expected):
    assert count_jsd(*POOLED, alpha) == pytest.approx(expected, abs=5e-5)


def test_in_nats_and_as_a_distance(cell):
    assert cell.divergence * np.log(2) == pytest.approx(0.2459, abs=5e-5)
    assert cell.divergence**0.5 == pytest.approx(0.5956, abs=5e-5)


def test_what_each_action_adds():
    parts = jsd_parts(*(shares(counts, 0.5) for counts in POOLED))
    # The page prints support as .0080, its four digits cut off; .00805 is what the formula gives.
    assert list(parts) == pytest.approx([0.0894, 0.2375, 0.00805, 0.0137, 0.0029, 0.0032], abs=5e-5)
    assert parts.sum() == pytest.approx(count_jsd(*POOLED, 0.5), abs=1e-12)


def test_runs_left_out_one_by_one(cell):
    values = [value for _, _, value in cell.named_left_out()]
    assert values == pytest.approx([0.3528, 0.3722, 0.3341, 0.3541, 0.3561, 0.3424, 0.3457, 0.3512], abs=5e-5)


def written_out(first, second, alpha):
    """Divergence by scipy's distance, squared; each run left out by hand."""
    p, q = (np.sum(side, axis=0) + alpha for side in (first, second))
    return distance.jensenshannon(p / p.sum(), q / q.sum(), base=2) ** 2


def jackknifed(arms, statistic, value):
    """Bias, error and Welch's degrees of freedom of a statistic of arms of runs, from the textbook."""
    bias, parts, frees = 0.0, [], []
    for at, arm in enumerate(arms):
        n = len(arm)
        without = [statistic([*arms[:at], [*arm[:run], *arm[run + 1 :]], *arms[at + 1 :]]) for run in range(n)]
        bias += (n - 1) * (statistics.mean(without) - value)
        parts.append((n - 1) ** 2 / n * statistics.variance(without))
        frees.append(n - 1)
    error = sum(parts) ** 0.5
    freedom = sum(parts) ** 2 / sum(part**2 / free for part, free in zip(parts, frees, strict=True))
    return value - bias, error, freedom


def test_the_interval_over_runs(cell):
    centre, error, freedom = jackknifed(
        [STAGE1, PHASE1], lambda arms: written_out(*arms, 0.5), written_out(STAGE1, PHASE1, 0.5)
    )
    low, high = stats.t.interval(0.95, freedom, loc=centre, scale=error)
    span = cell.interval()
    assert (span.low, span.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
    assert span.indicative
    assert 0 < span.low < cell.divergence < span.high < 1


def test_an_interval_ends_where_a_divergence_can():
    same = [[30, 30, 1, 1, 1, 1], [20, 40, 1, 1, 1, 1], [45, 15, 1, 1, 1, 1]]
    span = arms.TwoArms(arm("s", same), arm("p", same[::-1])).interval()
    assert span.low == 0.0
    apart = arms.TwoArms(arm("s", [[700, 0], [500, 0], [900, 0]]), arm("p", [[1, 650], [0, 700], [40, 900]]))
    assert apart.interval().high == 1.0


def test_runs_that_are_all_alike_have_no_interval_and_no_p():
    cell = arms.TwoArms(arm("s", [[300, 300]] * 3), arm("p", [[150, 450]] * 3))
    assert cell.interval() == resampling.Interval(None, None, True)
    assert cell.test(np.random.default_rng(0))[0][1:] == (None, 20)
    assert arms.test([cell], np.random.default_rng(0))[1:] == (None, 20)
    other = arms.TwoArms(arm("s", [[300, 300]] * 3), arm("p", [[100, 500]] * 3))
    found = arms.difference(cell, other)
    assert (found.delta < 0, found.ci_lo, found.ci_hi, found.p) == (True, None, None, None)


def test_no_interval_below_three_runs_an_arm():
    two = arms.TwoArms(arm("s", STAGE1), arm("p", PHASE1[:2]))
    assert two.interval() == resampling.Interval(None, None, True)


def test_the_floor_is_the_mean_over_all_labelings(cell):
    runs = [*STAGE1, *PHASE1]
    null = [
        written_out([runs[at] for at in chosen], [run for at, run in enumerate(runs) if at not in chosen], 0.5)
        for chosen in combinations(range(8), 5)
    ]
    tested, floor = cell.test(np.random.default_rng(1))
    assert floor == pytest.approx(statistics.mean(null), abs=1e-12)
    assert tested == (cell.divergence, 1 / 56, 56)


def test_floors(cell):
    assert arms.floor_runs(cell.first, 0.5) == pytest.approx(0.0226, abs=5e-5)
    assert arms.floor_runs(cell.second, 0.5) == pytest.approx(0.0038, abs=5e-5)
    assert arms.floor_runs(arm("x", STAGE1[:1]), 0.5) is None


@pytest.mark.parametrize(("n", "floor"), [(50, 0.0361), (100, 0.0180), (600, 0.0030), (1800, 0.0010)])
def test_floor_of_independent_turns(n, floor):
    assert arms.floor_iid(n, n) == pytest.approx(floor, abs=5e-5)


@pytest.mark.parametrize(
    ("strata", "labelings", "smallest"),
    [
        ([(3, 3)], 20, 2 / 20),
        ([(4, 3)], 35, 1 / 35),
        ([(5, 3)], 56, 1 / 56),
        ([(6, 3)], 84, 1 / 84),
        ([(7, 3)], 120, 1 / 120),
        ([(5, 5)], 252, 2 / 252),
        ([(3, 3)] * 2, 400, 4 / 400),
        ([(5, 3)] * 2, 3136, 1 / 3136),
    ],
)
def test_smallest_p_is_what_disjoint_arms_reach(strata, labelings, smallest):
    assert attainable_p.relabelled(strata)[1] == pytest.approx(smallest, abs=1e-12)
    rows = [(np.eye(6)[[0] * first] * 9, np.eye(6)[[1] * second] * 9) for first, second in strata]
    found = permutation.two_arms(rows, lambda p, q: count_jsd(p, q, 0.5), np.random.default_rng(1))
    assert found[1:] == (pytest.approx(smallest, abs=1e-12), labelings)


def test_the_cells_row(study):
    row = pcs.row(pcs.cells(frame(study()))[0], "seed").row
    assert row["alpha"] == 0.5
    assert (row["pcs"], row["distance"]) == (pytest.approx(0.3548, abs=5e-5), pytest.approx(0.5956, abs=5e-5))
    assert (row["n_stage1"], row["n_phase1"], row["runs_stage1"], row["runs_phase1"]) == (100, 100, 5, 3)
    assert (row["p_perm"], row["p_min"], row["labelings"]) == (pytest.approx(1 / 56), pytest.approx(1 / 56), 56)
    assert (row["loro_min"], row["loro_max"]) == (pytest.approx(0.3341, abs=5e-5), pytest.approx(0.3722, abs=5e-5))
    assert row["floor_iid"] == pytest.approx(0.0180, abs=5e-5)
    assert sum(row[f"contrib_{action}"] for action in ACTIONS) == pytest.approx(row["pcs"], abs=1e-12)
    assert row["indicative"] is True


def test_languages_are_strata_of_a_models_test(study):
    records = study() + [{**record, "language": "en", "run": record["run"] + "/en"} for record in study()]
    tested = arms.test(pcs.cells(frame(records)), np.random.default_rng(0))
    assert tested == (pytest.approx(2 * 0.3548, abs=1e-4), pytest.approx(1 / 3136, abs=1e-12), 3136)


def test_a_missing_arm_leaves_nothing_to_compare(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    row = pcs.row(pcs.cells(frame(alone))[0], "seed").row
    assert (row["n_phase1"], row["runs_stage1"]) == (100, 0)
    assert {row[name] for name in ("pcs", "alpha", "ci_lo", "p_perm", "pcs_agent", "contrib_idle")} == {None}
    assert row["floor_phase1"] == pytest.approx(0.0038, abs=5e-5)
    assert arms.test(pcs.cells(frame(alone)), np.random.default_rng(0)) == permutation.Test()


def test_one_run_an_arm_can_neither_be_left_out_nor_tested(turns):
    records = [
        record
        for phase, counts in (("stage1", [5, 5, 0, 0, 0, 0]), ("phase1", [9, 0, 0, 0, 0, 1]))
        for record in turns(counts, phase=phase, set=None, run=phase)
    ]
    row = pcs.row(pcs.cells(frame(records))[0], "seed").row
    assert (row["loro_min"], row["floor_stage1"]) == (None, None)
    assert (row["labelings"], row["p_perm"], row["p_min"]) == (2, 1.0, 1.0)
    assert (row["ci_lo"], row["ci_hi"]) == (None, None)


def test_agents_weigh_the_same_however_long_they_lived(turns):
    key = {"phase": "stage1", "set": None, "run": "s"}
    records = turns([90, 0, 0, 0, 0, 0], agent="a", **key) + turns([0, 10, 0, 0, 0, 0], agent="b", **key)
    records += turns([1, 1, 0, 0, 0, 0], phase="phase1", set=None, run="p")
    records += [{**records[0], "agent": "silent", "parse_code": "timeout", "action": None, "action_base": None}]
    row = pcs.row(pcs.cells(frame(records))[0], "seed").row
    assert row["pcs_agent"] == pytest.approx(0, abs=1e-12)
    assert row["pcs"] > 0.05


def test_early_takes_ten_epochs(turns, turn):
    same = [turn(turn=at, phase=phase, set=None, run=phase) for phase in ("stage1", "phase1") for at in range(1, 11)]
    later = [turn(turn=at, phase="phase1", set=None, run="phase1", action="speak") for at in range(11, 21)]
    row = pcs.row(pcs.cells(frame(same + later))[0], "seed").row
    assert row["pcs_early"] == pytest.approx(0, abs=1e-12)
    assert row["pcs"] > 0.1


PLACES1 = {"plaza": (6, 0, 10, 0, 2, 2), "market": (4, 52, 10, 0, 1, 3), "alley": (0, 0, 5, 4, 0, 1)}
PLACES2 = {"plaza": (30, 0, 20, 0, 1, 2), "market": (5, 0, 7, 0, 0, 0), "alley": (12, 0, 10, 12, 0, 1)}


def test_divergence_within_places_and_of_places(turns):
    sides = zip(PLACES1.values(), PLACES2.values(), strict=True)
    each = [arms.TwoArms(*(arms.counted_arm([side]) for side in both)).divergence for both in sides]
    assert each == pytest.approx([0.0671, 0.4488, 0.1296], abs=5e-5)
    records = []
    for phase, places in (("stage1", PLACES1), ("phase1", PLACES2)):
        for place, counts in places.items():
            here = "alley_b" if place == "alley" else place
            records += turns(list(counts), phase=phase, set=None, run=phase, place_before=here)
    row = pcs.row(pcs.cells(frame(records))[0], "seed").row
    assert row["pcs_within"] == pytest.approx(0.2377, abs=5e-5)
    assert row["pcs_within_coverage"] == pytest.approx(1, abs=1e-12)
    assert row["pcs_place"] == pytest.approx(0.2726, abs=5e-5)


def test_places_of_one_arm_alone_are_not_covered():
    value, coverage = pcs.within([[10, 0], [10, 0]], [[10, 0], [0, 0]])
    assert value == pytest.approx(0, abs=1e-12)
    assert coverage == pytest.approx(0.75, abs=1e-12)
    assert pcs.within([[1, 0], [0, 0]], [[0, 0], [1, 0]]) == (None, 0.0)
    assert pcs.within([[0, 0]], [[1, 0]]) == (None, None)


IMPORTED = [
    {"run": f"elsewhere/{number}", "model": "E", "language": "ko", "action": action, "count": count}
    for number, counts in enumerate(STAGE1)
    for action, count in zip(ACTIONS, counts, strict=True)
]


def test_an_imported_run_without_a_turn_is_not_a_run(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    empty = [{**row, "run": "stage1/9", "count": 0} for row in IMPORTED if row["run"].endswith("0")]
    with_it, without = (pcs.cells(frame(alone), rows)[0] for rows in ([*IMPORTED, *empty], IMPORTED))
    assert with_it.first.runs == without.first.runs
    assert pcs.row(with_it, "seed") == pcs.row(without, "seed")
    (nothing,) = pcs.cells(frame(alone), empty)
    assert (nothing.empty, nothing.first.runs) == (True, ())


def test_imported_counts_stand_in_for_stage_1(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    row = pcs.row(pcs.cells(frame(alone), IMPORTED)[0], "seed").row
    assert row["pcs"] == pytest.approx(0.3548, abs=5e-5)
    assert row["p_perm"] == pytest.approx(1 / 56, abs=1e-12)
    assert (row["pcs_agent"], row["pcs_within"]) == (None, None)


def test_runs_with_real_costs_are_an_arm_of_their_own(study, turns):
    real = turns([10, 52, 25, 4, 3, 6], phase="phase1", set=None, run="real", cell="phase1_costs_real/E/ko")
    turns_ = frame(study() + real)
    assert pcs.cells(turns_)[0].second.n == 100
    assert pcs.pure(turns_)[0].row["pcs_pure"] == pytest.approx(0.3548, abs=5e-5)


def test_models_are_compared_by_the_difference_of_their_divergence(study):
    level = [
        {**record, "model": "M", "run": f"{record['run']}/M", "action": "idle", "action_base": "idle"}
        for record in study()
    ]
    rows = pcs.differences(pcs.cells(frame(study() + level)))
    row = rows[0].row
    assert (row["model_a"], row["model_b"], row["language"]) == ("E", "M", "ko")
    assert row["delta"] == pytest.approx(0.3548, abs=5e-5)
    idle = [[[0, 0, 0, 0, 0, sum(run)] for run in side] for side in (STAGE1, PHASE1)]
    centre, error, freedom = jackknifed(
        [STAGE1, PHASE1, *idle], lambda arms: written_out(*arms[:2], 0.5) - written_out(*arms[2:], 0.5), row["delta"]
    )
    low, high = stats.t.interval(0.95, freedom, loc=centre, scale=error)
    assert (row["ci_lo"], row["ci_hi"]) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
    assert row["p"] == row["p_holm"] == pytest.approx(2 * stats.t.sf(centre / error, freedom), abs=1e-12)


def test_pairs_of_models_are_corrected_within_a_language(study):
    records = [
        {**record, "model": model, "language": language, "run": f"{record['run']}/{model}/{language}"}
        for model in "EMH"
        for language in ("ko", "en")
        for record in study()
        if model == "E" or record["turn"] % (3 if model == "M" else 4)
    ]
    rows = [each.row for each in pcs.differences(pcs.cells(frame(records)))]
    assert len(rows) == 6
    for language in ("ko", "en"):
        found = [row for row in rows if row["language"] == language]
        smallest = min(row["p"] for row in found)
        assert min(row["p_holm"] for row in found) == pytest.approx(min(1, 3 * smallest), abs=1e-12)


def test_adaptive_sampling_looks_at_the_interval_of_the_row(study):
    row = pcs.row(pcs.cells(frame(study()))[0], "seed").row
    assert intervals(study(), "pcs", "seed") == {("E", "ko"): pytest.approx((row["ci_lo"], row["ci_hi"]), abs=5e-7)}
    alone = [record for record in study() if record["phase"] == "phase1"]
    assert intervals(alone, "pcs", "seed") == {("E", "ko"): None}
    assert intervals(alone, "pcs", "seed", IMPORTED) == intervals(study(), "pcs", "seed")


def test_adaptive_sampling_of_a_share_looks_at_phase_1_alone(study):
    low, high = intervals(study(), "p:speak", "seed")["E", "ko"]
    assert low <= 47 / 100 <= high
    alone = [record for record in study() if record["phase"] == "phase1"]
    assert intervals(alone, "p:speak", "seed") == {("E", "ko"): (low, high)}


@pytest.mark.parametrize(("measure", "fewest"), [("pcs", 3), ("p:speak", 2)])
def test_too_few_runs_have_no_interval_to_be_narrow(study, measure, fewest):
    runs = sorted({record["run"] for record in study() if record["phase"] == "phase1"})

    def of(count):
        return [record for record in study() if record["phase"] != "phase1" or record["run"] in runs[:count]]

    assert intervals(of(fewest - 1), measure, "seed") == {("E", "ko"): None}
    assert intervals(of(fewest), measure, "seed")[("E", "ko")] is not None
