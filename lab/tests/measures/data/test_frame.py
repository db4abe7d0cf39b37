from typing import get_args

import msgspec
import pytest
from playmolt_agora.measures.data.frame import frame, names_of, pooled, treated
from playmolt_schemas.stored.agora.turn import ACTIONS, Effect, ParseCode, SamplingSettings, Tokens, TurnRecord


@pytest.fixture
def stored(turn):
    """A whole turn record, as the run stores it."""
    fields = turn(
        place_before="alley_b", others_here=("agent_01",), action="whisper", target="agent_01", content="psst"
    )
    rest = {
        "model_asked": "e",
        "model_answered": None,
        "constraint_level": "mid",
        "home_location": "market",
        "place_after": "alley_b",
        "prompt_hash": "0" * 64,
        "raw_reply": "{}",
        "attempt": 1,
        "thought": "",
        "reason": None,
        "effect_applied": Effect(),
        "effect_shadow": Effect(),
        "resource_effect": 0,
        "decoding": "prompt",
        "sampling": SamplingSettings(),
        "tokens": Tokens(),
        "cost": None,
        "latency_ms": 1,
        "cache_hit": False,
    }
    return TurnRecord(**{**fields, **rest})


def test_a_stored_record_and_its_json_read_alike(stored):
    read = [frame([each]) for each in (stored, msgspec.json.decode(msgspec.json.encode(stored)))]
    assert read[0].equals(read[1])
    (row,) = read[0].to_dicts()
    assert (row["action"], row["place"], row["others"], row["target"]) == ("whisper", "alley", 1, "agent_01")
    assert [row[f"can_{action}"] for action in ACTIONS] == [True, False, True, True, True, True]
    assert (row["valid"], row["failed"]) == (True, False)


@pytest.mark.parametrize("code", get_args(ParseCode))
def test_a_turn_is_valid_failed_or_a_skill(turn, code):
    turns = frame([turn(parse_code=code, action="speak"), turn(turn=2, parse_code=code, action="adjust_tax")])
    accepted = code.startswith("ok") or code == "reasked"
    assert turns["valid"].to_list() == [accepted, False]
    assert turns["failed"].to_list() == [not accepted] * 2


def test_failed_turns_are_never_idle_unless_a_treatment_says_so(turn):
    turns = frame([turn(parse_code="timeout"), turn(turn=2), turn(turn=3, action="adjust_tax")])
    assert pooled(turns).tolist() == [0, 0, 0, 0, 0, 1]
    assert pooled(treated(turns, "seventh")).tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert pooled(treated(turns, "idle")).tolist() == [0, 0, 0, 0, 0, 2]
    assert names_of(treated(turns, "seventh"), "action") == [*ACTIONS, "failed"]


@pytest.mark.parametrize(("name", "value"), [("phase", "phase9"), ("parse_code", "fine"), ("dissoc", "D")])
def test_what_is_unknown_is_named(turn, name, value):
    with pytest.raises(ValueError, match=f"turn record 1 has {name} '{value}'; give one of"):
        frame([turn(**{name: value})])


@pytest.mark.parametrize(
    ("name", "value"), [("turn", None), ("turn", "second"), ("residents", None), ("success", None), ("agent", None)]
)
def test_a_value_that_is_missing_or_of_another_type_is_named(turn, name, value):
    with pytest.raises(ValueError, match=f"turn record 2 has no {name}"):
        frame([turn(), turn(**{name: value})])


def test_whole_numbers_may_come_as_floats(turn):
    assert frame([turn(turn=2.0, success=1)]).equals(frame([turn(turn=2, success=True)]))
