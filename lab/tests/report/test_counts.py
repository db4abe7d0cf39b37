"""Counts that plots are drawn from: valid turns, places, ties, arms."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_agora.report.plots.turns import PIECES, action_mix, networks, occupancy, parse_figure
from playmolt_agora.report.study import StudyData
from playmolt_schemas.instrument.definitions import arm_of
from playmolt_schemas.stored.agora.turn import TurnRecord

Turn = Callable[..., TurnRecord]


@pytest.fixture
def turn(study: StudyData) -> Turn:
    def make(**values: Any) -> TurnRecord:
        plain = {"phase": "phase2", "cell": "phase2/A", "persona_condition": "with_persona", "language": "ko",
                 "model": "m", "turn": 1, "turns_planned": 20, "parse_code": "ok", "action": "speak", "success": True,
                 "place_before": "plaza", "target": None, "agent": "agent_01"}  # fmt: skip
        found = plain | values
        return msgspec.structs.replace(study.turns[0], **{"action_base": found["action"], **found})

    return make


def test_failed_turns_and_skills_are_no_part_of_the_mix(turn: Turn) -> None:
    mix = action_mix([turn(), turn(action="trade"), turn(parse_code="timeout", action=None), turn(action="adjust_tax")])
    assert [row["piece"] for row in mix] == list(range(1, PIECES + 1))
    assert (mix[0]["turns"], mix[0]["speak"], mix[0]["idle"]) == (2, 0.5, 0.0)
    assert (mix[-1]["turns"], mix[-1]["speak"]) == (0, None)


def test_time_runs_over_the_planned_length(turn: Turn) -> None:
    mix = action_mix([turn(turn=number) for number in (1, 2, 3, 20)])
    assert [row["turns"] for row in mix] == [2, 1, *[0] * 7, 1]


def test_a_run_of_few_turns_has_a_piece_for_each(turn: Turn) -> None:
    short = action_mix([turn(turn=number, turns_planned=3) for number in (1, 3)])
    assert [row["turns"] for row in short] == [1, 0, 1]


def test_alleys_are_one_place_and_failed_turns_stand_somewhere_too(turn: Turn) -> None:
    mix = occupancy([turn(place_before="alley_a"), turn(place_before="alley_c", parse_code="refusal", action=None)])
    assert (mix[0]["condition"], mix[0]["model"], mix[0]["alley"]) == ("personas", "all", 1.0)


def test_every_place_of_a_world_is_counted(turn: Turn) -> None:
    turns = [turn(place_before=place) for place in ("well", "alley_b", "pasture", "well")]
    shares = {name: share for name, share in occupancy(turns)[0].items() if isinstance(share, float)}
    assert list(shares.items()) == [("alley", 0.25), ("pasture", 0.25), ("well", 0.5)]


def test_an_act_of_a_world_of_ones_own_is_a_tie_by_what_it_counts_as(turn: Turn) -> None:
    given = turn(action="give_away", action_base="support", target="agent_02")
    turns = [given, turn(action="nod", action_base=None, target="agent_02")]
    assert networks(turns, "support")["phase2", "ko"].ties == {("agent_01", "agent_02"): 1}
    assert networks(turns, "whisper")["phase2", "ko"].ties == {}


def test_a_tie_needs_success_and_a_target(turn: Turn) -> None:
    turns = [
        turn(action="support", target="agent_02"),
        turn(action="support", target="agent_02", success=False),
        turn(action="whisper", target="agent_03"),
        turn(agent="agent_02"),
    ]
    supports, whispers = (networks(turns, action)["phase2", "ko"] for action in ("support", "whisper"))
    assert supports.ties == {("agent_01", "agent_02"): 1}
    assert whispers.ties == {("agent_01", "agent_03"): 1}
    assert supports.agents == ["agent_01", "agent_02"]


def test_the_arm_with_real_costs_is_no_phase_1(turn: Turn) -> None:
    assert arm_of("phase1_costs_real/m/ko", "phase1") == "phase1_costs_real"
    assert arm_of("phase1/m/ko", "phase1") == "phase1"
    mix = action_mix([turn(phase="phase1", cell="phase1_costs_real/m/ko"), turn(phase="phase1", cell="phase1/m/ko")])
    assert list(dict.fromkeys(row["phase"] for row in mix)) == ["Phase 1", "Phase 1, real costs"]


def test_parse_codes_are_counted_by_model_and_language(turn: Turn, changed: Callable[..., StudyData]) -> None:
    turns = [turn(), turn(parse_code="refusal"), turn(language="en")]
    en, ko = parse_figure(changed(turns=turns)).of
    assert (ko["model"], ko["language"], ko["ok"], ko["refusal"], ko["failed share"]) == ("m", "ko", 1, 1, 0.5)
    assert (en["language"], en["ok"], en["refusal"], en["failed share"]) == ("en", 1, 0, 0.0)
