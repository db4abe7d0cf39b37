#!/usr/bin/env bash
# agentevals 0.0.9 (compares what an agent did with a reference) and openevals 0.2.2, installed 2026-11: `trajectory_match_mode="strict"`.
# Guess: strict compares calls of tools in their order, and arguments as JSON compares them: 1 and true are two values.
# Seen:  the calls of one message match in any order: [draw, play] is [play, draw]; split over two messages the order counts.
#        The number 1 is equal to true, and 0 to false; likewise in openevals' `json_match`, whose average of {} with {} is 0,
#        while `all` of them is 1. A call that has one argument more does differ.
# Why it matters: in a game the order of two moves decides, and models put several calls into one message. A run that played before it
#        drew, or that voted 1 where the reference says true, is scored as an exact match. Compare the calls as JSON texts with
#        sorted keys as well.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check agentevals==0.0.9 openevals==0.2.2
"$folder/venv/bin/python" - <<'PY'
import json

from agentevals.trajectory.match import create_trajectory_match_evaluator
from openevals.json import create_json_match_evaluator

strict = create_trajectory_match_evaluator(trajectory_match_mode="strict")


def run(*messages):
    said = [{"role": "user", "content": "Your turn."}]
    for calls in messages:
        functions = [{"function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in calls]
        said.append({"role": "assistant", "content": "", "tool_calls": functions})
    return said


def matches(output, reference):
    return strict(outputs=run(*output), reference_outputs=run(*reference))["score"]


draw, play = ("draw", {"from": "deck"}), ("play", {"card": 7})
cases = {
    "the same": (matches([[draw, play]], [[draw, play]]), True),
    "two calls of one message exchanged": (matches([[play, draw]], [[draw, play]]), True),
    "two messages exchanged": (matches([[play], [draw]], [[draw], [play]]), False),
    "1 for true": (matches([[("vote", {"guilty": 1})]], [[("vote", {"guilty": True})]]), True),
    "0 for false": (matches([[("vote", {"guilty": 0})]], [[("vote", {"guilty": False})]]), True),
    "\"true\" for true": (matches([[("vote", {"guilty": "true"})]], [[("vote", {"guilty": True})]]), False),
    "an argument more": (matches([[("vote", {"guilty": True, "why": ""})]], [[("vote", {"guilty": True})]]), False),
}
for name, (seen, _) in cases.items():
    print(f"{name:36} -> {seen}")
assert all(seen == known for seen, known in cases.values()), "it changed"


def equal(output, reference, aggregator):
    (result,) = create_json_match_evaluator(aggregator=aggregator)(outputs=output, reference_outputs=reference)
    return result["score"]


for output, reference, known in (({"guilty": 1}, {"guilty": True}, [1, 1]), ({}, {}, [0, 1]), ({"a": 1}, {"a": 2}, [0, 0])):
    found = [equal(output, reference, aggregator) for aggregator in ("average", "all")]
    print(f"json_match {output} with {reference}: average, all -> {found}")
    assert found == known, "it changed"
PY
