"""A plan is read whole: every fault by its field, nothing a second reader could take otherwise."""

import json
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from playmolt_agora_runner.plan import attribution, reading
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan.document import Unreadable, load
from playmolt_agora_runner.plan.latin_squares import labels
from playmolt_agora_runner.plan.preview import examined
from playmolt_agora_runner.plan.reading import ParsedPlan
from playmolt_agora_runner.scripted import residents
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_schemas.agora.plan import Preview
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.plan import Hypothesis, Plan, Stage1Import

from tests.agora_locks import power

NONE = Catalogue()
THREE = ["scripted-steady", "scripted-trader", "scripted-social"]


def document(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "name": "small",
        "models": THREE,
        "languages": ["ko", "en"],
        "phases": {"phase1": {"runs": 3, "turns": 5}, "phase2": {"runs": 3, "turns": 8}},
    }
    return {name: value for name, value in {**base, **changes}.items() if value is not ...}


def read(**changes: Any) -> Plan:
    found = reading.read(json.dumps(document(**changes)))
    assert isinstance(found, Plan), found
    return found


def faults(text: str | None = None, **changes: Any) -> dict[str, str]:
    found = reading.read(json.dumps(document(**changes)) if text is None else text)
    assert isinstance(found, tuple), found
    return {fault.field: fault.message for fault in found}


def seen(text: str, catalogue: Catalogue = NONE) -> Preview:
    plan = reading.read(text)
    assert isinstance(plan, Plan), plan
    return examined(ParsedPlan(plan), catalogue, power=power)


def refused(**changes: Any) -> dict[str, str]:
    return {fault.field: fault.message for fault in examined(ParsedPlan(read(**changes)), NONE, power=power).faults}


class TestPresets:
    @pytest.mark.parametrize(
        ("name", "runs", "agents", "turns"),
        [("white-room", 30, 288, 18_000), ("white-room-stage1", 60, 648, 36_000), ("pilots", 8, 66, 4_800)],
    )
    def test_come_to_the_numbers_of_the_source(self, name: str, runs: int, agents: int, turns: int) -> None:
        found = seen(reading.preset(name))
        assert (found.runs, found.agents, found.turns, found.faults) == (runs, agents, turns, ())
        assert (found.calls, found.calls_most) == (turns, 2 * turns)

    def test_white_room_is_six_cells_and_four_sets(self) -> None:
        rows = {row.cell: (row.runs, row.agents, row.turns) for row in seen(reading.preset("white-room")).matrix}
        assert rows == {
            **{f"phase1/{model}/{language}": (3, 36, 1800) for model in THREE for language in ("ko", "en")},
            **{f"phase2/{name}": (3, 18, 1800) for name in "ABCD"},
        }

    def test_pilots_are_five_and_three_and_explore(self) -> None:
        found = seen(reading.preset("pilots"))
        assert found.exploratory
        assert {row.cell: row.runs for row in found.matrix} == {"phase1/scripted-drifter/ko": 3, "phase2/A": 5}
        assert not any(test.confirmatory for test in found.tests)

    def test_the_example_names_every_field(self) -> None:
        text = reading.preset("example")
        assert seen(text).faults == ()
        missing = [name for name in Plan.__struct_fields__ if f"{name}:" not in text]
        assert missing == []

    def test_an_unknown_name_lists_the_known_ones(self) -> None:
        with pytest.raises(LookupError, match="example, pilot-real, pilots, white-room, white-room-stage1"):
            reading.preset("../plan")

    @pytest.mark.parametrize("name", reading.presets())
    def test_the_json_schema_takes_them(self, name: str) -> None:
        schema = msgspec.json.schema(Plan)
        Draft202012Validator(schema).validate(yaml.safe_load(reading.preset(name)))


