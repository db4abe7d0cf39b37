"""The market, the treasury, whispers, the architect, crises and deaths."""

from typing import Any

import pytest
from playmolt_agora_runner.world import chance, market, worlds
from playmolt_schemas.stored.agora.turn import Effect

TRADE = ("trade", None, None)
IDLE = ("idle", None, None)


def test_non_traders_in_the_market_get_2_first_and_traders_share_the_rest(runs: Any) -> None:
    run = runs(turns=1).epoch(lambda _, agent: TRADE if agent == "merchant_01" else IDLE)
    settled = run.of("market_settled")[0]
    assert settled.shares == {"archivist_02": 2, "merchant_02": 2, "merchant_01": 21}
    assert (settled.pool, settled.lost, settled.minimum) == (25, 0, ("archivist_02", "merchant_02"))
    assert settled.effect_applied == Effect(energy=settled.shares)


def test_shares_are_floored_and_the_remainder_is_lost() -> None:
    rules = worlds.preset("stage1")
    found = market.shares(rules, 25, {"a": 1, "b": 1, "c": 1}, ("d",))
    assert found == {"a": 7, "b": 7, "c": 7, "d": 2}
    weighted = market.shares(rules, 25, {"a": 3, "b": 1}, ())
    assert weighted == {"a": 18, "b": 6}


def test_a_pool_that_does_not_suffice_gives_every_non_trader_the_same() -> None:
    idle = tuple("abcdefg")
    found = market.shares(worlds.preset("stage1"), 10, {"t": 1}, idle)
    assert found == {**dict.fromkeys(idle, 1), "t": 3}


def test_when_nobody_traded_the_rest_of_the_pool_is_lost(runs: Any) -> None:
    settled = runs(turns=1).epoch().of("market_settled")[0]
    assert (sum(settled.shares.values()), settled.lost, settled.next_pool) == (6, 19, 25)


@pytest.mark.parametrize(
    ("overflow", "left", "pools"),
    [("next_epoch", 100, [25, 29, 25]), ("permanent", 100, [25, 29, 29]), ("off", 104, [25, 25, 25])],
)
def test_what_exceeds_the_cap_of_the_treasury_joins_the_pool_once_for_good_or_never(
    runs: Any, overflow: str, left: int, pools: list[int]
) -> None:
    rules = {"treasury_overflow": overflow, "rewards": {"trade": 400}, "tax_rate": 26}
    run = runs(turns=3, rules=rules)
    run.epoch(lambda _, agent: TRADE if agent == "merchant_01" else IDLE)
    assert (run.state.treasury, run.of("market_settled")[0].overflow) == (left, 104 - left)
    run.play()
    assert [event.pool for event in run.of("market_settled")] == pools
    assert run.state.treasury == left


def test_the_architect_sets_the_tax_and_the_next_trade_pays_it(runs: Any) -> None:
    run = runs(turns=2)
    record = run.act("architect_01", "adjust_tax", None, "0%")
    assert (record.success, record.effect_applied) == (True, Effect(energy={"architect_01": -5}))
    changed = run.of("tax_changed")[0]
    assert (changed.before, changed.rate, changed.effective_tax) == (10, 0, "0")
    assert run.scene("merchant_01").tax_rate == 0
    run.epoch()
    assert run.act("merchant_01", "trade").effect_applied == Effect(energy={"merchant_01": 2})


def test_a_subsidy_takes_from_the_treasury_what_its_target_gets_and_no_more_than_there_is(runs: Any) -> None:
    run = runs(turns=2).epoch(lambda _, agent: TRADE if agent.startswith("merchant") else IDLE)
    granted = run.act("architect_01", "grant_subsidy", "jester_01", "2")
    assert granted.effect_applied == Effect(energy={"jester_01": 2}, treasury=-2)
    assert (granted.resource_effect, granted.null_effect, run.state.treasury) == (0, False, 0)
    assert run.shown("jester_01", "subsidy") == [{"agent": "architect_01", "target": "jester_01", "amount": 2}]
    run = runs(turns=2).epoch(lambda _, agent: TRADE if agent.startswith("merchant") else IDLE)
    refused = run.act("architect_01", "grant_subsidy", "jester_01", "3")
    assert (refused.reason, refused.effect_applied, run.state.treasury) == ("not_enough_treasury", Effect(), 2)


def test_a_billboard_is_shown_in_its_epoch_and_the_next_and_replaced_by_a_new_one(runs: Any) -> None:
    run = runs(turns=5)
    assert run.act("architect_01", "build_billboard", None, "Meet at noon").effect_applied.energy == {
        "architect_01": -10
    }
    assert run.scene("citizen_01").billboard == "Meet at noon"
    run.epoch()
    assert (run.state.turn, run.scene("citizen_01").billboard) == (2, "Meet at noon")
    run.act("architect_01", "build_billboard", None, "No, at dusk")
    assert run.scene("citizen_01").billboard == "No, at dusk"
    run.epoch().epoch()
    assert (run.state.turn, run.scene("citizen_01").billboard) == (4, None)


