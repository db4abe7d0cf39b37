#!/usr/bin/env bash
# sortition-algorithms 0.12.15 (draws citizens' panels and juries with quotas), installed 2026-11: `random_number_seed`.
# Guess: with a seed in the settings the same people and quotas give the same panel, so that a draw can be announced and checked.
# Seen:  only with "legacy". With maximin, which is the default, leximin and nash the panel depends on Python's hash seed as well,
#        which is another in each process: six processes draw several panels of the same 40 people with the same seed. With
#        PYTHONHASHSEED fixed each draws the same one. Nothing in the report says so.
# Why it matters: who publishes the seed of a jury's draw cannot show that it was not drawn until it pleased, and a replayed
#        study has other jurors. Publish PYTHONHASHSEED too, or store the panel with the record.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sortition-algorithms==0.12.15
cd "$folder"
cat > draw.py <<'PY'
import logging
import sys

from sortition_algorithms import CSVStringDataSource, SelectionData, Settings, run_stratification

logging.disable(logging.CRITICAL)
people = "".join(f"p{number:02},{'fm'[number % 2]},{('young', 'middle', 'old')[number % 7 % 3]}\n" for number in range(40))
quotas = "feature,value,min,max\ngender,f,4,6\ngender,m,4,6\nage,young,3,4\nage,middle,3,4\nage,old,3,4\n"
settings = Settings(id_column="id", columns_to_keep=[], selection_algorithm=sys.argv[1], random_number_seed=11)
data = SelectionData(CSVStringDataSource(quotas, "id,gender,age\n" + people))
features, _ = data.load_features(10)
candidates, _ = data.load_people(settings, features)
success, panels, _ = run_stratification(features, candidates, 10, settings)
assert success
print(" ".join(sorted(panels[0])))
PY
venv/bin/python - <<'PY'
import os
import subprocess
import sys


def draw(algorithm, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    return subprocess.check_output([sys.executable, "-W", "ignore", "draw.py", algorithm], text=True, env=environment).splitlines()[-1]


for algorithm in ("legacy", "maximin", "leximin", "nash"):
    panels = [draw(algorithm, hash_seed) for hash_seed in range(1, 7)]
    print(f"{algorithm}: {len(set(panels))} panels of six processes, the first two {panels[:2]}")
    assert (len(set(panels)) == 1) == (algorithm == "legacy"), "it changed"
    assert draw(algorithm, 1) == panels[0], "it changed"
PY