class TestReading:
    def test_yaml_and_json_read_alike(self) -> None:
        values = document(seed="7", sampling={"temperature": "0.7"}, budget={"money": "2.50"})
        assert reading.read(json.dumps(values)) == reading.read(yaml.safe_dump(values))

    def test_numbers_are_taken_for_their_text(self) -> None:
        text = "{name: n, seed: 7, models: [scripted], phases: {phase1: {}}, sampling: {temperature: 0.70}, "
        plan = reading.read(text + "budget: {money: 2.50, per_run: {money: 1}}, languages: [en]}")
        assert isinstance(plan, Plan)
        assert (plan.seed, plan.sampling.temperature) == ("7", "0.7")
        assert (plan.budget.money, plan.budget.per_run.money) == ("2.5", "1")

    def test_a_body_with_floats_reads_as_its_decimals(self) -> None:
        plan = reading.read(document(sampling={"temperature": 0.1, "max_tokens": 50}))
        assert isinstance(plan, Plan)
        assert plan.sampling.temperature == "0.1"
        assert '"temperature":0.1' not in reading.text_of(document(sampling={"temperature": 0.1}))

    @pytest.mark.parametrize("whole", ["3.0", "3.00", "0.3e+1"])
    def test_a_whole_number_may_be_written_with_its_point(self, whole: str) -> None:
        for text in (f'{{"name": "n", "models": ["scripted"], "phases": {{"phase1": {{"runs": {whole}}}}}}}',
                     f"name: n\nmodels: [scripted]\nphases: {{phase1: {{runs: {whole}}}}}\n"):  # fmt: skip
            plan = reading.read(text)
            assert isinstance(plan, Plan), plan
            assert plan.phases.phase1
            assert plan.phases.phase1.runs == 3

    def test_a_part_of_a_run_is_none(self) -> None:
        refused = reading.read("name: n\nmodels: [scripted]\nphases: {phase1: {runs: 3.5}}\n")
        assert [fault.field for fault in refused] == ["phases.phase1.runs"]

    def test_defaults_are_those_of_the_source(self) -> None:
        plan = read(phases={"stage1": {}, "phase1": {}, "phase2": {}}, languages=...)
        assert plan.languages == ("ko", "en")
        phases = plan.phases
        assert phases.stage1
        assert phases.phase1
        assert phases.phase2
        assert (phases.stage1.runs, phases.stage1.turns) == (5, 50)
        assert (phases.phase1.runs, phases.phase1.turns) == (3, 50)
        assert (phases.phase2.runs, phases.phase2.turns) == (3, 100)
        assert plans.sets(plan) == ("A", "B", "C", "D")
        assert (plan.decoding, plan.sampling.temperature, plan.sampling.max_tokens) == ("prompt", "0.8", 600)

    def test_sets_follow_the_languages(self) -> None:
        assert plans.sets(read(languages=["ko"])) == ("A", "C")
        assert plans.sets(read(languages=["en"])) == ("B", "D")

    def test_every_fault_is_named_at_once(self) -> None:
        found = faults(
            name=...,
            models=[],
            color="red",
            decoding="loud",
            reask=3,
            phases={"phase1": {"runs": "3", "turns": 0}, "phase3": {}},
            budget={"money": "-1", "calls": 1.5, "per_run": {"tokens": True}},
            sampling={"temperatur": 1},
        )
        assert set(found) == {
            "name", "models", "color", "decoding", "reask", "phases.phase1.runs", "phases.phase1.turns",
            "phases.phase3", "budget.money", "budget.calls", "budget.per_run.tokens", "sampling.temperatur",
        }  # fmt: skip
        assert found["name"] == "is required"
        assert "allowed fields are" in found["color"]

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"name": "  "}, "name"),
            ({"models": ["scripted", "scripted"]}, "models"),
            ({"languages": ["ko", "ko"]}, "languages"),
            ({"languages": ["fr"]}, "languages[0]"),
            ({"phases": {}}, "phases"),
            ({"phases": {"phase1": {"runs": 0}}}, "phases"),
            ({"phases": {"phase1": {"runs": 400}}}, "phases"),
            ({"phases": {"phase1": {"models": []}}}, "phases.phase1.models"),
            ({"phases": {"phase2": {"sets": []}}}, "phases.phase2.sets"),
            ({"phases": {"phase2": {"sets": ["A", "A"]}}}, "phases.phase2.sets"),
            ({"languages": ["ko"], "phases": {"phase2": {"sets": ["B"]}}}, "phases.phase2.sets"),
            ({"phases": {"phase2": {"sets": ["E"]}}}, "phases.phase2.sets[0]"),
            ({"phases": {"stage1": {"rules": {"taxes": 1}}}}, "phases.stage1.rules.taxes"),
            ({"phases": {"stage1": {"rules": {"crisis": {"p": 2}}}}}, "phases.stage1.rules.crisis.p"),
            ({"phases": {"stage1": {"rules": {"epochs": 20}}}}, "phases.stage1.rules.epochs"),
            ({"hypotheses": ["H3"]}, "hypotheses"),
            ({"hypotheses": [""]}, "hypotheses"),
            ({"hypotheses": [{"alpha": "0.05"}]}, "hypotheses"),
            ({"hypotheses": ["H1", "h1"]}, "hypotheses"),
            ({"hypotheses": [{"test": "H1", "alpha": "0"}]}, "hypotheses"),
            ({"hypotheses": [{"test": "H1", "beta": "0"}]}, "hypotheses[0].beta"),
            ({"hypotheses": [{"test": "pcs", "dispersion": "1"}]}, "hypotheses"),
            ({"sampling": {"temperature": "3"}}, "sampling.temperature"),
            ({"sampling": {"top_p": "1.5"}}, "sampling.top_p"),
            ({"sampling": {"max_tokens": 0}}, "sampling.max_tokens"),
            ({"adaptive": {"measure": "pcs", "width": "0.1", "max_runs": 8}}, "adaptive.measure"),
            ({"adaptive": {"measure": "p:trade", "width": "0.1", "max_runs": 2}}, "adaptive.max_runs"),
            ({"adaptive": {"measure": "p:trade", "width": "1", "max_runs": 8}}, "adaptive.width"),
            ({"phases": {"phase2": {}}, "adaptive": {"measure": "p:idle", "width": "0.1", "max_runs": 8}}, "adaptive"),
            ({"seed_events": [{"turn": 9, "ko": "비", "en": "rain"}]}, "seed_events[0].turn"),
            ({"seed_events": [{"turn": 1, "ko": "손님 2명", "en": "3 visitors"}]}, "seed_events[0]"),
            (
                {"phases": {"phase1": {"rules": {"seed_events": [{"turn": 1, "ko": "가뭄", "en": "rain"}]}}}},
                "phases.phase1.rules.seed_events[0]",
            ),
            ({"phases": {"phase1": {}}, "seed_events": [{"turn": 1, "ko": "비", "en": "rain"}]}, "seed_events"),
            ({"home_policy": "wandering"}, "home_policy"),
            ({"stage1_import": "counts.csv"}, "stage1_import"),
        ],
    )
    def test_what_makes_no_sense_is_a_fault_of_its_field(self, changes: dict[str, Any], field: str) -> None:
        assert list(faults(**changes)) == [field]

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"stage1_import": "missing.csv"}, "stage1_import"),
            ({"phases": {"stage1": {"runs": "5"}, "phase1": {"runs": 3}}}, "phases.stage1.runs"),
            ({"phases": {"stage1": {"runs": 5}, "phase1": {"runs": "3"}}}, "phases.phase1.runs"),
        ],
    )
    def test_adaptive_runs_do_not_blame_the_phase_that_has_the_fault(self, changes: dict[str, Any], field: str) -> None:
        adaptive = {"measure": "pcs", "width": "0.1", "max_runs": 5}
        assert list(faults(adaptive=adaptive, **changes)) == [field]

    def test_a_rule_has_the_code_of_its_fault(self) -> None:
        rules = {"taxes": 1, "crisis.often": 1, "tax_rate": 31, "energy.max": "x"}
        found = reading.read(document(phases={"phase1": {"rules": rules}}))
        assert isinstance(found, tuple)
        codes = {fault.field.removeprefix("phases.phase1.rules."): fault.code for fault in found}
        assert codes == {
            "taxes": "unknown_field", "crisis.often": "unknown_field", "tax_rate": "out_of_range",
            "energy.max": "wrong_type",
        }  # fmt: skip
        messages = {fault.field.removeprefix("phases.phase1.rules."): fault.message for fault in found}
        assert "tax_rate" in messages["taxes"]
        assert "from, p" in messages["crisis.often"]

    @pytest.mark.parametrize("name", ["on", "null", "2024", "1.5", "2026-01-01"])
    def test_a_name_is_what_is_written(self, name: str) -> None:
        found = reading.reading(f"name: x\nmodels: [scripted]\nphases: {{phase1: {{runs: 1}}}}\n{name}: 1\n")
        assert [(fault.field, fault.line) for fault in found.faults] == [(name, 4)]

    @pytest.mark.parametrize(
        ("changes", "fields"),
        [
            (
                {"phases": {"phase1": {"rules": {"tax_rate": 31, "crisis.p": 2, "energy.max": "x"}}}},
                [f"phases.phase1.rules.{name}" for name in ("tax_rate", "energy.max", "crisis.p")],
            ),
            (
                {"seed_events": [{"turn": 0, "ko": "비", "en": "rain"}, {"turn": 9, "ko": "비 2", "en": "rain"}]},
                ["seed_events[0].turn", "seed_events[1].turn", "seed_events[1]"],
            ),
        ],
    )  # fmt: skip
    def test_a_fault_hides_no_other_one(self, changes: dict[str, Any], fields: list[str]) -> None:
        assert list(faults(**changes)) == fields

    @pytest.mark.parametrize("value", ["", "hot", "NaN", "1e2", " 0", "."])
    def test_a_sampling_setting_that_is_no_number_is_a_fault(self, value: str) -> None:
        for name in ("temperature", "top_p"):
            found = reading.reading(json.dumps(document(sampling={name: value})))
            assert [fault.field for fault in examined(found, NONE, power=power).faults] == [f"sampling.{name}"]

    @pytest.mark.parametrize("name", ["alpha", "dispersion", "effect"])
    def test_a_value_of_a_family_is_at_fault_once_and_no_power_is_computed_from_it(self, name: str) -> None:
        phases = {"stage1": {"runs": 5, "turns": 5}, "phase1": {"runs": 3, "turns": 5}}
        hypothesis = {"test": "pcs", "effect": "0.3", name: "1.5"}
        found = reading.reading(json.dumps(document(phases=phases, hypotheses=[hypothesis])))
        (fault,) = examined(found, NONE, power=power).faults
        assert (fault.field, fault.code) == ("hypotheses", "out_of_range")
        assert all(f"pcs:{model}" in fault.message for model in THREE)

    def test_a_text_that_does_not_read_names_its_line(self) -> None:
        (fault,) = reading.reading("name: a\nseed: *x\n").faults
        assert (fault.code, fault.line) == ("unreadable", 2)

    @pytest.mark.parametrize(
        "text",
        ["", "- a", "name: a\nname: b", "{\"name\": 1, \"name\": 2}", "a: &x 1\nb: *x", "a: [", "{", "? [1]\n: 2",
         "x: !!python/object:os.system {}", "seed: .inf", "name: \"\\0\"", "{\"a\": NaN}", "a: " + "[" * 3000,
         "x" * 70_000, "name: \ud800", '{"seed": ' + "[" * 600 + "]" * 600 + "}", "seed: " + "1" * 5000],
    )  # fmt: skip
    def test_what_two_readers_would_read_differently_is_refused(self, text: str) -> None:
        assert list(faults(text)) == [""]

    @given(st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*Plan.__struct_fields__, "runs", "phase2", "x"]), inner, max_size=4),
    ))  # fmt: skip
    @settings(max_examples=50)
    def test_no_value_breaks_the_reader(self, value: Any) -> None:
        base = document()
        found = reading.read({**base, **value} if isinstance(value, dict) else value)
        if isinstance(found, Plan):
            assert examined(ParsedPlan(found), NONE, power=power).turns > 0
            assert b"e+" not in canonical_json(found)

    def test_nothing_that_is_stored_holds_a_float(self) -> None:
        plan = reading.read(document(phases={"stage1": {"rules": {"decay": {"step": 0.25}}}}))
        assert isinstance(plan, Plan)
        assert plan.phases.stage1
        assert plan.phases.stage1.rules == {"decay": {"step": "0.25"}}

    def test_anchors_are_told_where_they_stand(self) -> None:
        with pytest.raises(Unreadable, match="line 2, column 4: anchors"):
            load("a: &x 1\nb: *x")

    def test_the_identity_does_not_know_the_budget(self) -> None:
        plan = read()
        assert plans.identity(plan) == plans.identity(read(budget={"calls": 5}))
        assert plans.identity(plan) != plans.identity(read(seed="8"))

    def test_short_names_stand_for_all_of_their_family(self) -> None:
        plan = read(hypotheses=["PCS", "ri_star", {"test": "h2", "alpha": 0.01, "claim": "level"}])
        assert [entry.test for entry in plans.hypotheses(plan)] == [
            *(f"pcs:{model}" for model in THREE), "ri_star:model", "ri_star:persona", "H2",
        ]  # fmt: skip
        assert plans.hypotheses(plan)[-1] == Hypothesis(test="H2", alpha="0.01", claim="level")

    def test_a_sentence_is_a_claim_that_is_recorded(self) -> None:
        plan = read(hypotheses=["Archivists drift.", "H2"])
        assert plans.claims(plan) == ("Archivists drift.",)
        assert [entry.test for entry in plans.hypotheses(plan)] == ["H2"]
        assert any(
            "recorded, not tested" in warning for warning in examined(ParsedPlan(plan), NONE, power=power).warnings
        )

    @pytest.mark.parametrize("name", reading.presets())
    def test_what_was_read_reads_again_as_itself(self, name: str) -> None:
        plan = reading.read(reading.preset(name))
        assert reading.read(canonical_json(plan).decode()) == plan

    def test_files_to_import_are_reported(self) -> None:
        assert reading.imports("name: n\nstage1_import: old.csv\n") == ("old.csv",)
        assert reading.imports("name: n") == reading.imports("- a") == reading.imports("a: [") == ()


