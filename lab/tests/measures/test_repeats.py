"""Identical runs: recognised by acts and replies, counted once, and without interval and p where no run differs."""

import pytest
from playmolt_agora.measures.analysis import study
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.pcs import intervals
from playmolt_agora.measures.repeats import Repeats
from playmolt_schemas.instrument.laboratory import CellInterval
from playmolt_schemas.stored.agora.turn import ACTIONS

ACTS = ("speak", "trade", "idle", "speak", "support", "move", "speak", "idle", "trade", "speak")


def run_of(turn, name, phase, *, say="", model="E", shift=0, **more):
    """A run of two agents, whose second one acts first in every other turn."""
    return [
        turn(
            run=name, phase=phase, cell=f"{phase}/{model}/ko", set=None, model=model, agent=agent, turn=number,
            order=order, action=ACTS[number % (10 - shift)], action_base=ACTS[number % (10 - shift)],
            content=f"{say}{agent} {number}", turns_planned=10, **more,
        )
        for number in range(1, 11)
        for order, agent in enumerate(sorted(("a", "b"), reverse=bool(number % 2)))
    ]  # fmt: skip


def arms(turn, *, say=lambda _: "", shift=lambda _: 0, models=("E",)):
    """Five runs of Stage 1 and three of Phase 1 for each model."""
    return [
        record
        for model in models
        for phase, count, base in (("stage1", 5, 0), ("phase1", 3, 5))
        for run in range(count)
        for record in run_of(
            turn, f"{model}/{phase}/{run}", phase, model=model, say=say(run),
            shift=base + shift(run) + (model == "M"),
        )
    ]  # fmt: skip


def cells(table):
    return [dict(zip(table, line, strict=True)) for line in zip(*table.values(), strict=True)]


def test_runs_are_identical_whatever_the_order_of_their_acts(turn):
    one = run_of(turn, "one", "phase1")
    other = [{**record, "run": "other", "order": 1 - record["order"]} for record in run_of(turn, "x", "phase1")]
    found = Repeats(frame([*one, *other, *run_of(turn, "third", "phase1", say="!")]))
    assert found.copies == {"other": "one"}
    [row] = [each.row for each in found.rows()]
    assert (row["phase"], row["model"], row["runs"], row["identical"], row["distinct"]) == ("phase1", "E", 3, 2, 2)


@pytest.mark.parametrize(
    "change", [{"content": "else"}, {"target": "b"}, {"action": "trade"}, {"turn": 11}, {"agent": "c"}]
)
def test_one_act_makes_the_difference(turn, change):
    one, other = run_of(turn, "one", "phase1"), run_of(turn, "other", "phase1")
    other[-1] = {**other[-1], **change}
    assert Repeats(frame([*one, *other])).copies == {}


def test_runs_of_other_cells_and_runs_without_a_valid_turn_are_no_copies(turn):
    silent = [{**record, "parse_code": "parse_error", "content": None} for record in run_of(turn, "s", "phase1")]
    records = [
        *run_of(turn, "one", "phase1"), *run_of(turn, "two", "stage1"), *run_of(turn, "three", "phase1", model="M"),
        *silent, *({**record, "run": "t"} for record in silent),
    ]  # fmt: skip
    assert Repeats(frame(records)).copies == {}


def test_where_no_run_differs_there_is_no_interval_and_no_p(turn):
    found = study(arms(turn, models=("E", "M")))
    assert {row["distinct"] for row in found.tables["repeats"]} == {1}
    for row in found.tables["pcs"]:
        assert (row["runs_stage1"], row["runs_phase1"], row["pcs"] > 0) == (1, 1, True)
        assert (row["ci_lo"], row["ci_hi"], row["p_perm"]) == (None, None, None)
    for row in found.tables["tests"]:
        assert (row["p"], row["p_holm"]) == (None, None)
    for row in found.tables["delta_pcs"]:
        assert (row["ci_lo"], row["ci_hi"], row["p"], row["p_holm"]) == (None, None, None, None)
    for name in ("contrast_intervals", "contrast_shares"):
        assert all(row["ci_lo"] is row["ci_hi"] is None for row in found.tables[name])


