#!/usr/bin/env bash
# bagit 1.9.0 (packages of files with checksums, for archives), installed 2026-11: descriptions of several lines.
# Guess: a description with line breaks is written as folded lines, which the format has (RFC 8493), or with a space for each
#        break; the words stay apart.
# Seen:  breaks are removed and nothing put in their place, "Seats: 1" and "2 rounds" are "Seats: 12 rounds"; empty lines
#        too. A break with a space after it is right by accident. `bag.info` says the same as the file, so
#        no later look shows it; the bag is valid. Reading folded lines is right, and saving joins them into one.
# Why it matters: abstracts and rules of an archived season are given line by line; numbers grow together, and a package that
#        is kept for decades is made once. Join the lines with a space, or give a list: each part is then a line of its own.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check bagit==1.9.0
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from pathlib import Path
from tempfile import mkdtemp

import bagit


def bag(description):
    folder = Path(mkdtemp(dir="."))
    (folder / "events.jsonl").write_text("{}\n")
    made = bagit.make_bag(str(folder), {"External-Description": description})
    written = [line for line in (folder / "bag-info.txt").read_text().splitlines() if line.startswith("External-Description: ")]
    read = bagit.Bag(str(folder))
    assert read.is_valid() and read.info["External-Description"] == made.info["External-Description"], "it changed"
    return folder, [line.removeprefix("External-Description: ") for line in written]


for description, expected in (
    ("Seats: 1\n2 rounds", ["Seats: 12 rounds"]),
    ("Season one\n\nAgents play", ["Season oneAgents play"]),
    ("Season one\r\nAgents play", ["Season oneAgents play"]),
    ("Season one\n Agents play", ["Season one Agents play"]),
    (["Season one", "Agents play"], ["Season one", "Agents play"]),
):
    folder, written = bag(description)
    print(f"{description!r} -> {written}")
    assert written == expected, "it changed"

folder, _ = bag("X")
info = folder / "bag-info.txt"
info.write_text(info.read_text().replace("X", "Season one\n Agents play"))
read = bagit.Bag(str(folder))
read.save()
print("folded lines:", read.info["External-Description"], "| saved:", "Season one Agents play" in info.read_text())
assert read.info["External-Description"] == "Season one Agents play" and "Season one Agents play" in info.read_text(), "it changed"
PY