class TestStage1Import:
    CSV = "run,model,language,action,count\ns1,scripted-steady,ko,trade,52\ns1,scripted-steady,ko,speak,10\n"

    def imported(self, text: str) -> Plan | tuple[Any, ...]:
        return reading.read(json.dumps(document(stage1_import="counts.csv")), {"counts.csv": text})

    def test_its_counts_appear_in_the_plan(self) -> None:
        plan = self.imported(self.CSV)
        assert isinstance(plan, Plan)
        assert isinstance(plan.stage1_import, Stage1Import)
        (run,) = plan.stage1_import.runs
        assert (run.run, run.model, run.language) == ("s1", "scripted-steady", "ko")
        assert run.counts == {"speak": 10, "trade": 52, "support": 0, "whisper": 0, "move": 0, "idle": 0}
        assert plans.stage1_runs(plan, "scripted-steady", "ko") == 1
        assert any("counts.csv" in warning for warning in examined(ParsedPlan(plan), NONE, power=power).warnings)

    def test_the_mark_that_spreadsheets_begin_a_file_with_is_not_part_of_it(self) -> None:
        assert self.imported("\ufeff" + self.CSV) == self.imported(self.CSV)

    @pytest.mark.parametrize(
        "text",
        ["", "run,model\n", CSV.replace("52", "many"), CSV.replace("52", "-1"), CSV.replace("trade", "steal"),
         CSV.replace("ko", "fr"), CSV.replace("scripted-steady", "nobody"), "[1]", "[{"],
    )  # fmt: skip
    def test_faults_are_reported(self, text: str) -> None:
        found = self.imported(text)
        assert isinstance(found, tuple)
        assert {fault.field for fault in found} == {"stage1_import"}

    def test_a_run_without_a_turn_is_refused_by_its_row(self) -> None:
        nothing = "".join(f"s2,scripted-steady,ko,{action},0\n" for action in ("speak", "idle"))
        found = self.imported(self.CSV + nothing + self.CSV.splitlines()[1].replace("s1", "s3") + "\n")
        assert isinstance(found, tuple)
        said = "counts.csv:4: stage1_import: s2 counts no turn of scripted-steady in ko: omit runs without turns"
        assert list(map(str, found)) == [said]

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    @pytest.mark.parametrize(
        "rest", ["ko,speak", "ko,speak,1,1", "fr,speak,1", "ko,speak,-1", "ko,fly,1", "ko,trade,52"]
    )
    def test_a_fault_of_a_row_is_at_its_line_of_the_file(self, rest: str, end: str) -> None:
        found = self.imported(end.join([*self.CSV.splitlines(), f"s1,scripted-steady,{rest}", ""]))
        assert isinstance(found, tuple)
        assert [(fault.file, fault.line) for fault in found] == [("counts.csv", 4)]

    def test_what_no_log_can_store_is_refused(self) -> None:
        found = self.imported(self.CSV.replace("s1", "s\x00"))
        assert isinstance(found, tuple)
        (fault,) = found
        assert (fault.file, fault.code) == ("counts.csv", "not_text")

    def test_counts_in_the_plan_itself_are_runs_with_turns_each_once(self) -> None:
        run = {"run": "s1", "model": "scripted-steady", "language": "ko", "counts": {"trade": 5}}
        for runs, said in (([run | {"counts": {"trade": 0}}], "s1 counts no turn"), ([run, run], "occurs 2 times")):
            found = reading.read(json.dumps(document(stage1_import={"file": "c", "runs": runs})))
            assert isinstance(found, tuple)
            assert [fault.field for fault in found] == ["stage1_import"]
            assert said in found[0].message

    def test_what_was_taken_before_with_a_run_of_nothing_has_one_run_less(self) -> None:
        plan = self.imported(self.CSV)
        assert isinstance(plan, Plan)
        assert isinstance(plan.stage1_import, Stage1Import)
        (run,) = plan.stage1_import.runs
        empty = msgspec.structs.replace(run, run="s2", counts={"trade": 0})
        both = msgspec.structs.replace(plan.stage1_import, runs=(run, empty))
        assert plans.stage1_runs(msgspec.structs.replace(plan, stage1_import=both), run.model, run.language) == 1

    def test_it_stands_instead_of_stage1(self) -> None:
        values = document(stage1_import="c", phases={"stage1": {}, "phase1": {}})
        found = reading.read(json.dumps(values), {"c": self.CSV})
        assert isinstance(found, tuple)
        assert [fault.field for fault in found] == ["stage1_import"]


