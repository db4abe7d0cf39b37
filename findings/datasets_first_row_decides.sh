#!/usr/bin/env bash
# datasets 5.2.0 (PyPI; data for training and evaluation), installed 2026-12: events of several types made into a data set.
# Guess: rows with different keys have a column for each key, null where a row lacks it, as in a table of pandas and as with the same rows in a file;
#        or they are refused.
# Seen:  `Dataset.from_list` and `from_generator` take the keys of the first row: of a log whose last event alone has a `winner`, they make
#        no column `winner`, and do not warn. In the opposite order it is there. A `map` whose function adds a key to some rows loses it unless it adds
#        it to the first. `from_pandas`, `load_dataset("json", …)`, `add_item` and `concatenate_datasets` keep it. A time with its
#        zone stays a text in the two, and in `load_dataset` it is the time in UTC without a zone.
# Why it matters: the first event of a game names its seats and the last one its winner: a published data set that was made from the log has no
#        results. Give `features`, or give each event all keys.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check datasets==5.2.0
cd "$folder"
export HF_HOME="$folder/home" HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1
venv/bin/python -W ignore - <<'PY'
import json
from pathlib import Path

import pandas
from datasets import Dataset, concatenate_datasets, load_dataset

log = [
    {"type": "start", "at": "2026-12-01T10:00:00+09:00"},
    {"type": "vote", "at": "2026-12-01T10:00:05+09:00", "seat": 1},
    {"type": "end", "at": "2026-12-01T10:00:09+09:00", "winner": "kim"},
]
Path("log.jsonl").write_text("".join(json.dumps(event) + "\n" for event in log))


def shown(name, dataset):
    print(f"{name}: columns {dataset.column_names}, last row {dataset[len(dataset) - 1]}")
    return sorted(dataset.column_names)


first, every = ["at", "type"], ["at", "seat", "type", "winner"]
assert shown("from_list", Dataset.from_list(log)) == first, "it changed"
assert shown("from_list, last event first", Dataset.from_list(log[::-1])) == ["at", "type", "winner"], "it changed"
assert shown("from_generator", Dataset.from_generator(lambda: iter(log), cache_dir="generated")) == first, "it changed"
assert shown("from_pandas", Dataset.from_pandas(pandas.DataFrame(log))) == every
loaded = load_dataset("json", data_files="log.jsonl", split="train", cache_dir="loaded")
assert shown("load_dataset", loaded) == every
assert shown("concatenate_datasets", concatenate_datasets([Dataset.from_list([event]) for event in log])) == every

seats = Dataset.from_list([{"seat": 1}, {"seat": 2}])
assert shown("add_item", seats.add_item({"seat": 3, "winner": "kim"})) == ["seat", "winner"]
assert shown("map", seats.map(lambda row: {"won": True} if row["seat"] == 2 else {})) == ["seat"], "it changed"

times = Dataset.from_list(log)["at"][0], loaded["at"][0].isoformat()
print("the first time:", *times)
assert times == ("2026-12-01T10:00:00+09:00", "2026-12-01T01:00:00"), "it changed"
PY
