from itertools import starmap

import numpy as np
import pytest
from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.divergence import count_jsd, jsd_parts, shares
from playmolt_agora.measures.inference import attainable_p, bootstrap, permutation
from playmolt_agora.measures.inference.sampling import intervals
from playmolt_schemas.agora.turn import ACTIONS

STAGE1 = ((2, 11, 5, 1, 1, 0), (3, 9, 5, 1, 0, 2), (1, 12, 4, 1, 1, 1), (2, 10, 6, 0, 0, 2), (2, 10, 5, 1, 1, 1))
PHASE1 = ((16, 0, 12, 4, 0, 1), (15, 0, 13, 4, 0, 1), (16, 0, 12, 4, 1, 1))
POOLED = ((10, 52, 25, 4, 3, 6), (47, 0, 37, 12, 1, 3))


def arm(name, runs):
    return pcs.Arm(tuple(f"{name}/{at}" for at in range(len(runs))), np.array(runs, dtype=float))


@pytest.fixture
def cell():
    return pcs.Cell("E", "ko", arm("stage1", STAGE1), arm("phase1", PHASE1))


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
    assert cell.pcs * np.log(2) == pytest.approx(0.2459, abs=5e-5)
    assert cell.pcs**0.5 == pytest.approx(0.5956, abs=5e-5)


def test_what_each_action_adds():
    parts = jsd_parts(*(shares(counts, 0.5) for counts in POOLED))
    # The page prints support as .0080, its four digits cut off; .00805 is what the formula gives.
    assert list(parts) == pytest.approx([0.0894, 0.2375, 0.00805, 0.0137, 0.0029, 0.0032], abs=5e-5)
    assert parts.sum() == pytest.approx(count_jsd(*POOLED, 0.5), abs=1e-12)


def test_runs_left_out_one_by_one(cell):
    values = [value for _, _, value in cell.left_out()]
    assert values == pytest.approx([0.3528, 0.3722, 0.3341, 0.3541, 0.3561, 0.3424, 0.3457, 0.3512], abs=5e-5)


def test_the_interval_over_runs(cell):
    span = bootstrap.interval(cell.replicates(np.random.Generator(np.random.PCG64(12345))), 5, 3)
    assert (span.low, span.high) == (pytest.approx(0.317, abs=0.01), pytest.approx(0.405, abs=0.01))
    assert span.indicative


def test_floors(cell):
    assert pcs.floor_runs(cell.stage1, 0.5) == pytest.approx(0.0226, abs=5e-5)
    assert pcs.floor_runs(cell.phase1, 0.5) == pytest.approx(0.0038, abs=5e-5)
    assert pcs.floor_runs(arm("x", STAGE1[:1]), 0.5) is None


@pytest.mark.parametrize(("n", "floor"), [(50, 0.0361), (100, 0.0180), (600, 0.0030), (1800, 0.0010)])
def test_floor_of_independent_turns(n, floor):
    assert pcs.floor_iid(n, n) == pytest.approx(floor, abs=5e-5)


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
    assert found == permutation.Test(pytest.approx(smallest, abs=1e-12), labelings)


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
    statistic, tested = pcs.test(pcs.cells(frame(records)), "seed")
    assert statistic == pytest.approx(2 * 0.3548, abs=1e-4)
    assert tested == permutation.Test(pytest.approx(1 / 3136, abs=1e-12), 3136)