class TestRefusals:
    def test_a_plan_without_hypotheses_is_taken_and_tests_nothing(self) -> None:
        found = examined(ParsedPlan(read()), NONE, power=power)
        assert found.faults == ()
        assert not any(test.confirmatory for test in found.tests)
        assert any("No hypotheses name a test" in warning for warning in found.warnings)

    def test_an_unknown_model_lists_the_known_ones(self) -> None:
        found = refused(models=["exaone", "scripted", "scripted-unknown"])
        assert "scripted-unknown is not in the catalogue" in found["models"]
        assert all(alias in found["models"] for alias in residents.ALIASES)

    def test_a_test_that_cannot_reach_its_alpha(self) -> None:
        phases = {"stage1": {"runs": 3, "turns": 5}, "phase1": {"runs": 3, "turns": 5}}
        found = refused(phases=phases, models=["scripted"], languages=["ko"], hypotheses=["pcs"])
        assert "pcs:scripted cannot reach alpha 0.05" in found["hypotheses"]
        assert "1/10" in found["hypotheses"]

    def test_holm_over_the_models_counts(self) -> None:
        phases = {"stage1": {"runs": 5}, "phase1": {"runs": 3}}
        alone = {"phases": phases, "languages": ["ko"], "hypotheses": ["pcs"]}
        assert "0.05357 after Holm" in refused(**alone)["hypotheses"]
        assert refused(**alone | {"models": THREE[:2]}) == {}
        assert refused(**alone | {"languages": ["ko", "en"]}) == {}

    def test_five_stage1_runs_a_cell(self) -> None:
        phases = {"stage1": {"runs": 4}, "phase1": {"runs": 3}}
        found = refused(phases=phases, hypotheses=["pcs"])
        assert list(found) == ["phases.stage1.runs"]
        assert "needs 5 Stage 1 runs a cell" in found["phases.stage1.runs"]
        assert refused(phases=phases) == {}

    def test_one_language_alone_cannot_carry_h1(self) -> None:
        phases = {"phase2": {"runs": 3, "turns": 100}}
        plan = {"phases": phases, "hypotheses": [{"test": "H1", "underpowered": True}]}
        assert refused(**plan) == {}
        assert "1/8" in refused(**plan, languages=["ko"])["hypotheses"]

    def test_h1_needs_windows_enough_for_a_slope(self) -> None:
        for turns, taken in ((62, False), (63, True)):
            plan = {"phases": {"phase2": {"runs": 3, "turns": turns}},
                    "hypotheses": [{"test": test, "underpowered": True} for test in ("H1", "H2")]}  # fmt: skip
            assert (refused(**plan) == {}) is taken

    def test_an_exploratory_plan_confirms_nothing_and_is_taken(self) -> None:
        assert refused(exploratory=True, hypotheses=["pcs", "H1"]) == {}

    def test_unbalanced_squares_say_why(self) -> None:
        two = {"models": ["scripted", "scripted-wild"], "phases": {"phase2": {"runs": 2, "sets": ["A"]}}}
        assert "2 models over 3 personas" in refused(**two)["phases.phase2"]
        assert refused(**two, allow_unbalanced=True) == {}
        plan = read(**two, allow_unbalanced=True)
        assert any(
            "2 models over 3 personas" in warning for warning in examined(ParsedPlan(plan), NONE, power=power).warnings
        )
        assert "not a multiple of 3" in refused(phases={"phase2": {"runs": 4, "sets": ["C"]}})["phases.phase2"]


