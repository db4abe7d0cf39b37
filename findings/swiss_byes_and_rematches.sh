#!/usr/bin/env bash
# cardarena-tournament-core 1.5.0 (PyPI), tournament-pairings 2.0.1 (npm): pairings of a Swiss tournament, installed 2026-11.
# Guess: no two entrants meet twice as long as other pairs exist for the round, and no one has a second bye before each of the
#        others had one, as every Swiss system says.
# Seen:  tournament-pairings keeps to both. cardarena's goes down the table, gives each the next one that it has not met, and the
#        rest meets again: a game is repeated, though a round without exists, in a third of the tournaments of six over three
#        rounds and in half of those of eight over four. The bye goes to the one that is left: in 60% of the tournaments of
#        five over three rounds one entrant has two byes, and the points of two wins.
# Why it matters: a bye counts as a win there, so the last of the table climbs without a game, and a repeated game counts twice in
#        the ratings. `submit_results` takes any pairs: make the rounds with a matching, and use the package for the table.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cardarena-tournament-core==1.5.0
cd "$folder"
npm install --silent --no-audit --no-fund tournament-pairings@2.0.1
cat > pair.mjs <<'JS'
import { createInterface } from "node:readline";
import { Swiss } from "tournament-pairings";

for await (const line of createInterface({ input: process.stdin })) {
  const { players, round } = JSON.parse(line);
  console.log(JSON.stringify(Swiss(players, round).map((match) => [match.player1, match.player2])));
}
JS
venv/bin/python - <<'PY'
import json
import random
import subprocess
from itertools import chain

from cardarena_tournament_core import MatchupOutcome, Player, Swiss

TOURNAMENTS = 200


class Cardarena:
    def __init__(self, names):
        self.swiss = Swiss([Player(id=name, name=name) for name in names])

    def pairs(self):
        self.round = self.swiss.pair()
        return [(game.player1.id, game.player2.id if game.player2 else None) for game in self.round.matchups]

    def report(self, winners):
        for game in self.round.matchups:
            if game.player2:
                game.outcome = MatchupOutcome.PLAYER1_WINS if game.player1.id in winners else MatchupOutcome.PLAYER2_WINS
        self.swiss.submit_results(self.round)


class Npm:
    def __init__(self, names):
        self.players = {name: {"id": name, "score": 0, "avoid": [], "receivedBye": False} for name in names}
        self.round = 0

    def pairs(self):
        self.round += 1
        node.stdin.write(json.dumps({"players": list(self.players.values()), "round": self.round}) + "\n")
        node.stdin.flush()
        self.paired = [tuple(pair) for pair in json.loads(node.stdout.readline())]
        return self.paired

    def report(self, winners):
        for name in winners:
            self.players[name]["score"] += 1
        for first, second in self.paired:
            if second is None:
                self.players[first].update(receivedBye=True, score=self.players[first]["score"] + 1)
            else:
                self.players[first]["avoid"].append(second)
                self.players[second]["avoid"].append(first)


def matchings(names):
    if not names:
        yield []
        return
    first, *others = names
    for other in others:
        for matching in matchings([name for name in others if name != other]):
            yield [frozenset((first, other)), *matching]


def faults(system, entrants, rounds, seed):
    """Whether two met again though all could have met others, and the most byes of one entrant."""
    chance = random.Random(seed)
    names = [f"p{number}" for number in range(entrants)]
    tournament, met, byes, repeated = system(names), set(), dict.fromkeys(names, 0), False
    for _ in range(rounds):
        pairs = tournament.pairs()
        assert sorted(name for name in chain(*pairs) if name) == names
        games = [frozenset(pair) for pair in pairs if None not in pair]
        if met.intersection(games) and entrants % 2 == 0:
            repeated |= any(met.isdisjoint(matching) for matching in matchings(names))
        met.update(games)
        for first, second in pairs:
            byes[first] += second is None
        tournament.report({chance.choice(sorted(game)) for game in games})
    return repeated, max(byes.values()) > 1


with subprocess.Popen(["node", "pair.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
    found = {}
    for system in (Cardarena, Npm):
        for entrants, rounds in ((6, 3), (8, 4), (5, 3), (7, 4)):
            runs = [faults(system, entrants, rounds, seed) for seed in range(TOURNAMENTS)]
            found[system, entrants] = [sum(kind) for kind in zip(*runs, strict=True)]
            repeated, byes = found[system, entrants]
            print(f"{system.__name__}, {entrants} entrants, {rounds} rounds: games repeated in {repeated}, two byes in {byes} of {TOURNAMENTS}")
    node.stdin.close()
for entrants in (6, 8):
    assert found[Cardarena, entrants][0] > TOURNAMENTS / 3, "it changed"
for entrants in (5, 7):
    assert found[Cardarena, entrants][1] > TOURNAMENTS / 3, "it changed"
for entrants in (5, 6, 7, 8):
    assert found[Npm, entrants] == [0, 0], "the other package does so now"
PY
