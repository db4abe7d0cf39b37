import pytest
from playmolt_agora.measures import descriptive
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.descriptive import pilots, turn_rule


@pytest.mark.parametrize(
    ("met", "valid", "length"),
    [(62, 100, 100), (50, 100, 100), (35, 100, 150), (5, 13, 130), (1, 4, 200), (0, 9, 200), (0, 0, 200)],
)
def test_how_long_phase_2_lasts(met, valid, length):
    assert turn_rule(met, valid) == length


def test_the_small_log(small_log):
    row = descriptive.interaction(frame(small_log))[0].row
    assert (row["valid"], row["interactions"]) == (13, 5)
    assert row["p_int"] == pytest.approx(5 / 13, abs=1e-12)
    assert row["t_rule"] == 130
    assert row["early_idle"] == 0.0


@pytest.mark.parametrize(
    ("shares", "advised"),
    [((0.9, 0.85, 0.1, 0.81, 0.2), True), ((0.9, 0.80, 0.1, 0.81, 0.2), False), ((), False), ((None, 0.9), True)],
)
def test_when_seed_events_are_advised(shares, advised):
    runs = [{"valid": 1, "interactions": 0, "early_idle": share} for share in shares]
    assert pilots(runs)["seed_events"] is advised


def test_idle_among_the_first_five_turns(turn):
    records = [turn(turn=at, action="idle" if at < 5 else "speak") for at in range(1, 10)]
    assert descriptive.interaction(frame(records))[0].row["early_idle"] == 0.8


def test_a_run_of_failed_turns_has_no_share(turn):
    row = descriptive.interaction(frame([turn(parse_code="timeout")]))[0].row
    assert (row["valid"], row["p_int"], row["t_rule"], row["early_idle"]) == (0, None, 200, None)


def test_pilots_are_pooled_before_the_rule():
    runs = [
        {"valid": 100, "interactions": 62, "early_idle": 0.9},
        {"valid": 100, "interactions": 8, "early_idle": None},
        {"valid": 0, "interactions": 0, "early_idle": 0.80},
    ]
    assert pilots(runs) == {
        "runs": 3, "valid": 200, "interactions": 70, "p_int": 0.35, "t_rule": 150, "idle_runs": 1, "seed_events": False,
    }  # fmt: skip
    assert pilots(runs[:2])["seed_events"]
