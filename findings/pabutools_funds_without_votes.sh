#!/usr/bin/env bash
# pabutools 1.2.3 (rules of participatory budgeting), installed 2026-11: projects that no ballot approves.
# Guess: a rule that funds what voters approve leaves out a project that none of them approves; the money stays.
# Seen:  the greedy rule, sequential Phragmén and the rule with the highest total fund it as long as money is left. With
#        two ballots for a and none for b, each costing half of the budget, they fund both, and of empty ballots
#        the first two fund everything. Phragmén does not where another project without votes costs more than is left.
#        The method of equal shares leaves it out; completed with the greedy rule, it does not.
# Why it matters: a group of agents that leaves a proposal without a single vote finds it carried out, and the share of
#        the budget that "the votes gave out" is too high. Take the projects without votes out of the instance first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pabutools==1.2.3
"$folder/venv/bin/python" -W ignore - <<'PY'
from pabutools.election import ApprovalBallot, ApprovalProfile, Cardinality_Sat, Instance, Project
from pabutools.rules import (
    completion_by_rule_combination,
    greedy_utilitarian_welfare,
    max_additive_utilitarian_welfare,
    method_of_equal_shares,
    sequential_phragmen,
)

SATISFACTION = {"sat_class": Cardinality_Sat}


def funded(costs, ballots, budget=10):
    projects = {name: Project(name, cost) for name, cost in costs.items()}
    instance = Instance(projects.values(), budget_limit=budget)
    profile = ApprovalProfile([ApprovalBallot([projects[name] for name in ballot]) for ballot in ballots])
    rules = {
        "greedy": greedy_utilitarian_welfare(instance, profile, **SATISFACTION),
        "phragmen": sequential_phragmen(instance, profile),
        "highest": max_additive_utilitarian_welfare(instance, profile, **SATISFACTION),
        "equal shares": method_of_equal_shares(instance, profile, **SATISFACTION),
        "completed": completion_by_rule_combination(
            instance, profile, [method_of_equal_shares, greedy_utilitarian_welfare], [SATISFACTION, SATISFACTION]
        ),
    }
    found = {rule: "".join(sorted(project.name for project in projects)) for rule, projects in rules.items()}
    print(costs, ballots, "->", found)
    return found


found = funded({"a": 5, "b": 5}, ["a", "a"])
assert found == {"greedy": "ab", "phragmen": "ab", "highest": "ab", "equal shares": "a", "completed": "ab"}, "it changed"
found = funded({"a": 5, "b": 5}, ["", ""])
assert (found["greedy"], found["phragmen"], found["equal shares"]) == ("ab", "ab", ""), "it changed"
found = funded({"a": 5, "b": 7, "c": 3}, ["a", "a"])
assert (found["greedy"], found["phragmen"], found["equal shares"]) == ("ac", "a", "a"), "it changed"
PY
