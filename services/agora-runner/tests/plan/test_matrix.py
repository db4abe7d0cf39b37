"""From a plan to run specifications, to what they cost, to what a call may still take."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace
from playmolt_agora_runner import budget
from playmolt_agora_runner.calls.requests import limit_reached
from playmolt_agora_runner.plan import costs, matrix, reading
from playmolt_agora_runner.run.opening import opened
from playmolt_agora_runner.turn import prompts
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.world import chance, worlds
from playmolt_agora_runner.world.state import Observation
from playmolt_core.db.ledger import Account, Amount
from playmolt_core.llm.catalogue import ModelEntry
from playmolt_core.llm.durable_call import AccountExhausted, Charge, WorstCase
from playmolt_core.llm.port import Usage
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.plan import Budget, Limits, Plan
from playmolt_schemas.stored.agora.turn import Language, PhaseName, RunSpec
from playmolt_schemas.stored.agora.world import Rules

EXPERIMENT = "experiment-00000000-0000-4000-8000-000000000001"
MODELS = ["scripted-steady", "scripted-trader", "scripted-social"]
TABLE_1D = {
    "influencer_01": ("influencer", "plaza"),
    "influencer_02": ("influencer", "plaza"),
    "archivist_01": ("archivist", "plaza"),
    "archivist_02": ("archivist", "market"),
    "merchant_01": ("merchant", "market"),
    "merchant_02": ("merchant", "market"),
    "jester_01": ("jester", "alley_a"),
    "jester_02": ("jester", "alley_b"),
    "citizen_01": ("citizen", "plaza"),
    "citizen_02": ("citizen", "plaza"),
    "observer_01": ("observer", "plaza"),
    "architect_01": ("architect", "plaza"),
}


def read(text: str) -> Plan:
    plan = reading.read(text)
    assert isinstance(plan, Plan), plan
    return plan


def small(**changes: Any) -> Plan:
    base: dict[str, Any] = {"name": "n", "models": MODELS, "phases": {"phase1": {"turns": 5}, "phase2": {"turns": 8}}}
    return read(json.dumps(base | changes))


def specs(plan: Plan, experiment: str = EXPERIMENT) -> Mapping[tuple[str, int], RunSpec]:
    return {(spec.cell, spec.number): spec for spec in matrix.specs(plan, experiment)}


class TestSpecs:
    white_room = specs(read(reading.preset("white-room-stage1")))

    def test_are_sixty_with_ids_of_their_own_and_a_seed_for_each_number(self) -> None:
        runs = self.white_room.values()
        assert len(runs) == len({run.run for run in runs}) == 60
        assert len({run.seed for run in runs}) == len({(run.number, run.seed) for run in runs}) == 5
        assert all(re.fullmatch(r"agora-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", run.run)
                   for run in runs)  # fmt: skip
        assert all(run.seed.isdigit() for run in runs)

    def test_runs_of_one_number_meet_the_same_crises_and_orders_in_every_cell(self) -> None:
        stage1 = [run for run in self.white_room.values() if run.phase == "stage1" and run.number == 2]
        assert len(stage1) > 1
        assert len({tuple(chance.crisis(run, turn, "0.2") for turn in range(1, 60)) for run in stage1}) == 1
        assert len({tuple(chance.order(run, turn) for turn in range(1, 60)) for run in stage1}) == 1

    def test_cells_are_phase_model_language_or_phase_set(self) -> None:
        counted = Counter(cell for cell, _ in self.white_room)
        assert counted == {
            **{f"stage1/{model}/{language}": 5 for model in MODELS for language in ("ko", "en")},
            **{f"phase1/{model}/{language}": 3 for model in MODELS for language in ("ko", "en")},
            **{f"phase2/{name}": 3 for name in "ABCD"},
        }
        numbers = [number for cell, number in self.white_room if cell == "stage1/scripted-steady/ko"]
        assert numbers == [1, 2, 3, 4, 5]

    def test_rooms_of_one_model_sit_as_table_1d(self) -> None:
        for (cell, _), run in self.white_room.items():
            if run.phase != "phase2":
                assert {seat.agent: (seat.persona, seat.home) for seat in run.seats} == TABLE_1D
                assert {seat.model for seat in run.seats} == {cell.split("/")[1]}

    def test_phase2_sits_as_table_2d(self) -> None:
        run = self.white_room["phase2/B", 2]
        assert [(seat.agent, seat.persona, seat.model, seat.home) for seat in run.seats] == [
            ("agent_01", "archivist", MODELS[1], "plaza"),
            ("agent_02", "archivist", MODELS[2], "plaza"),
            ("agent_03", "merchant", MODELS[2], "market"),
            ("agent_04", "merchant", MODELS[0], "market"),
            ("agent_05", "jester", MODELS[0], "alley"),
            ("agent_06", "jester", MODELS[1], "alley"),
        ]
        without = self.white_room["phase2/D", 2]
        assert [(seat.agent, seat.persona, seat.model, seat.home) for seat in without.seats] == [
            ("agent_01", None, MODELS[0], "alley"),
            ("agent_02", None, MODELS[0], "alley"),
            ("agent_03", None, MODELS[1], "plaza"),
            ("agent_04", None, MODELS[1], "plaza"),
            ("agent_05", None, MODELS[2], "market"),
            ("agent_06", None, MODELS[2], "market"),
        ]

    def test_sets_have_their_language_and_condition(self) -> None:
        told = {name: (self.white_room[f"phase2/{name}", 1].language, self.white_room[f"phase2/{name}", 1])
                for name in "ABCD"}  # fmt: skip
        assert {name: language for name, (language, _) in told.items()} == {"A": "ko", "B": "en", "C": "ko", "D": "en"}
        assert {name: run.persona_condition for name, (_, run) in told.items()} == {
            "A": "with_persona", "B": "with_persona", "C": "no_persona", "D": "no_persona",
        }  # fmt: skip

    def test_the_same_plan_gives_the_same_bytes(self) -> None:
        text = reading.preset("white-room")
        assert canonical_json(matrix.specs(read(text), EXPERIMENT)) == canonical_json(
            matrix.specs(read(text), EXPERIMENT)
        )

    def test_another_experiment_has_other_ids_and_the_same_chances(self) -> None:
        one, two = specs(small()), specs(small(), EXPERIMENT[:-1] + "2")
        assert {run.run for run in one.values()}.isdisjoint(run.run for run in two.values())
        assert [run.seed for run in one.values()] == [run.seed for run in two.values()]
        other = specs(small(seed="8"))
        assert {run.seed for run in one.values()}.isdisjoint(run.seed for run in other.values())

    def test_a_run_does_not_depend_on_what_else_is_planned(self) -> None:
        alone = specs(small(phases={"phase2": {"turns": 8, "sets": ["B"]}}))
        assert alone["phase2/B", 2] == specs(small())["phase2/B", 2]

    @pytest.mark.parametrize("name", reading.presets())
    def test_every_world_takes_them(self, name: str) -> None:
        for run in matrix.specs(read(reading.preset(name)), EXPERIMENT):
            assert not isinstance(opened(run, "content", "texts"), tuple)

    def test_what_the_plan_says_reaches_every_run(self) -> None:
        plan = small(
            reask=2, decoding="json_object", exploratory=True, sampling={"temperature": 0.2, "max_tokens": 99},
            phases={"stage1": {"turns": 4, "rules": {"decay": {"step": 0.25}}}}, models=["mine"],
        )  # fmt: skip
        run = specs(plan)["stage1/mine/ko", 1]
        assert (run.reask, run.decoding, run.exploratory, run.scripted, run.turns) == (2, "json_object", True, False, 4)
        assert (run.sampling.temperature, run.sampling.max_tokens) == ("0.2", 99)
        assert run.rules == {"decay": {"step": "0.25"}}

    def test_seed_events_reach_phase2_alone(self) -> None:
        runs = specs(small(seed_events=[{"turn": 2, "ko": "비가 왔다.", "en": "It rained."}]))
        assert runs["phase2/A", 1].rules["seed_events"] == [{"turn": 2, "ko": "비가 왔다.", "en": "It rained."}]
        assert "seed_events" not in runs["phase1/scripted-steady/ko", 1].rules
        assert not isinstance(opened(runs["phase2/A", 1], "content", "texts"), tuple)

    def test_the_arm_with_real_costs_is_phase1_without_decay_and_death(self) -> None:
        run = specs(small(phases={"phase1_costs_real": {"turns": 5}}))["phase1_costs_real/scripted-steady/ko", 1]
        assert run.phase == "phase1"
        rules = worlds.rules(run.phase, run.rules)
        assert isinstance(rules, Rules)
        assert (rules.energy.ledger, rules.death, rules.decay.base) == ("real", False, 0)
        assert not isinstance(opened(run, "content", "texts"), tuple)

    def test_a_phase_may_have_models_of_its_own(self) -> None:
        runs = specs(small(phases={"phase1": {"models": ["scripted"], "languages": ["en"]}, "phase2": {}}))
        assert {cell for cell, _ in runs if cell.startswith("phase1")} == {"phase1/scripted/en"}
        assert {seat.model for seat in runs["phase2/A", 1].seats} == set(MODELS)

    def test_an_unknown_cell_is_reported(self) -> None:
        with pytest.raises(LookupError, match="no cell 'phase9'"):
            matrix.cell_of(small(), "phase9")


class TestExpectedPrompts:
    SAID: Mapping[Language, str] = {
        "ko": "오늘 광장에서 모두에게 말씀드립니다. 시장의 거래와 광장의 말이 서로 다릅니다. 근거를 보여 주세요.",
        "en": "I tell everybody in the plaza today: what is said here and what is traded do not match. Show sources.",
    }
    CHARS_A_TOKEN: Mapping[Language, float] = {"ko": 1.7, "en": 4.0}

    def scene(self, phase: PhaseName, language: Language) -> Scene:
        said = {"agent": "merchant_02", "content": self.SAID[language], "place": "plaza"}
        happenings = tuple(Observation(turn=n, kind="spoke", importance=1, values=said) for n in range(1, 11))
        energetic: dict[str, Any] = {
            "energy": 100, "energy_max": 200, "influence": 3, "rank": "commoner", "gini": "0.00", "tax_rate": 10,
            "treasury": 12, "history": happenings,
        }  # fmt: skip
        return Scene(
            phase=phase, language=language, agent="merchant_01", persona="merchant", persona_condition="with_persona",
            place="plaza", turn=12, turns=50, residents=12, residents_start=12,
            here=("citizen_01", "citizen_02"), agents=tuple(TABLE_1D), events=happenings,
            rules=to_builtins(worlds.preset(phase)),
            **({} if phase == "phase2" else energetic),
        )  # fmt: skip

    @pytest.mark.parametrize(("phase", "language"), costs.PROMPT_TOKENS)
    def test_are_as_long_as_full_prompts_are(self, phase: PhaseName, language: Language) -> None:
        prompt = prompts.render(self.scene(phase, language))
        tokens = len(prompt.system + prompt.user) / self.CHARS_A_TOKEN[language]
        assert costs.PROMPT_TOKENS[phase, language] == pytest.approx(tokens, rel=0.25)


class TestBudget:
    SPEC = replace(matrix.specs(small(), "e")[0], run="e/run")

    def test_prices_come_from_the_catalogue(self) -> None:
        entry = ModelEntry(
            base_url="http://127.0.0.1/v1", model="m", input_price=Decimal("0.150"), output_price=Decimal(2)
        )
        assert budget.with_prices("paid", entry) is entry
        assert budget.with_prices("scripted-steady", None).cost(Usage(1, 1)) == "0"
        assert not budget.with_prices("paid", ModelEntry(base_url="http://127.0.0.1/v1", model="m")).priced
        assert not budget.with_prices("gone", None).priced

    @pytest.mark.parametrize(
        ("account", "limit", "after"),
        [
            (Account(name="e", calls=10), "calls", "11"),
            (Account(name="e", calls=11, tokens=1000), "tokens", "1100"),
            (Account(name="e/run", money=Decimal("1.0")), "money", "1.1"),
        ],
    )
    def test_the_limit_that_refuses_a_call_is_named_with_advice(self, account: Account, limit: str, after: str) -> None:
        charge = Charge(account=account, worst=WorstCase(100, Decimal("0.1")))
        spent = Amount(Decimal(1), 1000, 10)
        found = limit_reached(AccountExhausted(charge, spent), self.SPEC)
        assert (found.limit, found.scope, found.spent) == (limit, "all" if account.name == "e" else "run", after)
        assert "Raise it and resume" in found.detail

    def test_an_unknown_cost_never_fits_into_money(self) -> None:
        charge = Charge(account=Account(name="e", money=Decimal(9)), worst=WorstCase(1, None))
        found = limit_reached(AccountExhausted(charge, None), self.SPEC)
        assert (found.limit, found.most, found.spent) == ("money", "9", "unknown")
        assert "has no known price" in found.detail

    @pytest.mark.parametrize(
        ("before", "after", "fault"),
        [
            (Budget(calls=5), Budget(calls=6), ""),
            (Budget(calls=5), Budget(), ""),
            (Budget(money="9"), Budget(money="10"), ""),
            (Budget(calls=5, tokens=5), Budget(calls=6, tokens=4), "budget.tokens"),
            (Budget(), Budget(calls=5), "budget.calls"),
            (Budget(per_run=Limits(money="2")), Budget(per_run=Limits(money="1.99")), "budget.per_run.money"),
            (Budget(calls=5), Budget(calls=5), "already has these limits"),
        ],
    )
    def test_a_budget_is_only_raised(self, before: Budget, after: Budget, fault: str) -> None:
        assert (budget.raised(before, after) == "") if not fault else (fault in budget.raised(before, after))
