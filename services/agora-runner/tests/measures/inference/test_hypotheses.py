import numpy as np
import pytest
from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.inference import confirmatory, hypotheses
from playmolt_schemas.agora.turn import ACTIONS

SLOPES = [0.004, -0.006, 0.010, 0.001, -0.003, 0.006]


def rows_of(records):
    turns = frame(records)
    cells = pcs.cells(turns)
    return {each.row["test"]: each.row for each in confirmatory.rows(turns, cells, "seed", pcs.tested(cells))}


def test_a_level_slope():
    assert hypotheses.level_p(SLOPES) == pytest.approx(0.000339, abs=5e-7)


@pytest.mark.parametrize(("spread", "passes"), [(0.0242, True), (0.0244, False)])
def test_six_runs_pass_as_level_up_to_this_spread(spread, passes):
    slopes = np.array([-1.0, -1, -1, 1, 1, 1])
    assert (hypotheses.level_p(slopes / slopes.std(ddof=1) * spread) < 0.05) is passes


@pytest.mark.parametrize(
    ("slopes", "p"),
    [
        *(([], None), ([0.01], None), ([0.01, 0.01], 0.0), ([0.02, 0.02], 1.0)),
        # The mean of these is not quite the value.
        *(([0.01] * 6, 0.0), ([0.02] * 3, 1.0), ([0.03] * 7, 1.0)),
    ],
)
def test_slopes_without_spread_and_too_few(slopes, p):
    assert hypotheses.level_p(slopes) == p


def test_a_slope_needs_two_windows():
    assert hypotheses.slope([0.1, 0.2, 0.3]) == pytest.approx(0.1)
    assert hypotheses.slope([0.1, None, 0.3], 2) == pytest.approx(0.1)
    assert hypotheses.slope([0.1]) is None
    assert hypotheses.slope([None, 0.2]) is None


def as_planned(turn, run, **key):
    """Four windows of 25 turns: the Archivist starts strict and unravels, the Jester is wild throughout."""
    records = []
    for name, kinds in (("archivist", (1, 2, 3, 6)), ("jester", (6, 6, 6, 6))):
        for window, width in enumerate(kinds):
            records += [
                turn(
                    turn=25 * window + at + 1,
                    action=ACTIONS[at % width],
                    persona=name,
                    agent=name,
                    run=run,
                    **key,
                )
                for at in range(25)
            ]
    return records


def six_runs(turn):
    return [record for at in range(6) for record in as_planned(turn, f"run-{at}", set="AB"[at // 3])]


def test_runs_that_go_as_predicted(turn):
    rows = rows_of(six_runs(turn))
    for part in ("H1a", "H1b", "H2a"):
        assert (rows[part]["p"], rows[part]["labelings"], rows[part]["n"]) == (1 / 64, 64, 6), part
        assert rows[part]["statistic"] > 0
    assert rows["H2b"]["p"] == 0.0
    assert (rows["H1"]["p"], rows["H2"]["p"]) == (1 / 64, 1 / 64)
    assert (rows["H1"]["p_holm"], rows["H2"]["p_holm"]) == (2 / 64, 2 / 64)
    assert rows["H1a"]["p_holm"] is None


def test_h1_needs_both_its_parts(turn):
    calm = [{**record, "action": "speak"} if record["persona"] == "archivist" else record for record in six_runs(turn)]
    rows = rows_of(calm)
    assert rows["H1a"]["p"] == 1 / 64
    assert rows["H1"]["p"] == rows["H1b"]["p"] > 0.05


def test_short_runs_have_no_slope_and_no_h1(turn):
    records = [{**record, "turns_planned": 50} for record in as_planned(turn, "run-1") if record["turn"] <= 50]
    rows = rows_of(records)
    assert (rows["H1b"]["p"], rows["H1b"]["n"], rows["H1"]["p"], rows["H1"]["p_holm"]) == (None, 0, None, None)
    assert rows["H1a"]["n"] == 1


def test_sets_without_persona_and_studies_without_phase_2_test_nothing(turn):
    rows = rows_of([turn(set="C", persona=None, persona_condition="no_persona")])
    assert {row["p"] for row in rows.values()} == {None}
    assert [name for name in rows if not name.startswith("pcs")] == [
        "H1a",
        "H1b",
        "H2a",
        "H2b",
        "H1",
        "H2",
        "ri_star:model",
        "ri_star:persona",
    ]


def test_the_model_that_plays_both_in_a_run(turn):
    records = as_planned(turn, "run-1") + [
        {**record, "model": "M", "agent": f"{record['agent']}-M"}
        for record in as_planned(turn, "run-1")
        if record["persona"] == "jester"
    ]
    rows = [each.row for each in hypotheses.shared_models(frame(records))]
    assert [(row["run"], row["model"]) for row in rows] == [("run-1", "E")]
    assert rows[0]["contrast"] == pytest.approx(1.0, abs=1e-12)


def test_the_merchant_between_the_two(turn):
    between = [
        turn(turn=at + 1, action=ACTIONS[at % 3], run=f"run-{run}", set="AB"[run // 3], agent="merchant")
        for run in range(6)
        for at in range(100)
    ]
    row = hypotheses.merchant_between(frame(six_runs(turn) + between), "seed")[0].row
    assert (row["statistic"], row["n"], row["labelings"]) == (6 * 14, 6, 6**6)
    assert row["p"] == pytest.approx(6**-6, abs=1e-12)
