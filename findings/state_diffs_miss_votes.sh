#!/usr/bin/env bash
# What has changed between two states of a game, installed 2026-11: deepdiff 9.1.0, dictdiffer 0.10.0, jsondiff 2.2.1,
# jsonpatch 1.48 (PyPI).
# Guess: 1 and true, or 1 and 1.0, are either equal or different for one library, wherever they are.
# Seen:  deepdiff reports {"vote": 1} and {"vote": true} as a change of type, and {"votes": [0, 1]} and {"votes": [false, true]} as
#        equal. Where another item of the list differs it reports that one alone. With `ignore_order=True`, which should
#        find less, it finds them, as a change of value; with `zip_ordered_iterables=True` as one of type. dictdiffer and
#        jsondiff see no difference anywhere, jsonpatch in both places.
# Why it matters: a test that a replay gives the recorded state passes while the bytes and hashes of the two differ. Compare
#        the canonical JSON, and use the difference only to show where.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check deepdiff==9.1.0 dictdiffer==0.10.0 jsondiff==2.2.1 jsonpatch==1.48
"$folder/venv/bin/python" -W ignore - <<'PY'
import dictdiffer
import jsondiff
import jsonpatch
from deepdiff import DeepDiff

LIBRARIES = {
    "deepdiff": lambda old, new: list(DeepDiff(old, new)),
    "deepdiff, ignore_order": lambda old, new: list(DeepDiff(old, new, ignore_order=True)),
    "deepdiff, zip": lambda old, new: list(DeepDiff(old, new, zip_ordered_iterables=True)),
    "dictdiffer": lambda old, new: list(dictdiffer.diff(old, new)),
    "jsondiff": lambda old, new: list(jsondiff.diff(old, new)),
    "jsonpatch": lambda old, new: [change["path"] for change in jsonpatch.make_patch(old, new)],
}
TYPES, VALUES = ["type_changes"], ["values_changed"]
for old, new, expected in (
    ({"vote": 1}, {"vote": True}, [TYPES, TYPES, TYPES, [], [], ["/vote"]]),
    ({"votes": [0, 1]}, {"votes": [False, True]}, [[], VALUES, TYPES, [], [], ["/votes/0", "/votes/1"]]),
    ({"votes": [[1]]}, {"votes": [[True]]}, [[], TYPES, TYPES, [], [], ["/votes/0/0"]]),
    ({"shares": [1]}, {"shares": [1.0]}, [[], TYPES, TYPES, [], [], ["/shares/0"]]),
):
    found = {library: diff(old, new) for library, diff in LIBRARIES.items()}
    print(old, new, found)
    assert list(found.values()) == expected, "it changed"

part = DeepDiff({"votes": [0, 5]}, {"votes": [False, 6]})
print("one more item differs:", part)
assert list(part["values_changed"]) == ["root['votes'][1]"] and len(part) == 1, "it changed"
PY
