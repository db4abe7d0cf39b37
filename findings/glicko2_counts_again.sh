#!/usr/bin/env bash
# glicko2 1.2.2 (npm) and glicko2 2.1.0 (PyPI), ratings by Glicko-2, installed 2026-11.
# Guess: after `addResult` and `updateRatings()` a rating period is over, its results count once, and `updateRatings()` without new ones
#        is a period without games, in which deviations grow. The two packages agree, and where zero lies plays no part: 500
#        points more for all change nothing else.
# Seen:  in the package of npm the results stay: the second period counts those of the first again, and an empty one moves all
#        ratings as if they had played again. `updateRatings(matches)`, with an empty list as well, clears them first. In that of
#        PyPI the volatility depends on the distance from 1500: ten periods of wins give 0.06041 to
#        one who began at 1500 and 0.06000 at 2000, and 0.4 points less.
# Why it matters: a bot that adds results as they arrive and updates each night rates the first game as often as there are nights,
#        and looks plausible. Pass the matches to `updateRatings`; compare the two packages near 1500 alone.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check glicko2==2.1.0
cd "$folder"
npm install --silent --no-audit --no-fund glicko2@1.2.2
cat > periods.mjs <<'JS'
import assert from "node:assert";
import { Glicko2 } from "glicko2";

function season(results, update) {
  const system = new Glicko2({ tau: 0.5, rating: 1500, rd: 350, vol: 0.06 });
  const players = [system.makePlayer(), system.makePlayer()];
  for (const result of results) update(system, players, result);
  return players.map((player) => Math.round(player.getRating()));
}
const added = (...results) => season(results, (system, players, result) => {
  if (result !== null) system.addResult(...players, result);
  system.updateRatings();
});
const listed = (...results) => season(results, (system, players, result) => {
  system.updateRatings(result === null ? [] : [[...players, result]]);
});

for (const results of [[1], [1, null], [1, null, null], [1, 0]]) {
  console.log(`results ${JSON.stringify(results)}: added ${added(...results)}, listed ${listed(...results)}`);
}
assert.deepStrictEqual(added(1), listed(1));
assert.deepStrictEqual(listed(1, null), listed(1));
assert(added(1, null)[0] > added(1)[0] + 50 && added(1, null, null)[0] > added(1, null)[0], "it changed");
assert(added(1, 0)[0] > 1540 && listed(1, 0)[0] < 1460, "it changed");
JS
node periods.mjs
cat > base.mjs <<'JS'
import { Glicko2 } from "glicko2";
console.log(JSON.stringify([1500, 2000].map((base) => {
  const system = new Glicko2({ tau: 0.5 });
  const player = system.makePlayer(base, 60, 0.06);
  for (let period = 0; period < 10; period++) {
    system.updateRatings(Array.from({ length: 5 }, () => [player, system.makePlayer(base + 300, 60, 0.06), 1]));
  }
  return [player.getRating() - base, player.getVol()];
})));
JS
node base.mjs > npm.json
venv/bin/python - <<'PY'
import json

from glicko2 import Player


def won(base):
    player = Player(base, 60, 0.06)
    for _ in range(10):
        player.update_player([base + 300] * 5, [60] * 5, [1] * 5)
    return player.rating - base, player.vol


low, high = won(1500), won(2000)
there = json.load(open("npm.json"))
print("points won and volatility, begun at 1500 and at 2000: PyPI", low, high, "npm", there)
assert abs(there[0][0] - there[1][0]) < 1e-6 and abs(there[0][1] - there[1][1]) < 1e-9, "it changed"
assert round(low[1], 5) == 0.06041 and round(high[1], 5) == 0.06000 and low[0] - high[0] > 0.3, "it changed"
PY
