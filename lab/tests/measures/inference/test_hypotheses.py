import itertools
import math

import numpy as np
import pytest
from playmolt_agora.measures import pcs
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.inference import confirmatory, hypotheses
from playmolt_agora.measures.inference.streams import stream
from playmolt_agora.measures.repeats import Repeats
from playmolt_schemas.stored.agora.turn import ACTIONS
from scipy import stats
from scipy.spatial import distance

SLOPES = [0.004, -0.006, 0.010, 0.001, -0.003, 0.006]


def rows_of(records):
    turns = frame(records)
    cells = pcs.cells(turns)
    found = confirmatory.rows(
        turns, cells, hypotheses.figures(turns, "seed"), "seed", pcs.tested(cells), Repeats(turns.clear())
    )
    return {each.row["test"]: each.row for each in found}


def test_a_level_slope():
    assert hypotheses.level_p(SLOPES) == pytest.approx(0.000339, abs=5e-7)


@pytest.mark.parametrize(("spread", "passes"), [(0.0242, True), (0.0244, False)])
def test_six_runs_pass_as_level_up_to_this_spread(spread, passes):
    slopes = np.array([-1.0, -1, -1, 1, 1, 1])
    assert (hypotheses.level_p(slopes / slopes.std(ddof=1) * spread) < 0.05) is passes


@pytest.mark.parametrize(
    ("slopes", "p"),
    [
        *(([], None), ([0.01], None), ([0.01, 0.01], None), ([0.02, 0.02], None)),
        # The mean of these is not quite the value.
        *(([0.01] * 6, None), ([0.02] * 3, None), ([0.03] * 7, None)),
    ],
)
def test_slopes_without_spread_and_too_few(slopes, p):
    assert hypotheses.level_p(slopes) == p


def test_a_slope_needs_two_windows():
    none = np.nan
    slopes = hypotheses.slopes(np.array([[0.1, 0.2, 0.3], [0.1, none, 0.3], [0.1, none, none], [none, 0.2, none]]))
    assert slopes.tolist() == pytest.approx([0.1, 0.1, none, none], nan_ok=True)
    assert np.isnan(hypotheses.slopes(np.array([[0.1]])))


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
    # All Jesters have one slope: no spread says how far another one might lie.
    assert (rows["H2b"]["p"], rows["H2"]["p"], rows["H2"]["p_holm"]) == (None, None, None)
    assert (rows["H1"]["p"], rows["H1"]["p_holm"]) == (1 / 64, 2 / 64)
    assert rows["H1a"]["p_holm"] is None


def test_h1_needs_both_its_parts(turn):
    calm = [
        {**record, "action": "speak", "action_base": "speak"} if record["persona"] == "archivist" else record
        for record in six_runs(turn)
    ]
    rows = rows_of(calm)
    assert rows["H1a"]["p"] == 1 / 64
    assert rows["H1"]["p"] == rows["H1b"]["p"] > 0.05


def drawn_study(turn, seed=3):
    """Two sets of three runs of the white room's design, some turns failed, one agent silent in a window."""
    generator = np.random.default_rng(seed)
    models, personas = "EMH", ("archivist", "merchant", "jester")
    records = []
    for set_ in "AB":
        for run in range(3):
            for at, persona in enumerate(personas):
                for slot in range(2):
                    weights = generator.dirichlet(np.ones(6))
                    for number in range(1, 101):
                        silent = (set_, run, persona, slot) == ("A", 1, "jester", 0) and 26 <= number <= 50
                        failed = silent or generator.random() < 0.1
                        records.append(
                            turn(
                                turn=number, set=set_, run=f"{set_}/{run}", agent=f"agent_{2 * at + slot}",
                                persona=persona, model=models[(run + at + slot) % 3],
                                action=str(generator.choice(ACTIONS, p=weights)),
                                parse_code="timeout" if failed else "ok",
                            )
                        )  # fmt: skip
    return records


