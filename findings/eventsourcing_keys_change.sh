#!/usr/bin/env bash
# eventsourcing 9.5.6 (aggregates from stored events in Python), installed 2026-11: what an event holds when it is read again.
# Guess: an event is read with the values that it was made with, or storing it raises, as it does for a set or for bytes that
#        no transcoding is registered for; an aggregate that is loaded equals the one that was saved.
# Seen:  a dict whose keys are numbers is read with texts as keys, and a tuple as a list; nothing is raised. Both are as they were
#        in the process that made the event: `points[1]` of the aggregate in memory is 5, of the one that is loaded KeyError.
#        With {1: …, "1": …} one of the two is lost.
# Why it matters: points by seat and moves by position (a tuple as coordinates) are right until the first restart; then seat 1 and
#        seat "1" are two seats, and a position is never found again. Use texts as keys and lists from the beginning, or register a
#        transcoding.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check eventsourcing==9.5.6
"$folder/venv/bin/python" - <<'PY'
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event


class Game(Aggregate):
    def __init__(self):
        self.points = {}
        self.last = None

    @event("Scored")
    def score(self, points, last):
        self.points = points
        self.last = last


class Games(Application):
    pass


games = Games()


def stored(points, last):
    game = Game()
    game.score(points=points, last=last)
    games.save(game)
    loaded = games.repository.get(game.id)
    print(f"saved {game.points} {game.last!r:10} loaded {loaded.points} {loaded.last!r}")
    return game, loaded


saved, loaded = stored({1: 5, 2: 3}, (0, 2))
assert saved.points[1] == 5 and saved.last == (0, 2)
assert loaded.points == {"1": 5, "2": 3} and loaded.last == [0, 2], "it changed"
loaded.score(points={**loaded.points, 1: 6}, last=(1, 1))
games.save(loaded)
again = games.repository.get(loaded.id)
print("after a point for seat 1:", loaded.points, "read again:", again.points)
assert loaded.points == {"1": 5, "2": 3, 1: 6} and len(again.points) == 2, "it changed"
try:
    stored({1, 2}, None)
except Exception as error:
    print("a set:", type(error).__name__)
    assert type(error).__name__ == "TranscodingNotRegisteredError"
else:
    raise AssertionError("it changed: a set is stored")
PY
