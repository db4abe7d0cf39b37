"""What an act does in Stage 1, and what an attempt that cannot be does not."""

from typing import Any

import msgspec
import pytest
from playmolt_schemas.stored.agora import run as events
from playmolt_schemas.stored.agora.turn import Effect

from core.tests.scenario import like

NOTHING = Effect()


def test_speaking_costs_2_and_gives_1_back_in_an_alley(runs: Any) -> None:
    run = runs(turns=1)
    plaza = run.act("citizen_01", "speak", content="hello")
    assert (plaza.success, plaza.resource_effect) == (True, -2)
    run = runs(turns=1)
    alley = run.act("jester_01", "speak", content="hello")
    assert (alley.effect_applied, alley.place_before) == (Effect(energy={"jester_01": -1}), "alley_a")


def test_speaking_in_the_market_is_allowed_unless_a_rule_forbids_it(runs: Any) -> None:
    assert runs(turns=1).act("merchant_01", "speak", content="fair price").success
    forbidden = runs(turns=1, rules={"speak_in_market": False}).act("merchant_01", "speak", content="fair price")
    assert (forbidden.reason, "speak" in forbidden.feasible_actions) == ("wrong_place", False)


def test_a_trade_nets_1_and_pays_1_of_tax_into_the_treasury(runs: Any) -> None:
    run = runs(turns=1)
    record = run.act("merchant_01", "trade")
    assert record.effect_applied == Effect(energy={"merchant_01": 1}, treasury=1)
    assert (record.null_effect, record.effect_shadow, run.state.treasury) == (False, NOTHING, 1)


@pytest.mark.parametrize(("rate", "net", "tax"), [(0, 2, 0), (1, 1, 1), (10, 1, 1), (30, 1, 1)])
def test_every_rate_from_1_to_30_percent_takes_1(runs: Any, rate: int, net: int, tax: int) -> None:
    record = runs(turns=1, rules={"tax_rate": rate}).act("merchant_01", "trade")
    assert (record.resource_effect, record.effect_applied.treasury) == (net, tax)


def test_an_exact_tax_takes_4_times_the_rate_counted_in_hundredths(runs: Any) -> None:
    run = runs(turns=1, rules={"tax_rounding": "exact", "tax_rate": 7})
    record = run.act("merchant_01", "trade")
    assert record.effect_applied == Effect(energy={"merchant_01": 200 - 28}, treasury=28)
    assert run.state.agents["merchant_01"].energy == 9_500 + 172
    assert run.scene("merchant_01").energy == 96
    run.play()
    assert run.of("market_settled")[0].effective_tax == "0.28"


def test_support_gives_its_target_2_energy_and_1_influence(runs: Any) -> None:
    run = runs(turns=1)
    record = run.act("citizen_01", "support", "citizen_02")
    assert record.effect_applied == Effect(energy={"citizen_01": -1, "citizen_02": 2}, influence={"citizen_02": 1})
    assert run.scene("citizen_02").supporters == {"citizen_01": 1}
    assert run.scene("citizen_01").supported == {"citizen_02": 1}


def test_in_a_crisis_support_gives_1_energy_and_2_influence_more(runs: Any) -> None:
    run = runs(turns=2, rules={"crisis": {"p": 1, "from": 1}})
    record = run.act("citizen_01", "support", "citizen_02")
    assert record.effect_applied == Effect(energy={"citizen_01": -1, "citizen_02": 3}, influence={"citizen_02": 3})


def test_an_elder_gives_half_as_much_energy_again(runs: Any) -> None:
    run = runs(turns=20, rules={"energy": {"start": 200}})

    def adore(state: Any, agent: str) -> Any:
        here = state.agents[agent].place == "plaza" and agent != "citizen_01"
        return ("support", "citizen_01", None) if here else run.IDLE

    run.epoch(adore).epoch(adore)
    assert run.state.agents["citizen_01"].rank == "elder"
    assert run.act("citizen_01", "support", "citizen_02").effect_applied.energy["citizen_02"] == 3