def test_imported_runs_that_differ_are_tested_against_identical_ones(turn):
    imported = [
        {"run": f"i{run}", "model": "E", "language": "ko", "action": action, "count": 10 + run * number}
        for run in range(5) for number, action in enumerate(ACTIONS)
    ]  # fmt: skip
    phase1 = [each for each in arms(turn) if each["phase"] == "phase1"]
    found = study(phase1, stage1_import=imported).tables
    assert [(row["runs_stage1"], row["runs_phase1"], row["labelings"]) for row in found["pcs"]] == [(5, 1, 6)]
    assert found["pcs"][0]["p_perm"] == found["tests"][0]["p"] == pytest.approx(1 / 6)


def test_an_arm_without_the_other_does_not_make_a_test_of_identical_runs(turn):
    alone = [record for run in range(3) for record in run_of(turn, f"en{run}", "phase1", say=str(run), language="en")]
    found = study([*arms(turn), *alone]).tables
    assert {row["language"]: row["pcs"] is None for row in found["pcs"]} == {"en": True, "ko": False}
    assert [row["p"] for row in found["tests"] if row["test"] == "pcs:E"] == [None]


def test_sets_whose_runs_do_not_differ_give_no_p_beside_the_tests_either(turn):
    """Also where all runs are exploratory, which are described alone."""
    for exploratory in (False, True):
        records = [
            turn(
                run=f"{name}{run}", phase="phase2", cell=f"phase2/{name}", set=name, language=language, agent=persona,
                persona=persona, model=persona, turn=number, action=ACTS[number * step % 10], exploratory=exploratory,
            )
            for name, language in (("A", "ko"), ("B", "en")) for run in range(3)
            for step, persona in ((10, "archivist"), (5, "merchant"), (1, "jester")) for number in range(1, 101)
        ]  # fmt: skip
        found = study(records)
        assert [row["labelings"] for row in found.tables["merchant"]] == [36]
        for row in (*found.tables["merchant"], *found.tables["unadjusted"]):
            assert row["p"] is None


def test_identical_runs_count_once(turn):
    repeated = study(arms(turn, say=lambda run: str(min(run, 2)), shift=lambda run: min(run, 2)))
    single = study([each for each in arms(turn, say=str, shift=lambda run: run) if each["run"][-1] in "012"])
    assert repeated.tables["pcs"] == single.tables["pcs"]
    assert repeated.tables["tests"] == single.tables["tests"]
    left_out = repeated.provenance["pcs"][0]["exclusions"]
    assert left_out == ("E/stage1/3: identical to E/stage1/2", "E/stage1/4: identical to E/stage1/2")


def test_an_interval_of_identical_runs_does_not_end_adaptive_sampling(turn):
    for measure in ("pcs", "p:trade"):
        assert intervals(arms(turn), measure, "seed") == [CellInterval(model="E", language="ko")]


def test_no_test_over_an_arm_without_valid_turns(turn):
    def set_of(silent):
        return [
            turn(
                run=f"r{run}", phase="phase2", cell="phase2/A/ko", set="A", agent=f"{persona}{slot}", persona=persona,
                model="EM"[(slot + run) % 2], turn=number, content=f"{run}{number}", turns_planned=75,
                action=ACTS[(number * (run + 2) + slot) % 10], action_base=ACTS[(number * (run + 2) + slot) % 10],
                parse_code="parse_error" if "EM"[(slot + run) % 2] in silent else "ok",
            )
            for run in range(4) for persona in ("archivist", "jester") for slot in range(2) for number in range(1, 76)
        ]  # fmt: skip

    tested = {row["test"]: row["p"] for row in study(set_of("")).tables["tests"]}
    assert None not in (tested["H1"], tested["ri_star:persona"])
    silent = study(set_of("M"))
    excluded = {(row["run"], row["model"]) for row in silent.tables["parse"] if row["excluded"]}
    assert excluded == {(f"r{run}", "M") for run in range(4)}
    assert all(row["p"] is None for row in silent.tables["unexcluded_tests"])
