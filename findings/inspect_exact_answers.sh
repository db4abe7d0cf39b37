#!/usr/bin/env bash
# inspect-ai 0.3.285 (scores and logs evaluations), installed 2026-11: the scorers `exact()`, `f1()` and `match()`.
# Guess: an answer that equals the target is correct under `exact()`, whatever the target is; an answer that differs in its sign
#        is not.
# Seen:  both texts lose English articles and punctuation first. The target "A" has nothing left: the answer "A" is
#        incorrect, as is each other one, and "The A" for "The A". With a number, the sign is punctuation too: -5 is correct
#        for 5, and 5 for -5; "10%" and "$10" are correct for 10. `f1()` gives 0.0 and 1.0 in the same places. `match()` takes
#        A for A, and also -5 for 5 and 5 for -5 (numeric=True does not), and "not guilty" for guilty, since it looks at the end alone.
# Why it matters: seats, options and grades are named A, B, C: A is never right, however often it is chosen. A loss of five points is
#        scored as a gain of five. Use `choice()`, a `pattern()`, or a scorer of your own that compares the texts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
"$folder/venv/bin/python" - <<'PY'
import asyncio

from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Target, exact, f1, match
from inspect_ai.solver import TaskState


async def scored(scorer, answer, target):
    output = ModelOutput.from_content("m", answer)
    state = TaskState(model="m", sample_id=1, epoch=1, input="q", messages=[], output=output)
    return (await scorer(state, Target(target))).value


KNOWN = {
    ("A", "A"): ("I", 0.0, "C", "C"),
    ("B", "B"): ("C", 1.0, "C", "C"),
    ("The A", "The A"): ("I", 0.0, "C", "C"),
    ("-5", "5"): ("C", 1.0, "C", "I"),
    ("5", "-5"): ("C", 1.0, "C", "I"),
    ("10%", "10"): ("C", 1.0, "C", "I"),
    ("not guilty", "guilty"): ("I", 0.67, "C", "C"),
}


async def main():
    seen = {}
    for answer, target in KNOWN:
        scorers = exact(), f1(), match(), match(numeric=True)
        seen[answer, target] = tuple([await scored(scorer, answer, target) for scorer in scorers])
        print(f"answer {answer!r:12} target {target!r:9} exact, f1, match, match of numbers: {seen[answer, target]}")
    assert seen == KNOWN, "it changed"


asyncio.run(main())
PY