def test_ranks_change_at_5_and_at_10(runs: Any) -> None:
    run = runs(turns=3)
    for _ in range(2):
        run.epoch(lambda _, agent: ("support", "citizen_02", None) if agent != "citizen_02" else run.IDLE)
    changes = [(event.before, event.rank) for event in run.of("rank_changed")]
    assert changes == [("commoner", "notable"), ("notable", "elder")]
    influence = 0
    for event, _, _ in run.log:
        if event.type == "agent_acted":
            influence += event.record.effect_applied.influence.get("citizen_02", 0)
        if event.type == "rank_changed":
            assert influence == {"notable": 5, "elder": 10}[event.rank]


def test_energy_above_the_maximum_is_lost_and_the_log_has_what_was_kept(runs: Any) -> None:
    run = runs(turns=1, rules={"energy": {"start": 200}, "decay": {"base": 1, "step": 0}})
    record = run.act("citizen_01", "support", "citizen_02")
    assert record.effect_applied.energy == {"citizen_01": -1, "citizen_02": 1}


@pytest.mark.parametrize(
    ("agent", "action", "target", "reason"),
    [
        ("citizen_01", "trade", None, "wrong_place"),
        ("citizen_01", "whisper", "citizen_02", "wrong_place"),
        ("jester_01", "whisper", "jester_02", "not_here"),
        ("jester_01", "whisper", None, "no_target"),
        ("citizen_01", "support", "merchant_01", "not_here"),
        ("citizen_01", "support", "citizen_01", "no_target"),
        ("citizen_01", "support", "nobody_09", "not_here"),
        ("citizen_01", "support", None, "no_target"),
        ("citizen_01", "move", None, "no_target"),
        ("citizen_01", "move", "alley", "unknown_place"),
        ("citizen_01", "move", "plaza", "same_place"),
        ("architect_01", "build_billboard", None, "bad_value"),
        ("architect_01", "adjust_tax", "31", "bad_value"),
        ("architect_01", "adjust_tax", "lower", "bad_value"),
        ("architect_01", "grant_subsidy", "citizen_01", "bad_value"),
        ("architect_01", "grant_subsidy", None, "no_target"),
    ],
)
def test_an_attempt_that_cannot_be_is_logged_with_its_reason_and_does_nothing(
    runs: Any, agent: str, action: str, target: str | None, reason: str
) -> None:
    run = runs(turns=1).until(agent)
    before = run.state
    record = run.answer((action, target, None)).record
    assert (record.action, record.success, record.reason) == (action, False, reason)
    assert (record.effect_applied, record.null_effect, record.place_after) == (NOTHING, True, record.place_before)
    after = run.state
    assert [each.energy for each in after.agents.values()] == [each.energy for each in before.agents.values()]
    if after.turn == before.turn and after.stage == "acting":
        assert run.shown(agent, "failed") == [{"reason": reason}]


def test_a_move_into_a_full_alley_fails(runs: Any) -> None:
    homes = dict.fromkeys(("citizen_01", "citizen_02", "archivist_01"), "alley_a")
    run = runs(homes=homes, turns=1)
    record = run.act("merchant_01", "move", "alley_a")
    assert (record.reason, record.place_after, "move" in record.feasible_actions) == ("place_full", "market", True)


def test_equal_energy_is_enough_and_with_less_the_act_fails_at_no_cost(runs: Any) -> None:
    rules = {"energy": {"start": 7}, "death": False}
    run = runs(rules=rules, turns=2)
    assert run.act("citizen_01", "speak", content="a").success
    assert run.state.agents["citizen_01"].energy == 0
    second = run.epoch().act("citizen_01", "speak", content="b")
    assert (second.reason, second.resource_effect, second.feasible_actions) == (
        "not_enough_energy",
        0,
        ("move", "idle"),
    )


def test_what_is_feasible_follows_from_the_place_and_from_who_is_there(runs: Any) -> None:
    run = runs(turns=1)
    assert run.act("jester_01", "idle").feasible_actions == ("speak", "move", "idle")
    run = runs(turns=1, homes={"jester_02": "alley_a"})
    assert run.act("jester_01", "idle").feasible_actions == ("speak", "support", "whisper", "move", "idle")
    run = runs(turns=1)
    assert run.act("merchant_01", "idle").feasible_actions == ("speak", "trade", "support", "move", "idle")


