#!/usr/bin/env bash
# openskill 6.2.0 (PyPI) and 5.0.1 (npm; ratings of games with several sides), installed 2026-12: shared ranks in a game of equals.
# Guess: who is ahead in the ranks gains more than who is behind, and equals with one rank are equal afterwards, in both languages; a shared
#        second place is worth something between the second and the third.
# Seen:  with Plackett-Luce, the default of npm, seven newcomers of whom two share the second and two the fifth rank have 27.41, twice 25.54,
#        26.24 for the fourth: it passes the two who beat it. With the partial Bradley-Terry of npm the two who share the second rank have
#        22.36 and 27.64, so that one equals the winner and the other the last; in PyPI they are 26.05 and 26.32.
#        The full Bradley-Terry gives what was guessed.
# Why it matters: votes and eliminations end with shared ranks, and a board then honours those who came in behind; with the partial models the
#        order of the seats decides. Use a full model, or break ties by a measure of the game before rating.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openskill==6.2.0
npm install --silent --no-audit --no-fund openskill@5.0.1
cat > shared.py <<'PY'
import json

from openskill.models import BradleyTerryFull, BradleyTerryPart, PlackettLuce

RANKS = [1, 2, 2, 4, 5, 5, 7]
rated = {}
for name, kind in (("plackettLuce", PlackettLuce), ("bradleyTerryPart", BradleyTerryPart), ("bradleyTerryFull", BradleyTerryFull)):
    model = kind()
    rated[name] = [side[0].mu for side in model.rate([[model.rating()] for _ in RANKS], ranks=RANKS)]
print(json.dumps(rated))
PY
cat > shared.mjs <<'JS'
import { rate, rating } from "openskill";
import * as models from "openskill/models";

const rank = [1, 2, 2, 4, 5, 5, 7];
const rated = { default: undefined };
for (const name of ["default", "plackettLuce", "bradleyTerryPart", "bradleyTerryFull"]) {
  const options = name === "default" ? { rank } : { rank, model: models[name] };
  rated[name] = rate(rank.map(() => [rating()]), options).map(([{ mu }]) => mu);
}
console.log(JSON.stringify(rated));
JS
venv/bin/python shared.py > python.json
node shared.mjs > javascript.json
venv/bin/python - <<'PY'
import json

python, javascript = json.load(open("python.json")), json.load(open("javascript.json"))
for language, rated in (("PyPI", python), ("npm", javascript)):
    for name, means in rated.items():
        print(f"{language} {name}: ranks 1 2 2 4 5 5 7 have", *(f"{mean:.2f}" for mean in means))


def near(one, other):
    return all(abs(first - second) < 1e-6 for first, second in zip(one, other, strict=True))


assert javascript["default"] == javascript["plackettLuce"]
luce = python["plackettLuce"]
assert near(luce, javascript["plackettLuce"])
assert luce[0] > luce[3] > luce[1] == luce[2], "it changed"
part = javascript["bradleyTerryPart"]
assert near([part[1], part[2]], [part[6], part[0]]) and part[0] - part[6] > 5, "it changed"
part = python["bradleyTerryPart"]
assert 0.2 < part[2] - part[1] < 0.3, "it changed"
for rated in (python, javascript):
    full = rated["bradleyTerryFull"]
    assert full[0] > full[1] == full[2] > full[3] > full[4] == full[5] > full[6]
PY
