import pytest
from playmolt_agora.measures import descriptive
from playmolt_agora.measures.data.frame import frame


def by_action(results):
    return {each.row["action"]: each.row for each in results}


@pytest.mark.parametrize(
    ("action", "count", "p", "r_seed", "q", "r_dyad"),
    [
        ("speak", 2, 2 / 13, 2 / 70, 2 / 13, 1 / 11),
        ("trade", 4, 4 / 13, 4 / 70, 3 / 4, None),
        ("support", 1, 1 / 13, 1 / 70, 1 / 8, 1 / 11),
        ("whisper", 2, 2 / 13, 2 / 70, 2 / 3, 1 / 11),
        ("move", 2, 2 / 13, None, 2 / 13, None),
        ("idle", 2, 2 / 13, None, 2 / 13, None),
    ],
)
def test_the_small_log(small_log, action, count, p, r_seed, q, r_dyad):
    row = by_action(descriptive.shares(frame(small_log), "agent"))[action]
    assert row["count"] == count
    assert (row["t_all"], row["t_valid"], row["exposure"], row["dyad_exposure"]) == (14, 13, 70, 11)
    for name, expected in (("p", p), ("r_seed", r_seed), ("q", q), ("r_dyad", r_dyad)):
        assert row[name] == (None if expected is None else pytest.approx(expected, abs=1e-12)), name
    assert row["q_heard"] == (pytest.approx(1 / 8, abs=1e-12) if action == "speak" else None)


def test_attempts_and_successes_appear_side_by_side(small_log):
    rows = by_action(descriptive.shares(frame(small_log), "agent"))
    assert {action: (row["count"], row["succeeded"]) for action, row in rows.items()} == {
        "speak": (2, 2),
        "trade": (4, 3),
        "support": (1, 1),
        "whisper": (2, 1),
        "move": (2, 2),
        "idle": (2, 2),
    }


def test_r_says_more_speech_in_phase_2_where_shares_are_equal(turns):
    phase1 = turns([30, 0, 0, 0, 0, 20], phase="phase1", set=None, residents=12, residents_start=12, turns_planned=50)
    phase2 = turns([60, 0, 0, 0, 0, 40], run="run-2")
    spoken = [row.row for row in descriptive.shares(frame(phase1 + phase2), "agent") if row.row["action"] == "speak"]
    assert [row["r_seed"] for row in spoken] == [pytest.approx(0.0545, abs=5e-5), pytest.approx(0.12, abs=1e-12)]
    assert [row["p"] for row in spoken] == [0.6, 0.6]


def test_r_where_residents_die(turn):
    # 19 epochs with 8.5 others on average, by two agents, since one agent's others sum to a whole number.
    lives = {"agent_01": [9, 10] * 9 + [9], "agent_02": [10, 9] * 9 + [10]}
    records = [
        turn(
            turn=at,
            agent=agent,
            phase="stage1",
            set=None,
            action="support" if at <= 6 else "idle",
            others_here=("agent_09",),
            residents=living,
            residents_start=12,
            turns_planned=50,
        )
        for agent, life in lives.items()
        for at, living in enumerate(life, 1)
    ]
    row = by_action(descriptive.shares(frame(records), "cell"))["support"]
    assert (row["count"], row["exposure"]) == (12, 323)
    assert row["r_seed"] == pytest.approx(6 / 161.5, abs=1e-12)
    assert row["r_literal"] == pytest.approx(0.0109, abs=5e-5)


def test_a_cell_is_a_ratio_of_sums_over_its_agents(turns):
    records = turns([9, 0, 0, 0, 0, 0], agent="agent_01") + turns([0, 0, 0, 0, 0, 1], agent="agent_02")
    row = by_action(descriptive.shares(frame(records), "cell"))["speak"]
    assert row["p"] == 0.9
    assert row["r_literal"] == pytest.approx(9 / (2 * 100 * 5), abs=1e-12)
    assert (row["run"], row["persona"], row["agent"]) == (None, None, None)


def test_without_valid_turns_nothing_is_divided(turn):
    rows = by_action(descriptive.shares(frame([turn(parse_code="timeout", residents=1, residents_start=1)]), "agent"))
    names = ("p", "r_seed", "r_literal", "q", "q_heard", "r_dyad")
    assert {name: rows["speak"][name] for name in names} == dict.fromkeys(names)
    assert rows["speak"]["t_all"] == 1


def test_a_skill_is_neither_an_action_nor_a_failure(turn):
    rows = by_action(descriptive.shares(frame([turn(action="adjust_tax"), turn(turn=2)]), "agent"))
    assert rows["idle"]["t_valid"] == 1
    assert rows["idle"]["t_all"] == 2