@pytest.mark.parametrize("code", ["parse_error", "invalid_action", "timeout", "refusal"])
def test_a_reply_that_is_not_an_act_does_nothing_and_is_not_idle(runs: Any, code: str) -> None:
    run = runs(turns=1)
    agent = run.state.next_agent
    run.fail(code).then(like(events.TurnFailed))
    record = run.record
    assert (record.parse_code, record.action, record.thought, record.success) == (code, None, None, False)
    assert (record.fn_class, record.dissoc, record.null_effect, record.cue_s) == (None, "U", True, False)
    assert all(not run.scene(name).events for name in run.state.living)
    assert run.state.next_agent != agent


@pytest.mark.parametrize("action", ["build_billboard", "adjust_tax", "grant_subsidy", "dance"])
def test_a_skill_of_somebody_else_is_an_invalid_action(runs: Any, action: str) -> None:
    run = runs(turns=1).until("citizen_01").answer((action, None, "10")).then(like(events.TurnFailed))
    assert (run.record.parse_code, run.record.action) == ("invalid_action", None)


def test_the_record_tells_who_where_and_in_which_order(runs: Any) -> None:
    run = runs(turns=2)
    run.answer(("idle", None, None), thought="나는 살아남아야 한다", attempt=2, latency_ms=9)
    record, seat = run.record, run.state.seat(run.record.agent)
    assert (record.turn, record.order, record.attempt, record.latency_ms) == (1, 1, 2, 9)
    assert (record.home_location, record.persona, record.model) == (seat.home, seat.persona, "scripted")
    assert (record.residents, record.residents_start, record.turns_planned) == (12, 12, 2)
    assert record.agent not in record.others_here
    assert (record.constraint_level, record.set, record.cell) == (None, None, "stage1/scripted/en")
    assert run.answer().record.order == 2


def test_every_call_is_an_event_of_its_own_before_the_act(runs: Any) -> None:
    run = runs(turns=1)
    agent = run.state.next_agent
    calls = ({"outcome": "timeout", "cost": None}, {"outcome": "ok", "cost": "0.002"})
    run.answer(attempts=calls, attempt=2).then(like(events.CallMade), like(events.CallMade), like(events.AgentActed))
    assert [(event.agent, event.turn, event.call) for event in run.of("call_made")] == [
        (agent, 1, calls[0]),
        (agent, 1, calls[1]),
    ]


@pytest.mark.parametrize(("before", "net"), [(198, 1), (199, 1), (200, 0)])
def test_what_a_trade_takes_beyond_the_maximum_is_lost_after_tax(runs: Any, before: int, net: int) -> None:
    run = at_energy(runs(turns=1), "merchant_01", before)
    record = run.act("merchant_01", "trade")
    assert (record.resource_effect, record.effect_applied.treasury) == (net, 1)
    assert run.state.agents["merchant_01"].energy == before + net
    assert record.null_effect is False


def test_who_pays_and_is_given_as_much_has_paid(runs: Any) -> None:
    free = runs(turns=1, rules={"rewards": {"speak_alley": 2}})
    spoken = free.act("jester_01", "speak", content="hello")
    assert (spoken.success, spoken.effect_applied, spoken.null_effect) == (True, NOTHING, False)
    moved = runs(turns=1).act("jester_01", "move", "plaza")
    assert (moved.success, moved.null_effect) == (True, True)
    shadow = runs("phase1", turns=1, rules={"rewards": {"speak_alley": 2}}).act("jester_01", "speak", content="hello")
    assert (shadow.success, shadow.null_effect) == (True, True)


def at_energy(run: Any, agent: str, energy: int) -> Any:
    """The run as if the agent had so much."""
    held = msgspec.structs.replace(run.until(agent).state.agents[agent], energy=energy)
    run.state = msgspec.structs.replace(run.state, agents={**run.state.agents, agent: held})
    return run
