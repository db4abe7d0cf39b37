#!/usr/bin/env bash
# autoevals 0.4.1 (scorers for replies of models), installed 2026-11: `ExactMatch` and `JSONDiff`.
# Guess: two objects with equal fields match exactly, whatever the order of their keys; a number and its text do not; true is
#        true in JSON's spelling. A diff of JSON distinguishes true from 1, and a field that is null from one that is missing.
# Seen:  `ExactMatch` compares texts, and an object becomes JSON with its keys as they come: {"seat": 1, "card": 7} and
#        {"card": 7, "seat": 1} score 0. Other values become Python's text: 1 and "1" score 1, 1 and 1.0 score 0, true matches
#        "True" and not "true". `JSONDiff` does not look at the order of keys, but gives 1.0 for true against 1 and for null against a
#        missing field, and 0.6 for "not guilty" against "guilty".
# Why it matters: a model writes keys in an order of its own, or in that of the schema of its server: a right move is scored as
#        wrong in one run and as right in the next. Sort the keys of both sides first, and compare verdicts by themselves.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check autoevals==0.4.1
"$folder/venv/bin/python" - <<'PY'
from autoevals import ExactMatch, JSONDiff

MOVE, SAME = {"seat": 1, "card": 7}, {"card": 7, "seat": 1}
exact = [(MOVE, MOVE, 1), (MOVE, SAME, 0), (1, "1", 1), (1, 1.0, 0), (True, "True", 1), (True, "true", 0)]
diff = [
    (MOVE, SAME, 1), ({"guilty": True}, {"guilty": 1}, 1), ({"guilty": None}, {}, 1), ({"guilty": True}, {"guilty": False}, 0),
    ({"vote": "not guilty"}, {"vote": "guilty"}, 0.6),
]
for scorer, rows in ((ExactMatch(), exact), (JSONDiff(), diff)):
    for output, expected, known in rows:
        score = scorer.eval(output, expected).score
        print(f"{type(scorer).__name__:10} {output!r:28} {expected!r:28} -> {score}")
        assert abs(score - known) < 0.01, "it changed"
PY
