"""What Phase 1 and Phase 2 leave of the world."""

from typing import Any

import pytest
from playmolt_agora_runner.turn.scenes import constraint_level
from playmolt_schemas.stored.agora.turn import Effect

TRADE = ("trade", None, None)


def test_phase_1_freezes_energy_and_reckons_in_shadow(runs: Any) -> None:
    run = runs("phase1", turns=2)
    record = run.act("merchant_01", "trade")
    assert (record.effect_applied, record.effect_shadow) == (Effect(), Effect(energy={"merchant_01": 1}, treasury=1))
    assert (record.null_effect, record.resource_effect, run.state.treasury) == (True, 0, 1)
    run.epoch(lambda _, __: TRADE)
    settled = run.of("market_settled")[0]
    assert (settled.shadow, settled.effect_applied) == (True, Effect())
    assert settled.effect_shadow.energy == settled.shares
    assert {agent.energy for agent in run.state.agents.values()} == {100}


def test_phase_1_support_gives_influence_and_its_energy_is_shadow(runs: Any) -> None:
    record = runs("phase1", turns=1).act("citizen_01", "support", "citizen_02")
    assert record.effect_applied == Effect(influence={"citizen_02": 1})
    assert record.effect_shadow == Effect(energy={"citizen_01": -1, "citizen_02": 2})
    assert record.null_effect is False


def test_phase_1_has_no_decay_no_crisis_and_no_death(runs: Any) -> None:
    run = runs("phase1", rules={}, turns=50).play(lambda _, __: ("speak", None, "x"))
    assert (run.state.outcome, len(run.state.living), run.state.taken) == ("completed", 12, 600)
    assert {(event.decay, event.crisis) for event in run.of("epoch_started")} == {(0, None)}
    assert min(agent.shadow for agent in run.state.agents.values()) == 0


def test_an_act_that_the_shadow_could_not_pay_happens_in_phase_1(runs: Any) -> None:
    run = runs("phase1", turns=60)
    for _ in range(55):
        run.epoch(lambda _, __: ("speak", None, "x"))
    record = run.act("citizen_01", "speak", content="still here")
    assert (record.success, record.effect_shadow) == (True, Effect())
    assert "speak" in record.feasible_actions


def test_phase_1_architect_skills_work_at_a_cost_in_shadow(runs: Any) -> None:
    run = runs("phase1", turns=1)
    record = run.act("architect_01", "adjust_tax", "30")
    assert (record.effect_applied, record.effect_shadow) == (Effect(), Effect(energy={"architect_01": -5}))
    assert run.state.tax_rate == 30


def test_phase_1_shows_100_a_gini_of_nothing_and_always_the_full_context(runs: Any) -> None:
    run = runs("phase1", turns=5).epoch(lambda _, __: TRADE)
    scene = run.scene("merchant_01")
    assert (scene.energy, scene.energy_max, scene.gini, scene.context) == (100, 200, "0.00", "full")
    assert (scene.tax_rate, scene.treasury, scene.influence, scene.rank) == (10, 3, 0, "commoner")
    logged = run.of("epoch_started")[1].gini
    assert (logged["energy"], set(logged)) == ("0.000000000000", {"energy", "influence", "shadow"})
    assert logged["shadow"] != "0.000000000000"


def test_costs_can_be_made_real_under_the_prompt_of_phase_1(runs: Any) -> None:
    run = runs("phase1", turns=3, rules={"energy": {"ledger": "real"}})
    record = run.act("citizen_01", "speak", content="x")
    assert (record.effect_applied, record.effect_shadow) == (Effect(energy={"citizen_01": -2}), Effect())
    run.play()
    assert (run.of("market_settled")[0].shadow, run.of("agent_died")) == (False, [])


def test_phase_2_has_no_energy_no_influence_and_no_market(runs: Any) -> None:
    run = runs("phase2", turns=2)
    scene = run.scene("agent_01")
    assert (scene.energy, scene.influence, scene.rank, scene.gini, scene.tax_rate, scene.treasury) == (None,) * 6
    assert (scene.history, scene.billboard, scene.crisis, scene.supporters) == ((), None, None, {})
    trade = run.act("agent_03", "trade")
    assert (trade.success, trade.effect_applied, trade.effect_shadow, trade.null_effect) == (
        True, Effect(), Effect(), True,
    )  # fmt: skip
    run.play()
    assert not run.of("market_settled")
    assert run.of("epoch_started")[0].gini == {}


@pytest.mark.parametrize(
    ("agent", "action", "target"), [("agent_03", "trade", None), ("agent_03", "support", "agent_04")]
)
def test_phase_2_answers_trade_and_support_with_the_neutral_sentence_alone(
    runs: Any, agent: str, action: str, target: str | None
) -> None:
    run = runs("phase2", turns=2)
    run.act(agent, action, target)
    mine = [
        (each.kind, each.values) for each in run.scene(agent).events if each.kind in ("feedback", "traded", "supported")
    ]
    assert mine == [("feedback", {"action": action})]
    seen = [each for each in run.scene("agent_04").events if each.kind in ("traded", "supported")]
    assert [each.values["agent"] for each in seen] == [agent]


def test_phase_2_trade_stays_in_the_market_and_whispers_in_the_alley_and_never_leak(runs: Any) -> None:
    run = runs("phase2", turns=40)
    assert run.act("agent_01", "trade").reason == "wrong_place"
    assert run.act("agent_01", "whisper", "agent_02", "psst").reason == "wrong_place"
    run.act("agent_01", "move", "alley")
    for _ in range(20):
        assert run.act("agent_05", "whisper", "agent_06", "psst").success
    assert not run.of("whisper_leaked")


def test_phase_2_places_have_no_limit_and_a_crowd_fits_the_alley(runs: Any) -> None:
    run = runs("phase2", turns=2)
    run.epoch(lambda _, __: ("move", "alley", None))
    assert [agent.place for agent in run.state.agents.values()] == ["alley"] * 6


def test_phase_2_has_no_architect_skills(runs: Any) -> None:
    seats = tuple(runs.spec_of("phase2").seats)
    run = runs("phase2", turns=1, seats=seats).answer(("build_billboard", None, "hello"))
    assert run.record.parse_code == "invalid_action"


def test_the_constraint_level_is_that_of_the_persona_in_phase_2_only(runs: Any) -> None:
    def level(run: Any, agent: str) -> str | None:
        return constraint_level(run.state.run, run.state.seat(agent))

    shown = runs("phase2", turns=1)
    assert [level(shown, agent) for agent in ("agent_01", "agent_03", "agent_05")] == ["high", "mid", "low"]
    assert level(runs("phase2", turns=1, persona_condition="no_persona"), "agent_01") == "none"
    assert level(runs("phase1", turns=1), "archivist_01") is None


def test_seed_events_are_told_to_all_at_their_turn_in_the_language_of_the_run(runs: Any) -> None:
    events = [
        {"turn": 2, "ko": "비가 온다.", "en": "It rains."},
        {"turn": 2, "ko": "종이 울린다.", "en": "A bell rings."},
    ]
    run = runs("phase2", turns=3, rules={"seed_events": events}).epoch()
    assert run.shown("agent_01", "happening") == [{"text": "It rains."}, {"text": "A bell rings."}]
    run = runs("phase2", turns=3, language="ko", rules={"seed_events": events}).epoch()
    assert run.shown("agent_06", "happening")[0] == {"text": "비가 온다."}