def test_a_missing_arm_leaves_nothing_to_compare(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    row = pcs.row(pcs.cells(frame(alone))[0], "seed").row
    assert (row["n_phase1"], row["runs_stage1"]) == (100, 0)
    assert {row[name] for name in ("pcs", "alpha", "ci_lo", "p_perm", "pcs_agent", "contrib_idle")} == {None}
    assert row["floor_phase1"] == pytest.approx(0.0038, abs=5e-5)
    assert pcs.test(pcs.cells(frame(alone)), "seed") == (None, permutation.Test(None, None))


def test_one_run_an_arm_can_neither_be_left_out_nor_tested(turns):
    records = [
        record
        for phase, counts in (("stage1", [5, 5, 0, 0, 0, 0]), ("phase1", [9, 0, 0, 0, 0, 1]))
        for record in turns(counts, phase=phase, set=None, run=phase)
    ]
    row = pcs.row(pcs.cells(frame(records))[0], "seed").row
    assert (row["loro_min"], row["floor_stage1"]) == (None, None)
    assert (row["labelings"], row["p_perm"], row["p_min"]) == (2, 1.0, 1.0)
    assert row["ci_lo"] == row["ci_hi"] == pytest.approx(row["pcs"], abs=1e-12)


def test_agents_weigh_the_same_however_long_they_lived(turns):
    key = {"phase": "stage1", "set": None, "run": "s"}
    records = turns([90, 0, 0, 0, 0, 0], agent="a", **key) + turns([0, 10, 0, 0, 0, 0], agent="b", **key)
    records += turns([1, 1, 0, 0, 0, 0], phase="phase1", set=None, run="p")
    records += [{**records[0], "agent": "silent", "parse_code": "timeout", "action": None}]
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
    each = list(starmap(pcs.divergence, zip(PLACES1.values(), PLACES2.values(), strict=True)))
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


def test_an_imported_run_without_a_turn_is_no_run(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    empty = [{**row, "run": "stage1/9", "count": 0} for row in IMPORTED if row["run"].endswith("0")]
    with_it, without = (pcs.cells(frame(alone), rows)[0] for rows in ([*IMPORTED, *empty], IMPORTED))
    assert with_it.stage1.runs == without.stage1.runs
    assert pcs.row(with_it, "seed") == pcs.row(without, "seed")
    (nothing,) = pcs.cells(frame(alone), empty)
    assert (nothing.empty, nothing.stage1.runs) == (True, ())


def test_imported_counts_stand_in_for_stage_1(study):
    alone = [record for record in study() if record["phase"] == "phase1"]
    row = pcs.row(pcs.cells(frame(alone), IMPORTED)[0], "seed").row
    assert row["pcs"] == pytest.approx(0.3548, abs=5e-5)
    assert row["p_perm"] == pytest.approx(1 / 56, abs=1e-12)
    assert (row["pcs_agent"], row["pcs_within"]) == (None, None)


def test_runs_with_real_costs_are_an_arm_of_their_own(study, turns):
    real = turns([10, 52, 25, 4, 3, 6], phase="phase1", set=None, run="real", cell="phase1_costs_real/E/ko")
    turns_ = frame(study() + real)
    assert pcs.cells(turns_)[0].phase1.n == 100
    assert pcs.pure(turns_)[0].row["pcs_pure"] == pytest.approx(0.3548, abs=5e-5)


def test_models_are_compared_by_the_difference_of_their_divergence(study):
    level = [{**record, "model": "M", "run": f"{record['run']}/M", "action": "idle"} for record in study()]
    rows = pcs.differences(pcs.cells(frame(study() + level)), "seed")
    row = rows[0].row
    assert (row["model_a"], row["model_b"]) == ("E", "M")
    assert row["delta_pcs"] == pytest.approx(0.3548, abs=5e-5)
    assert 0.3 < row["ci_lo"] < row["delta_pcs"] < row["ci_hi"] < 0.42
    assert row["p"] == row["p_holm"] == pytest.approx(2 / 2001)


def test_adaptive_sampling_looks_at_the_interval_of_the_row(study):
    row = pcs.row(pcs.cells(frame(study()))[0], "seed").row
    assert intervals(study(), "pcs", "seed") == {("E", "ko"): (row["ci_lo"], row["ci_hi"])}
    alone = [record for record in study() if record["phase"] == "phase1"]
    assert intervals(alone, "pcs", "seed") == {("E", "ko"): None}
    assert intervals(alone, "pcs", "seed", IMPORTED) == intervals(study(), "pcs", "seed")


def test_adaptive_sampling_of_a_share_looks_at_phase_1_alone(study):
    low, high = intervals(study(), "p:speak", "seed")["E", "ko"]
    assert low <= 47 / 100 <= high
    alone = [record for record in study() if record["phase"] == "phase1"]
    assert intervals(alone, "p:speak", "seed") == {("E", "ko"): (low, high)}


@pytest.mark.parametrize("measure", ["pcs", "p:speak"])
def test_one_run_has_no_interval_to_be_narrow(study, measure):
    runs = sorted({record["run"] for record in study() if record["phase"] == "phase1"})
    one = [record for record in study() if record["phase"] != "phase1" or record["run"] == runs[0]]
    assert intervals(one, measure, "seed") == {("E", "ko"): None}
    two = [record for record in study() if record["phase"] != "phase1" or record["run"] in runs[:2]]
    assert intervals(two, measure, "seed")[("E", "ko")] is not None
