#!/usr/bin/env bash
# crowd-kit 1.4.2 (joins the labels of several raters), installed 2026-11.
# Guess: where raters are divided evenly, the majority is undefined, drawn at random or said to be a tie; in pairwise
#        comparisons "tie" counts half or is refused; the order of the rows does not matter.
# Seen:  MajorityVote gives every tie to the label that the table names first: of ten cases divided 1:1 all ten are "guilty",
#        and with the first two rows exchanged all ten are "not guilty". In BradleyTerry one "tie" makes every score
#        NaN, without an error. NoisyBradleyTerry gives other scores for the same rows in another order.
# Why it matters: agreement with a jury, a share of guilty verdicts or a leaderboard moves by the order of rows. Count ties
#        with `fit_predict_proba` first, use an odd number of raters, and leave ties out of pairs.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check crowd-kit==1.4.2
"$folder/venv/bin/python" -W ignore - <<'PY'
import pandas
from crowdkit.aggregation import BradleyTerry, MajorityVote, NoisyBradleyTerry


rows = [(case, juror, ("guilty", "not guilty")[(case + juror) % 2]) for case in range(10) for juror in range(2)]
for table, verdict in ((rows, "guilty"), ([rows[1], rows[0], *rows[2:]], "not guilty")):
    found = set(MajorityVote().fit_predict(pandas.DataFrame(table, columns=["task", "worker", "label"])))
    print("ten ties, the first row says", table[0][2], "| MajorityVote says", found)
    assert found == {verdict}, "it changed"

pairs = [("w", "a", "b", "a")] * 3 + [("w", "b", "c", "b")] * 3 + [("w", "c", "a", "c")]
columns = ["worker", "left", "right", "label"]
plain, tied = pandas.DataFrame(pairs, columns=columns), pandas.DataFrame([*pairs, ("w", "a", "b", "tie")], columns=columns)
scores, undefined = (BradleyTerry(n_iter=1000).fit_predict(table) for table in (plain, tied))
print("BradleyTerry", scores.round(3).to_dict(), "with a tie", undefined.to_dict())
assert scores.notna().all() and undefined.isna().all(), "it changed"
forward, backward = (NoisyBradleyTerry(n_iter=100).fit_predict(table) for table in (plain, plain[::-1].reset_index(drop=True)))
print("NoisyBradleyTerry", forward.round(3).to_dict(), "rows turned round", backward.round(3).to_dict())
assert (forward - backward).abs().max() > 0.1, "it changed"
PY