def whispers(runs: Any, *, third: str | None, rules: dict[str, Any] | None = None, seeds: int = 300) -> float:
    """The share of whispers that leak over many seeds."""
    homes = {"jester_02": "alley_a"} | ({third: "alley_a"} if third else {})
    leaked = 0
    for seed in range(seeds):
        run = runs(turns=1, seed=str(seed), homes=homes, rules=rules)
        run.act("jester_01", "whisper", "jester_02", "the secret")
        leaked += len(run.of("whisper_leaked"))
    return leaked / seeds


def test_a_whisper_leaks_in_15_percent_only_if_a_third_is_there_and_50_with_an_observer(runs: Any) -> None:
    assert whispers(runs, third=None, seeds=60, rules={"leak": 1, "leak_observer": 0}) == 0
    assert whispers(runs, third="citizen_01") == pytest.approx(0.15, abs=0.05)
    assert whispers(runs, third="observer_01") == pytest.approx(0.50, abs=0.07)


def test_an_observer_who_whispers_or_is_whispered_to_makes_no_leak_likelier(runs: Any) -> None:
    homes = {"observer_01": "alley_a", "citizen_01": "alley_a"}
    for sender, target in (("observer_01", "jester_01"), ("jester_01", "observer_01")):
        run = runs(turns=1, homes=homes, rules={"leak": 0, "leak_observer": 1})
        run.act(sender, "whisper", target, "the secret")
        assert not run.of("whisper_leaked")


def test_who_hears_of_a_leak_learns_who_whispered_to_whom_and_not_what(runs: Any) -> None:
    homes = {"jester_02": "alley_a", "citizen_01": "alley_a"}
    run = runs(turns=1, homes=homes, rules={"leak": 1, "leak_observer": 0})
    run.act("jester_01", "whisper", "jester_02", "the secret")
    assert run.shown("citizen_01", "leaked") == [{"agent": "jester_01", "target": "jester_02"}]
    assert run.shown("jester_02", "leaked") == []
    assert run.shown("citizen_02", "leaked") == []
    assert [each["content"] for each in run.shown("jester_02", "whispered")] == ["the secret"]


def test_the_dead_leave_all_lists_and_get_no_turn(runs: Any) -> None:
    doomed = "citizen_01"
    run = runs(turns=4, rules={"energy": {"start": 4}, "decay": {"base": 0, "step": 0}})
    for _ in range(2):
        run.epoch(lambda _, agent: ("speak", None, "x") if agent == doomed else IDLE)
    assert [(event.agent, event.turn) for event in run.of("agent_died")] == [(doomed, 2)]
    scene = run.scene("citizen_02")
    assert doomed not in scene.agents
    assert doomed not in scene.here
    assert {"agent": doomed} in run.shown("citizen_02", "death")
    run.play()
    turns = [event.record for event in run.of("agent_acted") if event.record.turn > 2]
    assert doomed not in {record.agent for record in turns}
    assert all(record.residents == 11 for record in turns if record.turn == 3)


def test_the_run_ends_when_nobody_lives(runs: Any) -> None:
    run = runs(turns=50, rules={"energy": {"start": 6}}).play()
    assert (run.state.outcome, run.state.turn, run.events[-1].type) == ("died_out", 2, "run_ended")
    assert len(run.of("agent_died")) == 12


def test_the_same_seed_gives_the_same_crises_in_every_cell_whatever_agents_do(runs: Any) -> None:
    drawn = {}
    for cell, choice in (("a", IDLE), ("b", ("speak", None, "x"))):
        run = runs(turns=20, cell=cell, run=f"agora-{cell}", seed="11", rules={"crisis": {"p": "0.3"}, "death": False})
        run.play(lambda _, __, choice=choice: choice)
        drawn[cell] = [event.crisis for event in run.of("epoch_started")]
    assert drawn["a"] == drawn["b"] != [None] * 20
    assert set(filter(None, drawn["a"])) <= set(chance.CRISES)


def test_the_order_is_drawn_again_each_turn_and_is_the_same_for_the_same_seed(runs: Any) -> None:
    first, second, other = (runs(turns=6, seed=seed).play().of("epoch_started") for seed in ("5", "5", "6"))
    assert [event.order for event in first] == [event.order for event in second] != [event.order for event in other]
    assert len({event.order for event in first}) > 1
    assert all(sorted(event.order) == sorted(runs.NAMES) for event in first)


def test_shuffled_personas_keep_the_twelve_homes(runs: Any) -> None:
    fixed, shuffled = runs(turns=1), runs(turns=1, rules={"persona_assignment": "shuffled"})
    homes = [[seat.home for seat in run.state.seats] for run in (fixed, shuffled)]
    assert sorted(homes[0]) == sorted(homes[1])
    assert homes[0] != homes[1]
    assert [seat.agent for seat in shuffled.state.seats] == list(runs.NAMES)
    assert {name: agent.place for name, agent in shuffled.state.agents.items()} == dict(
        zip(runs.NAMES, homes[1], strict=True)
    )
    assert shuffled.answer().record.home_location in homes[1]