class TestMoney:
    PRICED = ModelEntry(base_url="http://127.0.0.1:1/v1", model="m", input_price="0.15", output_price="0.60")
    UNPRICED = ModelEntry(base_url="http://127.0.0.1:1/v1", model="m")

    def seen(self, entry: ModelEntry, **changes: Any) -> Preview:
        priced = msgspec.convert(
            msgspec.to_builtins(entry) | {"input_price": entry.input_price, "output_price": entry.output_price},
            ModelEntry,
        )
        plan = read(models=["paid"], phases={"phase1": {"runs": 1, "turns": 10}}, languages=["en"], **changes)
        return examined(ParsedPlan(plan), Catalogue({"paid": priced}), power=power)

    def test_scripted_models_cost_nothing_and_are_marked(self) -> None:
        found = examined(ParsedPlan(read()), NONE, power=power)
        assert (found.cost, found.cost_most, found.scripted) == ("0", "0", True)
        assert all(model.scripted and model.cost == "0" for model in found.models)
        assert any("Scripted models" in warning for warning in found.warnings)

    @pytest.mark.parametrize(("longest", "field"), [(299, ["sampling.max_tokens"]), (300, []), (None, [])])
    def test_a_plan_whose_replies_a_model_may_not_give_is_refused(self, longest: int | None, field: list[str]) -> None:
        entry = ModelEntry(base_url="http://127.0.0.1:1/v1", model="m", reply_tokens=longest)
        found = self.seen(entry, sampling={"max_tokens": 300})
        assert [fault.field for fault in found.faults] == field

    def test_a_cost_is_projected_from_the_prices(self) -> None:
        found = self.seen(self.PRICED)
        assert (found.calls, found.scripted) == (120, False)
        # 120 calls of 1,700 + 150 tokens at 0.15 and 0.60 a million.
        assert found.cost == "0.0414"
        assert found.tokens == 120 * 1850
        assert found.cost_most
        assert float(found.cost_most) > 2 * float(found.cost)

    def test_play_in_batches_is_projected_at_their_prices_and_at_most_at_the_plain_ones(self) -> None:
        entry = msgspec.convert(
            {
                "base_url": "http://127.0.0.1:1/v1",
                "model": "m",
                "batch": True,
                "input_price": "0.15",
                "output_price": "0.60",
                "batch_input_price": "0.075",
            },
            ModelEntry,
        )
        phases = {"phase1": {"runs": 1, "turns": 10}}
        plain, batched = (
            examined(
                ParsedPlan(read(models=["paid"], phases=phases, languages=["en"], batch={"play": on})),
                Catalogue({"paid": entry}),
                power=power,
            )
            for on in (False, True)
        )
        assert (plain.cost, batched.cost) == ("0.0414", "0.0261")
        assert not any("batch.play" in warning for warning in (*plain.warnings, *batched.warnings))
        assert plain.cost_most == batched.cost_most

    def test_a_model_without_batches_is_named_where_the_plan_wants_them(self) -> None:
        entry = ModelEntry(base_url="http://127.0.0.1:1/v1", model="m")
        plan = read(models=["single", "scripted"], batch={"play": True})
        found = examined(ParsedPlan(plan), Catalogue({"single": entry}), power=power)
        (warning,) = (warning for warning in found.warnings if warning.startswith("batch.play"))
        assert "single cannot be asked in batches" in warning

    def test_an_unknown_price_is_never_0(self) -> None:
        found = self.seen(self.UNPRICED)
        assert (found.cost, found.cost_most, found.faults) == (None, None, ())
        assert any("unknown, not 0" in warning for warning in found.warnings)

    @pytest.mark.parametrize("budget", [{"money": "5"}, {"per_run": {"money": 1}}])
    def test_a_money_budget_needs_prices(self, budget: dict[str, Any]) -> None:
        assert [fault.field for fault in self.seen(self.UNPRICED, budget=budget).faults] == ["budget.money"]
        assert self.seen(self.PRICED, budget=budget).faults == ()

    def test_a_budget_below_the_projection_warns(self) -> None:
        found = self.seen(self.PRICED, budget={"money": "0.01", "calls": 100})
        assert sum("will stop on the way" in warning for warning in found.warnings) == 2


