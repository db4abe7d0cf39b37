"""A plan's faults: all at once, each with the line of its key."""

from collections.abc import Mapping
from typing import Any

import pytest
from playmolt_jury import rules
from playmolt_jury.panels import plan as plans
from playmolt_schemas.stored.panels import PanelBudget, PanelPlan, PlannedStep

JURY = rules.jury()
ALIASES = ("scripted", "m1")
SOUND = """language = "en"
n = 20
seed = 3
compare = ["A", "B"]

[budget]
money = 2.50
calls = 100

[[scripts.A]]
juror = "ophiuchus"
text = "There is reasonable doubt."

[[scripts.B]]
juror = "radical"
evidence = "E1"
"""


def read(text: object) -> PanelPlan | list[tuple[int | None, str, str]]:
    found = plans.read(text, JURY.cases.named, ALIASES)
    return found if isinstance(found, PanelPlan) else [(fault.line, fault.field, fault.code) for fault in found]


def test_a_sound_plan() -> None:
    plan = read(SOUND)
    assert isinstance(plan, PanelPlan)
    assert (plan.case, plan.language, plan.n, plan.seed, plan.compare) == ("silent-robin", "en", 20, 3, ("A", "B"))
    assert plan.budget == PanelBudget(money="2.50", calls=100)
    assert plan.deliberation == 4
    assert set(plan.jurors.values()) == {"scripted"}
    assert plan.scripts["B"] == (PlannedStep(juror="radical", evidence="E1"),)
    assert (plan.shuffle, plan.chain, plan.temperature) == (False, "none", None)


def changed(old: str, new: str) -> str:
    assert old in SOUND
    return SOUND.replace(old, new)


@pytest.mark.parametrize(
    ("text", "line", "field", "code"),
    [
        (changed("n = 20", "n = 1"), 2, "plan.n", "out_of_bounds"),
        (changed("n = 20", "n = 501"), 2, "plan.n", "out_of_bounds"),
        (changed("n = 20", "n = true"), 2, "plan.n", "wrong_type"),
        (changed("n = 20\n", ""), 1, "plan.n", "missing_key"),
        (changed("seed = 3", "seed = -1"), 3, "plan.seed", "out_of_bounds"),
        (changed("seed = 3", "sede = 3"), 3, "plan.sede", "unknown_key"),
        (changed('language = "en"', 'language = "fr"'), 1, "plan.language", "bad_reference"),
        (changed("n = 20", 'n = 20\ncase = "nowhere"'), 3, "plan.case", "bad_reference"),
        (changed("n = 20", 'n = 20\njurors = "gpt"'), 3, "plan.jurors", "bad_reference"),
        (changed("n = 20", 'n = 20\njurors = {radical = "m1"}'), 3, "plan.jurors", "missing_key"),
        (changed("n = 20", "n = 20\ndeliberation = 9"), 3, "plan.deliberation", "out_of_bounds"),
        (changed("n = 20", 'n = 20\ndeliberation = "yes"'), 3, "plan.deliberation", "wrong_type"),
        (changed("n = 20", 'n = 20\nchain = "all"'), 3, "plan.chain", "wrong_type"),
        (changed("n = 20", "n = 20\nshuffle = 1"), 3, "plan.shuffle", "wrong_type"),
        (changed("n = 20", "n = 20\ntemperature = 3"), 3, "plan.temperature", "out_of_bounds"),
        (changed("n = 20", "n = 20\ntemperature = nan"), 3, "plan.temperature", "out_of_bounds"),
        (changed("n = 20", 'n = 20\ntemperature = "sNaN"'), 3, "plan.temperature", "out_of_bounds"),
        (changed("n = 20", "n = 20\ntemperature = 1e-999999999"), 3, "plan.temperature", "out_of_bounds"),
        (changed("n = 20", f"n = 0x{'f' * 5000}"), 2, "plan.n", "out_of_bounds"),
        (changed("n = 20", f"n = 20\ndeliberation = 0x{'f' * 5000}"), 3, "plan.deliberation", "out_of_bounds"),
        (changed("seed = 3", f"seed = {'9' * 5000}"), 3, "plan", "syntax"),
        (changed("seed = 3", f"seed = {'[' * 5000}"), 1, "plan", "syntax"),
        (changed("money = 2.50", "money = 1e999999999"), 7, "plan.budget.money", "wrong_type"),
        (changed("money = 2.50", "money = nan"), 7, "plan.budget.money", "wrong_type"),
        (changed("money = 2.50", 'money = "２.5"'), 7, "plan.budget.money", "wrong_type"),
        (changed("money = 2.50", "money = -1"), 7, "plan.budget.money", "wrong_type"),
        (changed("money = 2.50", "money = true"), 7, "plan.budget.money", "wrong_type"),
        (changed("calls = 100", "call = 100"), 8, "plan.budget.call", "unknown_key"),
        (changed("calls = 100", "calls = -1"), 8, "plan.budget.calls", "out_of_bounds"),
        (changed('compare = ["A", "B"]', 'compare = ["A", "C"]'), 4, "plan.compare[1]", "bad_reference"),
        (changed('compare = ["A", "B"]', 'compare = ["A", "A"]'), 4, "plan.compare", "bad_reference"),
        (changed('compare = ["A", "B"]', 'compare = "A"'), 4, "plan.compare", "wrong_type"),
        (changed('juror = "ophiuchus"', 'juror = "nobody"'), 11, "plan.scripts.A[0].juror", "bad_reference"),
        (changed('juror = "ophiuchus"\n', ""), 10, "plan.scripts.A[0].juror", "missing_key"),
        (changed("There is reasonable doubt.", ""), 12, "plan.scripts.A[0].text", "out_of_bounds"),
        (changed("There is reasonable doubt.", "x" * 1001), 12, "plan.scripts.A[0].text", "out_of_bounds"),
        (changed('evidence = "E1"', 'evidence = "E99"'), 16, "plan.scripts.B[0].evidence", "bad_reference"),
        (changed('evidence = "E1"', 'evidence = "E1"\ntext = "x"'), 14, "plan.scripts.B[0]", "missing_key"),
        (changed('evidence = "E1"\n', ""), 14, "plan.scripts.B[0]", "missing_key"),
        (changed('evidence = "E1"', 'note = "E1"'), 16, "plan.scripts.B[0].note", "unknown_key"),
        (changed("seed = 3", "seed = "), 3, "plan", "syntax"),
    ],
)
def test_a_fault_is_at_the_line_of_its_key(text: str, line: int, field: str, code: str) -> None:
    found = read(text)
    assert isinstance(found, list)
    assert (line, field, code) in found


