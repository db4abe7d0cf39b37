#!/usr/bin/env bash
# votekit 3.5.0 (elections over ranked ballots), installed 2026-11: an instant runoff in which two are last.
# Guess: of 5 ballots acb, 3 bca and 3 cba, b and c are last; the one that stays beats a by 6 to 5. `tiebreak="lex"` or "borda"
#        decides the same way each time, and without a `tiebreak` the call raises, as its text says.
# Seen:  IRV and STV draw the one that goes by lot, whatever `tiebreak` is, and do not raise without it: b wins about half of the
#        runs, c the others. The rule is used for winners alone. FastSTV follows it for both.
# Why it matters: in a small group ties for the last place are common, and the same votes elect another agent in each run, though
#        a fixed rule was asked for. Use FastSTV, or give an `rng_seed` and publish it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Only what these elections import: the whole list of requirements takes minutes.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile matplotlib==3.11.2 networkx numba pandas scipy typing-extensions
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps votekit==3.5.0
"$folder/venv/bin/python" -W ignore - <<'PY'
import contextlib
import io
from collections import Counter

from votekit import RankBallot, RankProfile
from votekit.elections import IRV, STV, FastSTV

VOTES = {"acb": 5, "bca": 3, "cba": 3}
ballots = RankProfile(ballots=[RankBallot(ranking=[{name} for name in row], weight=weight) for row, weight in VOTES.items()])


def winners(election, runs=24):
    with contextlib.redirect_stdout(io.StringIO()):
        return Counter("".join(*election().get_elected()) for _ in range(runs))


for tiebreak in ("lex", "borda", None):
    runoff = winners(lambda tiebreak=tiebreak: IRV(ballots, tiebreak=tiebreak))
    single = winners(lambda tiebreak=tiebreak: STV(ballots, n_seats=1, tiebreak=tiebreak))
    print(f"tiebreak {tiebreak}: IRV {dict(runoff)}, STV {dict(single)}")
    assert set(runoff) == set(single) == {"b", "c"}, "it changed"
for tiebreak, winner in (("lex", "b"), ("borda", "c")):
    fast = winners(lambda tiebreak=tiebreak: FastSTV(ballots, n_seats=1, tiebreak=tiebreak))
    print(f"tiebreak {tiebreak}: FastSTV {dict(fast)}")
    assert set(fast) == {winner}, "it changed"
assert len(winners(lambda: IRV(ballots, rng_seed=7))) == 1
PY