class TestWarnings:
    def warned(self, **changes: Any) -> str:
        return "\n".join(examined(ParsedPlan(read(**changes)), NONE, power=power).warnings)

    def test_adjust_tax_only_switches(self) -> None:
        assert "adjust_tax only switches" in self.warned()
        exact = {"phase1": {"rules": {"tax_rounding": "exact"}}}
        assert "adjust_tax" not in self.warned(phases=exact)

    def test_the_power_of_h2b(self) -> None:
        told = self.warned(phases={"phase2": {"runs": 3}}, hypotheses=["H2"])
        assert "6 runs" in told
        assert "below 0.0243" in told
        assert "SD of about 0.014 (at 0.0243 it is 22 %)" in told

    def test_persona_and_home_and_ids(self) -> None:
        told = self.warned()
        assert "persona and home go together" in told
        assert "neutral ones (agent_01" in told
        assert "go together" not in self.warned(home_policy="rotated")

    def test_adaptive_sampling_is_announced(self) -> None:
        told = self.warned(adaptive={"measure": "p:trade", "width": 0.1, "max_runs": 9})
        assert "every look is logged" in told


def test_labels_are_drawn_only_on_request() -> None:
    assert labels(read()) == tuple(THREE)
    orders = {labels(read(shuffle_labels=True, seed=str(seed))) for seed in range(40)}
    assert len(orders) == 6
    assert all(sorted(order) == sorted(THREE) for order in orders)


