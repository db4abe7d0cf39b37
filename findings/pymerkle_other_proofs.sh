#!/usr/bin/env bash
# pymerkle 7.0.0 (PyPI; Merkle trees with proofs, for logs that anybody can check), installed 2026-11: proofs beside those of RFC 9162.
# Guess: leaves, nodes and roots are those of RFC 9162, and so are the proofs: what one program proves another can check from the
#        hashes, the index and the sizes; entries are counted from 0; every log continues the empty one.
# Seen:  all roots are those of the RFC. No proof is: of all 306 for logs of up to 17 entries, each proof of an entry has the hash of
#        the entry itself before those of the RFC, and those of a continuation have other hashes, four instead of one from 4 to
#        7 entries, and one instead of none where nothing was added. Entries are counted from 1; size 0 is refused.
# Why it matters: a log whose root agrees with that of another program looks compatible; who checks its proofs by the standard refuses
#        every one. Publish pymerkle's version with the proofs, or leave out the first hash of a proof of an entry.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pymerkle==7.0.0
"$folder/venv/bin/python" - <<'PY'
import hashlib

from pymerkle import InmemoryTree
from pymerkle.core import InvalidChallenge


def digest(data):
    return hashlib.sha256(data).digest()


def leaf(entry):
    return digest(b"\0" + entry)


def left(entries):
    return 1 << (len(entries) - 1).bit_length() - 1


def root(entries):
    if len(entries) == 1:
        return leaf(entries[0])
    return digest(b"\1" + root(entries[: left(entries)]) + root(entries[left(entries) :]))


def of_entry(index, entries):
    """The proof of an entry, section 2.1.3 of the RFC."""
    if len(entries) == 1:
        return []
    first, second = entries[: left(entries)], entries[left(entries) :]
    if index < len(first):
        return of_entry(index, first) + [root(second)]
    return of_entry(index - len(first), second) + [root(first)]


def of_growth(before, entries, whole=True):
    """The proof that a log continues its first entries, section 2.1.4."""
    if before == len(entries):
        return [] if whole else [root(entries)]
    first, second = entries[: left(entries)], entries[left(entries) :]
    if before <= len(first):
        return of_growth(before, first, whole) + [root(second)]
    return of_growth(before - len(first), second, False) + [root(first)]


entries = [f"move {number}".encode() for number in range(17)]
tree = InmemoryTree(algorithm="sha256")
for entry in entries:
    tree.append_entry(entry)
equal = checked = 0
for size in range(1, len(entries) + 1):
    log = entries[:size]
    assert tree.get_root(size) == root(log)
    for index in range(size):
        path = tree.prove_inclusion(index + 1, size).path
        assert path == [leaf(log[index]), *of_entry(index, log)], "it changed"
    for before in range(1, size + 1):
        equal += tree.prove_consistency(before, size).path == of_growth(before, log)
    checked += 2 * size
lengths = {(a, b): (len(tree.prove_consistency(a, b).path), len(of_growth(a, entries[:b]))) for a, b in ((3, 7), (4, 7), (5, 5))}
print(f"{checked} proofs, roots equal; proofs of growth that are equal: {equal}; their lengths, RFC's second: {lengths}")
assert checked == 306 and equal == 0 and lengths == {(3, 7): (4, 4), (4, 7): (4, 1), (5, 5): (1, 0)}, "it changed"
for challenge in (lambda: tree.prove_inclusion(0, 5), lambda: tree.prove_consistency(0, 5)):
    try:
        challenge()
        raise SystemExit("it changed")
    except InvalidChallenge as error:
        print("refused:", error)
PY
