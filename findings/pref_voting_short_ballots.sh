#!/usr/bin/env bash
# pref_voting 1.18.2 (elections over ranked ballots), installed 2026-11: ballots that rank some of the candidates, and two who are last.
# Guess: who ranks one candidate alone prefers it to all the others, in pairs as in first places. Where two are last in a
#        runoff, one of them goes, or the method says that there is a tie.
# Seen:  in a ProfileWithTies such a ballot counts in first places alone: for a pair, both must be ranked. With 6 ballots for a and
#        5 for b before c, no one beats all the others, minimax elects a and b together, and b has the highest Borda score. After
#        `use_extended_strict_preference()`, which changes the profile for later methods too, a beats all and wins in minimax.
#        `instant_runoff` drops all who are last at once: of 5 ballots acb, 3 bca and 3 cba it elects a, who loses to b and to c by
#        6 to 5; `instant_runoff_put` gives b and c.
# Why it matters: agents that name only their favourite lose their vote without a warning, and in small groups, where ties for
#        the last place are common, the one whom the majority ranks last is elected.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
# Only what these methods import: the whole list of requirements takes minutes.
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile matplotlib==3.11.2 nashpy networkx numba tabulate tqdm filelock random2
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps pref-voting==1.18.2 ortools preflibtools prefsampling
"$folder/venv/bin/python" -W ignore - <<'PY'
from pref_voting.profiles import Profile
from pref_voting.profiles_with_ties import ProfileWithTies
from pref_voting.voting_methods import borda, instant_runoff, instant_runoff_put, minimax, plurality

METHODS = {"plurality": plurality, "borda": borda, "minimax": minimax}


def names(candidates):
    return "".join("abc"[each] for each in candidates)


def elected(votes):
    first = votes.condorcet_winner()
    return {**{name: names(method(votes)) for name, method in METHODS.items()}, "beats all": None if first is None else "abc"[first]}


votes = ProfileWithTies([{0: 1}, {1: 1, 2: 2}], [6, 5], candidates=[0, 1, 2])
before = elected(votes)
votes.use_extended_strict_preference()
after = elected(votes)
print("6 a, 5 bc:", before, "| after use_extended_strict_preference:", after)
assert before == {"plurality": "a", "borda": "b", "minimax": "ab", "beats all": None}, "it changed"
assert after == {"plurality": "a", "borda": "b", "minimax": "a", "beats all": "a"}, "it changed"

votes = Profile([[0, 2, 1], [1, 2, 0], [2, 1, 0]], [5, 3, 3])
runoffs = {method.__name__: names(method(votes)) for method in (instant_runoff, instant_runoff_put)}
print("5 acb, 3 bca, 3 cba:", runoffs, "| loses to each other one:", "abc"[votes.condorcet_loser()])
assert list(runoffs.values()) == ["a", "bc"] and votes.condorcet_loser() == 0, "it changed"
PY
