#!/usr/bin/env bash
# inspect-ai 0.3.285 (scores and logs evaluations), installed 2026-11: metrics over scores.
# Guess: `accuracy()` and `mean()` take C, P, I, yes, no and numbers; a score in another word ("guilty", "draw") is refused or
#        left out. A standard error of one sample is not a number.
# Seen:  another word counts 0, as if incorrect: two verdicts "guilty" have accuracy 0.0 with stderr 0.0, status "success"; a
#        draw between C and I lowers the mean to 1/3. NaN is left out, and the mean is that of the others, which the result
#        itself does not say. One sample has stderr 0.0 and variance 0.0.
# Why it matters: a log whose scores are verdicts or outcomes shows zeros that look measured, and a single run looks exact.
#        Give numbers, or a metric of your own (`grouped`, counts of words).
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
FOLDER=$folder "$folder/venv/bin/python" - 2> /dev/null <<'PY'
import os

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr, var
from inspect_ai.solver import solver


@solver
def nothing():
    async def solve(state, generate):
        return state
    return solve


def measured(*values):
    @scorer(metrics=[accuracy(), mean(), stderr(), var()])
    def fixed():
        async def score(state, target):
            return Score(value=values[int(state.input_text)])
        return score

    task = Task(dataset=[Sample(input=str(number)) for number in range(len(values))], solver=nothing(), scorer=fixed())
    log = eval(task, model="mockllm/model", display="none", log_dir=os.environ["FOLDER"] + "/logs")[0]
    found = {name: round(metric.value, 3) for name, metric in log.results.scores[0].metrics.items()}
    print(f"{values!s:28} {log.status} {found}")
    assert log.status == "success"
    return found


assert measured("C", "I", "C")["accuracy"] == 0.667
found = measured("guilty", "guilty")
assert found["accuracy"] == found["stderr"] == 0, "it changed"
assert measured("C", "draw", "I")["mean"] == 0.333, "it changed"
assert measured(1, float("nan"), 0)["mean"] == 0.5, "it changed"
found = measured(1)
assert found["stderr"] == found["var"] == 0, "it changed"
PY