def test_all_faults_come_at_once_in_order() -> None:
    text = (
        changed("n = 20", "n = 0").replace('juror = "ophiuchus"', 'juror = "x"').replace("E1", "E0").replace("3", "-3")
    )
    found = read(text)
    assert isinstance(found, list)
    assert [line for line, _, _ in found] == [2, 3, 11, 16]


def test_a_locked_item_cannot_be_shown() -> None:
    locked = next(item.id for item in JURY.cases.shipped.materials["en"].evidence if item.locked)
    assert read(changed('"E1"', f'"{locked}"')) == [(16, "plan.scripts.B[0].evidence", "bad_reference")]


def test_a_script_has_no_more_steps_for_a_juror_than_the_case_has_rounds() -> None:
    steps = '[[scripts.A]]\njuror = "radical"\ntext = "x"\n' * 11
    found = read(f'language = "en"\nn = 2\n{steps}')
    assert found == [(33, "plan.scripts.A[10]", "out_of_bounds")]


def test_there_are_one_to_four_scripts() -> None:
    script = '[[scripts.{}]]\njuror = "radical"\ntext = "x"\n'
    five = "".join(map(script.format, "ABCDE"))
    assert read(f'language = "en"\nn = 2\n{five}') == [(3, "plan.scripts", "out_of_bounds")]
    assert read('language = "en"\nn = 2\nscripts = {}') == [(3, "plan.scripts", "out_of_bounds")]


def test_a_table_has_the_same_faults_without_lines() -> None:
    table: Mapping[str, Any] = {"language": "en", "n": 0, "scripts": {"A": [{"juror": "radical", "text": "x"}]}}
    assert read(table) == [(None, "plan.n", "out_of_bounds")]
    assert isinstance(read({**table, "n": 2}), PanelPlan)
    assert read(7) == [(None, "plan", "wrong_type")]


def test_only_the_budget_may_differ_between_two_plans_of_one_panel() -> None:
    one, raised, other = read(SOUND), read(changed("calls = 100", "calls = 900")), read(changed("n = 20", "n = 21"))
    assert isinstance(one, PanelPlan)
    assert isinstance(raised, PanelPlan)
    assert isinstance(other, PanelPlan)
    assert plans.identity(one) == plans.identity(raised) != plans.identity(other)


def test_the_mark_of_some_editors_is_no_fault() -> None:
    assert read("\ufeff" + SOUND) == read(SOUND)
