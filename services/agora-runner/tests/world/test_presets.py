"""The worlds' files: the values of stage1.md, what later phases leave out, and what a plan may change."""

from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.world import world, worlds
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.stored.agora.world import Rules


def changed(phase: Any, **overrides: Any) -> Rules:
    found = worlds.rules(phase, overrides)
    assert isinstance(found, Rules), found
    return found


def faults(phase: Any, overrides: dict[str, Any]) -> tuple[str, ...]:
    found = worlds.rules(phase, overrides)
    assert isinstance(found, tuple)
    assert all(isinstance(fault, FieldFault) and fault.message for fault in found)
    return tuple(fault.field for fault in found)


def test_stage_1_has_the_values_of_its_page() -> None:
    rules = worlds.preset("stage1")
    assert (rules.epochs, rules.energy.start, rules.energy.max, rules.energy.ledger) == (50, 100, 200, "real")
    assert msgspec.structs.asdict(rules.decay) == {"base": 5, "step": "0.5", "every": 10}
    assert msgspec.structs.asdict(rules.costs) == {
        "speak": 2, "trade": 2, "support": 1, "whisper": 1, "move": 0, "idle": 0,
        "billboard": 10, "tax": 5, "subsidy": 0,
    }  # fmt: skip
    assert msgspec.structs.astuple(rules.rewards) == (4, 1, 2, 1)
    assert msgspec.to_builtins(rules.crisis) == {
        "from": 10, "p": "0.3", "extra": 5, "support_energy": 1, "support_influence": 2,
    }  # fmt: skip
    assert (rules.elder_factor, rules.tax_rounding, rules.tax_rate) == ("1.5", "at_least_one", 10)
    assert (rules.pool, rules.non_trader_min, rules.treasury_overflow, rules.treasury_cap) == (25, 2, "next_epoch", 100)
    assert (rules.leak, rules.leak_observer, rules.billboard_epochs) == ("0.15", "0.35", 2)
    assert (rules.ranks.notable, rules.ranks.elder) == (5, 10)
    assert msgspec.structs.astuple(rules.history) == (5, 5, 4, 4, 4, 3, 2, 1)
    assert rules.places == ("plaza", "market", "alley_a", "alley_b", "alley_c")
    assert msgspec.structs.astuple(rules.capacity) == (12, 12, 4)


def test_phase_1_is_stage_1_without_what_the_source_takes_away() -> None:
    stage1, phase1 = (msgspec.to_builtins(worlds.preset(phase)) for phase in ("stage1", "phase1"))
    assert {name for name in stage1 if stage1[name] != phase1[name]} == {
        "death", "context_by_energy", "trade_stars", "energy", "decay", "crisis", "texts",
    }  # fmt: skip
    assert phase1["energy"] == {"start": 100, "max": 200, "ledger": "shadow"}


def test_phase_2_has_three_places_without_limit_and_100_turns() -> None:
    rules = worlds.preset("phase2")
    assert (rules.epochs, rules.places, rules.energy.ledger) == (100, ("plaza", "market", "alley"), "none")
    assert msgspec.structs.astuple(rules.capacity) == (False, False, False)
    assert (rules.influence, rules.market, rules.skills, rules.leak) == (False, False, False, "0")


def test_a_plan_changes_rules_by_nested_tables_or_dotted_names() -> None:
    nested = changed("stage1", costs={"speak": 3}, tax_rate=0)
    assert (nested.costs.speak, nested.costs.trade, nested.tax_rate) == (3, 2, 0)
    assert changed("stage1", **{"costs.speak": 3, "tax_rate": 0}) == nested


def test_rules_that_need_not_be_whole_are_decimal_text() -> None:
    rules = changed("stage1", elder_factor="1.25", crisis={"p": "0.1"}, leak="0.00001")
    assert (rules.elder_factor, rules.crisis.p, rules.leak) == ("1.25", "0.1", "0.00001")


@pytest.mark.parametrize(
    ("overrides", "fields"),
    [
        ({"no_such_rule": 1}, ("rules.no_such_rule",)),
        ({"costs": {"fly": 1}, "energy.min": 0}, ("rules.costs.fly", "rules.energy.min")),
        ({"costs": 3}, ("rules.costs",)),
        ({"tax_rate": 31}, ("rules.tax_rate",)),
        ({"tax_rate": "10"}, ("rules.tax_rate",)),
        ({"crisis": {"p": "often"}}, ("rules.crisis.p",)),
        ({"crisis": {"p": 2}}, ("rules.crisis.p",)),
        ({"leak": "0.9"}, ("rules.leak_observer",)),
        ({"leak": -0.1}, ("rules.leak",)),
        ({"pool": 2.5}, ("rules.pool",)),
        ({"energy": {"start": 300}}, ("rules.energy.start",)),
        ({"ranks": {"notable": 20}}, ("rules.ranks.elder",)),
        ({"places": ["plaza"]}, ("rules.places",)),
        ({"market": False}, ("rules.market",)),
        ({"treasury_overflow": "burn"}, ("rules.treasury_overflow",)),
        ({"seed_events": [{"turn": 1, "ko": "a\x00b", "en": "b"}]}, ("rules.seed_events",)),
        ({"seed_events": [{"turn": 0, "ko": "a", "en": "b"}]}, ("rules.seed_events",)),
        ({"sampling": {"temperature": 1}}, ("rules.sampling.temperature",)),
    ],
)
def test_a_rule_that_is_unknown_or_out_of_range_is_a_fault_that_names_it(
    overrides: dict[str, Any], fields: tuple[str, ...]
) -> None:
    assert faults("stage1", overrides) == fields


def test_runs_with_equal_rules_share_their_world() -> None:
    one, other = (world.made(changed("stage1", pool=26), "stage1") for _ in range(2))
    assert one is other
    assert one.rows["trade"].gain.energy == 4
    assert world.made(changed("stage1", rewards={"trade": 9}), "stage1").rows["trade"].gain.energy == 9


def test_death_needs_real_energy() -> None:
    assert faults("phase1", {"death": True}) == ("rules.death",)


def test_another_rule_or_text_gives_another_name() -> None:
    preset = worlds.preset("stage1")
    names = {
        worlds.version("stage1", preset, "texts"),
        worlds.version("stage1", preset, "other texts"),
        worlds.version("stage1", changed("stage1", pool=26), "texts"),
    }
    assert len(names) == 3


@pytest.mark.parametrize(
    ("fields", "faulty"),
    [
        ({"rules": {"epochs": 7}}, "rules.epochs"),
        ({"rules": {"nonsense": 7}}, "rules.nonsense"),
        ({"homes": {"citizen_01": "moon"}}, "seats.home"),
        (
            {"homes": dict.fromkeys(("citizen_01", "citizen_02", "observer_01", "architect_01"), "alley_a")},
            "seats.home",
        ),
    ],
)
def test_a_spec_that_cannot_be_played_is_refused_with_its_field(runs: Any, fields: dict[str, Any], faulty: str) -> None:
    run = runs(opened=False, **fields)
    run.when(commands.OpenRun(spec=run.spec)).refused(Code.INVALID_REQUEST, faulty)


def test_a_persona_without_a_text_in_phase_2_is_refused(runs: Any) -> None:
    spec = runs.spec_of("phase2")
    seats = (msgspec.structs.replace(spec.seats[0], persona="observer"), *spec.seats[1:])
    run = runs("phase2", opened=False, seats=seats)
    run.when(commands.OpenRun(spec=run.spec)).refused(Code.INVALID_REQUEST, "seats.persona")
