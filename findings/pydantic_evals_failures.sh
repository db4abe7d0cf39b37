#!/usr/bin/env bash
# pydantic-evals 2.62.0 (evaluates functions and models over cases), installed 2026-11: cases whose task raises.
# Guess: a case without an answer counts as not passed, so that two right answers and two refusals that raise are 50% of the
#        assertions; or the average says that it leaves some out.
# Seen:  the averages are those of the cases that answered: assertions 1.0, and "100.0%" in the printed table. The others are in a
#        list of their own, `failures`, that `averages()` does not mention. A task that returns None for a refusal gives 50%.
# Why it matters: the model that refuses, or breaks off, at each hard case leads the comparison with 100%. Divide by
#        `len(cases) + len(failures)`, or return a value for a refusal.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-evals==2.62.0
"$folder/venv/bin/python" - <<'PY'
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

cases = [Case(name=f"case {number}", inputs=number, expected_output="guilty") for number in range(4)]
dataset = Dataset(name="verdicts", cases=cases, evaluators=[EqualsExpected()])


def raises(number):
    if number >= 2:
        raise ValueError("the model refused")
    return "guilty"


def returns(number):
    return "guilty" if number < 2 else None


seen = {}
for task in (raises, returns):
    report = dataset.evaluate_sync(task, progress=False)
    seen[task.__name__] = report.averages().assertions, len(report.cases), len(report.failures)
    print(f"a refusal that {task.__name__}: passed {seen[task.__name__][0]:.0%}, cases and failures {seen[task.__name__][1:]}")
assert seen == {"raises": (1.0, 2, 2), "returns": (0.5, 4, 0)}, "it changed"
PY
