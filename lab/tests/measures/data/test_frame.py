import msgspec
import pytest
from playmolt_agora.measures.data.frame import CODES, IDLE, frame
from playmolt_schemas.stored.agora.turn import ACTIONS, Effect, SamplingSettings, Tokens, TurnRecord


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
    assert read[0].seats == read[1].seats
    for each in read:
        assert ACTIONS[each.action[0]] == "whisper"
        assert each.places[each.place[0]] == "alley"
        assert each.feasible[0].tolist() == [True, False, True, True, True, True]
        assert (each.valid[0], each.failed[0], each.others[0], each.target[0]) == (True, False, 1, "agent_01")


@pytest.mark.parametrize("code", CODES)
def test_a_turn_is_valid_failed_or_a_skill(turn, code):
    turns = frame([turn(parse_code=code, action="speak"), turn(turn=2, parse_code=code, action="adjust_tax")])
    accepted = code.startswith("ok") or code == "reasked"
    assert turns.valid.tolist() == [accepted, False]
    assert turns.failed.tolist() == [not accepted] * 2


def test_failed_turns_are_never_idle_unless_a_treatment_says_so(turn):
    turns = frame([turn(parse_code="timeout"), turn(turn=2), turn(turn=3, action="adjust_tax")])
    assert turns.pooled().tolist() == [0, 0, 0, 0, 0, 1]
    assert turns.treated("seventh").pooled().tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert turns.treated("idle").pooled()[IDLE] == 2


@pytest.mark.parametrize(("name", "value"), [("phase", "phase9"), ("parse_code", "fine"), ("dissoc", "D")])
def test_what_is_unknown_is_named(turn, name, value):
    with pytest.raises(ValueError, match=f"turn record 1 has {name} '{value}'; give one of"):
        frame([turn(**{name: value})])
