"""What an agent may know: of places, of whispers, of itself; and how much of it, by its energy."""

from typing import Any

import pytest
from playmolt_agora_runner.world.state import SHOWN_CHARS, Observation

IDLE = ("idle", None, None)


def kinds(run: Any, agent: str) -> list[str]:
    return [each.kind for each in run.scene(agent).events]


def test_what_happens_in_public_is_seen_by_all_and_in_an_alley_by_those_there(runs: Any) -> None:
    run = runs("phase1", turns=2, homes={"jester_02": "alley_a"})
    run.act("citizen_01", "speak", content="hear me")
    assert run.shown("jester_01", "spoke") == [{"agent": "citizen_01", "content": "hear me", "place": "plaza"}]
    run = runs("phase1", turns=2, homes={"jester_02": "alley_a"})
    run.act("jester_01", "speak", content="between us")
    assert [each["content"] for each in run.shown("jester_02", "spoke")] == ["between us"]
    assert run.shown("citizen_01", "spoke") == []


def test_a_move_between_a_public_place_and_an_alley_is_seen_by_all(runs: Any) -> None:
    run = runs("phase1", turns=2)
    run.act("citizen_01", "move", "alley_c")
    moved = {"agent": "citizen_01", "place": "alley_c", "origin": "plaza"}
    assert run.shown("merchant_01", "moved") == run.shown("citizen_01", "moved") == [moved]
    assert run.scene("citizen_01").here == ()


def test_a_move_from_alley_to_alley_is_seen_in_both_and_nowhere_else(runs: Any) -> None:
    run = runs("phase1", turns=2, homes={"citizen_01": "alley_a"})
    run.act("jester_01", "move", "alley_b")
    assert [len(run.shown(name, "moved")) for name in ("citizen_01", "jester_02", "jester_01", "citizen_02")] == [
        1,
        1,
        1,
        0,
    ]


def test_global_visibility_shows_all_but_whispers_and_failures(runs: Any) -> None:
    run = runs("phase1", turns=2, homes={"jester_02": "alley_a"}, rules={"event_visibility": "global", "leak": 0})
    run.act("jester_01", "speak", content="between us")
    assert [each["content"] for each in run.shown("citizen_01", "spoke")] == ["between us"]
    run = runs("phase1", turns=2, homes={"jester_02": "alley_a"}, rules={"event_visibility": "global", "leak": 0})
    run.act("jester_01", "whisper", "jester_02", "the secret")
    assert run.shown("citizen_01", "whispered") == []
    assert len(run.shown("jester_01", "whispered")) == len(run.shown("jester_02", "whispered")) == 1


def test_a_failed_attempt_and_a_thought_are_nobody_elses(runs: Any) -> None:
    run = runs("phase1", turns=2).until("citizen_01")
    run.answer(("trade", None, None), thought="my hidden thought")
    assert run.shown("citizen_01", "failed") == [{"reason": "wrong_place"}]
    for name in run.state.living:
        assert name == "citizen_01" or "failed" not in kinds(run, name)
        assert all("hidden" not in str(each.values) for each in run.scene(name).events)


def test_ten_events_are_shown_newest_last_and_history_holds_older_ones(runs: Any) -> None:
    run = runs("phase1", turns=3).epoch()
    run.act("architect_01", "build_billboard", None, "Listen")
    run.epoch()
    scene = run.scene("citizen_01")
    assert (len(scene.events), scene.events[-1].kind) == (10, "market")
    assert [each.turn for each in scene.events] == sorted(each.turn for each in scene.events)
    assert len(scene.history) == 10
    assert not any(each in scene.events for each in scene.history)
    assert [each.turn for each in scene.history] == sorted(each.turn for each in scene.history)


def test_history_keeps_the_weightiest_then_the_newest(runs: Any) -> None:
    run = runs("phase1", turns=12)
    run.act("architect_01", "build_billboard", None, "Long ago")
    run.act("citizen_01", "support", "citizen_02")
    for _ in range(6):
        run.epoch()
    history = run.scene("citizen_01").history
    assert [each.kind for each in history][:2] in (["billboard", "supported"], ["supported", "billboard"])
    assert len(history) == 10
    assert all(each.turn >= 5 for each in history[2:])


@pytest.mark.parametrize(
    ("energy", "context", "events", "history"),
    [(100, "full", 10, 10), (99, "medium", 5, 2), (50, "medium", 5, 2), (49, "minimal", 2, 0)],
)
def test_energy_decides_how_much_is_shown_in_stage_1(
    runs: Any, energy: int, context: str, events: int, history: int
) -> None:
    run = runs(turns=6, rules={"energy": {"start": energy}, "decay": {"base": 0, "step": 0}})
    architect = {1: ("build_billboard", None, "one"), 2: ("build_billboard", None, "two")}
    for _ in range(4):
        run.epoch(lambda state, agent: architect.get(state.turn, IDLE) if agent == "architect_01" else IDLE)
    scene = run.scene("citizen_01")
    assert (scene.context, len(scene.events), len(scene.history)) == (context, events, history)
    if context == "medium":
        assert {each.importance for each in scene.history} == {4}
    off = runs(turns=2, rules={"energy": {"start": energy}, "context_by_energy": False})
    assert off.scene("citizen_01").context == "full"


def test_the_scene_has_the_numbers_of_the_world_and_of_the_epochs_start(runs: Any) -> None:
    run = runs(turns=3, language="ko")
    scene = run.scene("merchant_01")
    assert (scene.turn, scene.turns, scene.residents, scene.residents_start) == (1, 3, 12, 12)
    assert (scene.phase, scene.language, scene.persona, scene.place) == ("stage1", "ko", "merchant", "market")
    assert scene.here == ("archivist_02", "merchant_02")
    assert scene.agents == runs.NAMES
    assert (scene.energy, scene.gini, scene.treasury) == (95, "0.00", 0)
    assert (scene.rules["costs"]["speak"], scene.rules["capacity"]["alley"], scene.rules["trade_stars"]) == (2, 4, True)
    run.epoch(lambda _, agent: ("trade", None, None) if agent == "merchant_01" else IDLE)
    assert run.scene("merchant_01").gini == "0.02"


def test_the_state_keeps_a_bounded_part_of_a_very_long_speech_and_the_log_all_of_it(runs: Any) -> None:
    run = runs("phase1", turns=2)
    record = run.act("citizen_01", "speak", content="x" * 50_000)
    assert len(str(record.content)) == 50_000
    assert len(run.shown("citizen_02", "spoke")[0]["content"]) == SHOWN_CHARS + 1


def test_a_happening_carries_its_turn_and_importance(runs: Any) -> None:
    run = runs("phase1", turns=2)
    run.act("citizen_01", "support", "citizen_02")
    happening = next(each for each in run.scene("citizen_01").events if each.kind == "supported")
    assert happening == Observation(
        turn=1, kind="supported", importance=2, values={"agent": "citizen_01", "target": "citizen_02"}
    )