def written_out(records, seed):
    """H1a, H1b, H2a, H2b of each run from records alone: per agent, the mean of its model's agents subtracted."""
    agents = sorted({(r["set"], r["run"], r["persona"], r["model"], r["agent"]) for r in records})
    level, excess = {}, {}
    for agent in agents:
        _, run, persona, _, name = agent
        own = [r for r in records if (r["run"], r["agent"]) == (run, name) and r["parse_code"] == "ok"]
        codes = [ACTIONS.index(r["action"]) for r in own]
        window = [(r["turn"] - 1) // 25 for r in own]
        counts = [
            np.bincount([c for c, w in zip(codes, window, strict=True) if w == at], minlength=6) for at in range(4)
        ]
        for at, row in enumerate(counts):
            n = row.sum()
            bits = stats.entropy(row, base=2) + (np.count_nonzero(row) - 1) / (2 * n * math.log(2)) if n else math.nan
            level[agent, at] = min(1.0, bits / math.log2(6)) if n else math.nan
        generator = stream(seed, "id_null", run, persona, name)
        null = np.zeros(4)
        shuffled = generator.permuted(np.tile(codes, (500, 1)), axis=1)
        laid = [
            np.array([np.bincount(order, minlength=6) for order in shuffled[:, np.array(window) == at]]) + 0.5
            for at in range(4)
        ]
        first = laid[0] / laid[0].sum(axis=1, keepdims=True)
        null += [
            (distance.jensenshannon(each / each.sum(axis=1, keepdims=True), first, base=2, axis=1) ** 2).sum()
            for each in laid
        ]
        for at, row in enumerate(counts):
            p, q = (row + 0.5) / (row + 0.5).sum(), (counts[0] + 0.5) / (counts[0] + 0.5).sum()
            raw = distance.jensenshannon(p, q, base=2) ** 2 if row.sum() else math.nan
            excess[agent, at] = raw - null[at] / 500

    def adjusted(values, agent, at):
        peers = [values[each, at] for each in agents if (each[0], each[3]) == (agent[0], agent[3])]
        return values[agent, at] - np.nanmean(peers)

    found = {}
    for run in sorted({r["run"] for r in records}):
        mine = {name: [each for each in agents if each[1:3] == (run, name)] for name in ("jester", "archivist")}
        h, x = (
            {
                name: [np.nanmean([adjusted(values, each, at) for each in chosen]) for at in range(4)]
                for name, chosen in mine.items()
            }
            for values in (level, excess)
        )
        own = []
        for each in mine["jester"]:
            seen = [at for at in range(4) if not math.isnan(level[each, at])]
            own.append(np.polyfit(seen, [level[each, at] for at in seen], 1)[0])
        found[run] = {
            "H1a": h["jester"][0] - h["archivist"][0],
            "H1b": np.polyfit([1, 2, 3], x["archivist"][1:], 1)[0] - np.polyfit([1, 2, 3], x["jester"][1:], 1)[0],
            "H2a": np.mean(h["jester"]) - np.mean(h["archivist"]),
            "H2b": np.mean(own),
        }
    return found


def test_parts_are_what_they_come_to_written_out(turn):
    records = drawn_study(turn)
    written = written_out(records, "seed")
    found = hypotheses.figures(frame(records), "seed")
    assert found.runs == tuple(written)
    for part in hypotheses.PARTS:
        assert found.parts[part].tolist() == pytest.approx([each[part] for each in written.values()], abs=1e-12), part
    rows = rows_of(records)
    for part in ("H1a", "H1b", "H2a"):
        differences = np.array([each[part] for each in written.values()])
        flipped = [np.mean(differences * signs) for signs in itertools.product((1, -1), repeat=6)]
        reached = sum(value >= differences.mean() - 1e-12 for value in flipped)
        assert rows[part]["p"] == pytest.approx(reached / 64, abs=1e-12)
    slopes = np.array([each["H2b"] for each in written.values()])
    above = stats.ttest_1samp(slopes, -0.02, alternative="greater").pvalue
    below = stats.ttest_1samp(slopes, 0.02, alternative="less").pvalue
    assert rows["H2b"]["p"] == pytest.approx(max(above, below), abs=1e-12)


def test_a_models_own_entropy_moves_no_difference(turn):
    """What a model adds to all its agents falls out, however unevenly its agents sit in the runs."""
    agents = [
        hypotheses.AgentOf("A", f"run-{run}", "EMH"[(run + at + slot) % 3], persona)
        for run in range(3)
        for at, persona in enumerate(("archivist", "merchant", "jester"))
        for slot in range(2)
    ]
    design = hypotheses.Design(agents)
    generator = np.random.default_rng(1)
    entropy, excess = generator.random((2, 18, 4))
    shift = np.array([{"E": 0.3, "M": -0.1, "H": 0.0}[agent.model] for agent in agents])[:, None]
    before, after = design.parts(entropy, excess), design.parts(entropy + shift, excess - shift)
    for part in hypotheses.PARTS:
        assert after[part].tolist() == pytest.approx(before[part].tolist(), abs=1e-12), part
    raw = design.parts(entropy + shift, excess, adjusted=False)
    assert abs(raw["H1a"] - design.parts(entropy, excess, adjusted=False)["H1a"]).max() > 0.05


def test_a_run_without_one_of_the_two_says_nothing(turn):
    records = [r for r in drawn_study(turn) if not (r["run"] == "B/2" and r["persona"] == "archivist")]
    found = hypotheses.figures(frame(records), "seed")
    assert {part: values.size for part, values in found.parts.items()} == {"H1a": 5, "H1b": 5, "H2a": 5, "H2b": 6}


def test_the_monte_carlo_error_of_h1b_appears_beside_it(turn):
    rows = rows_of(drawn_study(turn))
    assert {name for name, row in rows.items() if row["p_error"] is not None} <= {"H1b", "H1"}
    assert 0 <= rows["H1b"]["p_error"] < 0.1
    sure = rows_of(six_runs(turn))
    assert sure["H1b"]["p_error"] == 0.0


def test_the_unadjusted_figures_appear_beside(turn):
    found = hypotheses.figures(frame(drawn_study(turn)), "seed")
    table = {each.row["test"]: each.row for each in hypotheses.unadjusted(found, "seed")}
    assert set(table) == set(hypotheses.PARTS)
    assert table["H2b"]["statistic"] == pytest.approx(float(found.parts["H2b"].mean()))
    assert abs(found.unadjusted["H1a"] - found.parts["H1a"]).max() > 0.01
    assert table["H1a"]["n"] == 6


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