def test_phase2_plans_keep_their_order_of_sets() -> None:
    plan = read(phases={"phase2": {"sets": ["D", "A"]}})
    assert plans.sets(plan) == ("A", "D")


class TestAttribution:
    def test_authors_and_licence_are_written_as_their_registries_do(self) -> None:
        authors = [
            {"name": "Josiah Carberry", "orcid": "https://orcid.org/0000-0002-1825-0097", "affiliation": "Brown"},
            {"name": "김연구", "orcid": "0000-0002-1694-233x"},
        ]
        plan = read(authors=authors, license="cc-by-4.0")
        assert list(msgspec.to_builtins(plan.authors)) == [
            {**authors[0], "orcid": "0000-0002-1825-0097"}, {**authors[1], "orcid": "0000-0002-1694-233X"},
        ]  # fmt: skip
        assert plan.license == "CC-BY-4.0"

    def test_a_plan_without_them_is_the_plan_that_it_was(self) -> None:
        assert not {"authors", "license"} & msgspec.to_builtins(read()).keys()

    @pytest.mark.parametrize(
        ("license_", "near"),
        [
            ("CC BY 4.0", "CC-BY-4.0"), ("CC-BY-5.0", "CC-BY-4.0"), ("MIT License", "MIT"), ("GPL3", "GPL-3.0-only"),
            ("Apache", "Apache-2.0"), ("public", "CC0-1.0"), ("zzz", "CC0-1.0"), ("", "CC0-1.0"),
        ],
    )  # fmt: skip
    def test_an_unknown_licence_is_refused_with_the_similar_ones(self, license_: str, near: str) -> None:
        found = faults(license=license_)
        assert set(found) == {"license"}
        assert near in found["license"]

    def test_every_fault_has_its_place(self) -> None:
        found = faults(
            authors=[
                {"name": "  ", "orcid": "0000-0002-1825-0098"}, {"orcid": "no name"},
                {"name": "A\nB", "affiliation": "\u202eC"},
                {"name": "D", "orcid": "1234"}, {"name": "E", "orcid": "0000-0002-1825-0097"},
                {"name": "F", "orcid": "http://orcid.org/0000-0002-1825-0097"}, {"name": "G", "mail": "g@example.org"},
            ],
            license="MIT",
        )  # fmt: skip
        wrong = {name: message for name, message in found.items() if name.startswith("authors")}
        assert wrong.keys() == {
            "authors[0].name", "authors[0].orcid", "authors[1].name", "authors[2].name", "authors[2].affiliation",
            "authors[3].orcid", "authors[5].orcid", "authors[6].mail",
        }  # fmt: skip
        assert "check digit" in wrong["authors[0].orcid"]
        assert "0000-0002-1825-0097" in wrong["authors[3].orcid"]
        assert "authors[4]" in wrong["authors[5].orcid"]

    @given(st.integers(0, 10**15 - 1), st.integers(0, 14), st.integers(1, 9))
    def test_one_digit_that_is_wrong_is_found(self, number: int, place: int, added: int) -> None:
        digits = f"{number:015}"
        sound = [text for last in "0123456789X" if (text := attribution.orcid(_dashed(digits + last)))]
        assert len(sound) == 1
        other = digits[:place] + str((int(digits[place]) + added) % 10) + digits[place + 1 :]
        assert attribution.orcid(_dashed(other + sound[0][-1])) is None


def _dashed(digits: str) -> str:
    return "-".join(digits[first : first + 4] for first in range(0, 16, 4))
