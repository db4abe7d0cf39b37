#!/usr/bin/env bash
# label-studio-sdk 2.1.2 (people label texts; its converter writes their answers as CSV and short JSON), installed 2026-11.
# Guess: a column holds one kind of value: the chosen ones as a list where several may be chosen, a rating as a number; the data
#        of the task stays beside the answers; each task has a row.
# Seen:  one chosen value is a text, several are {"choices": [...]} in the same column, and a rating of 3 is [{"rating": 3}]. A
#        column of the task with the name of a question, or `annotator`, is replaced by the answer, and empty where there is
#        none. A task that its only person skipped is missing; one that is not labelled yet has a row. Nothing is reported.
# Why it matters: a reader that counts votes by value finds new values for each combination, answers of models are replaced by
#        those of the people who check them, and skipped cases look as if they had never been given out. Use the full JSON.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check label-studio-sdk==2.1.2
cd "$folder"
venv/bin/python -W ignore - <<'PY'
import csv
import json
import logging
from pathlib import Path

from label_studio_sdk.converter import Converter

logging.disable(logging.CRITICAL)
QUESTIONS = """<View><Text name="case" value="$text"/>
<Choices name="marks" toName="case" choice="multiple"><Choice value="fair"/><Choice value="late"/></Choices>
<Choices name="verdict" toName="case"><Choice value="guilty"/><Choice value="not guilty"/></Choices>
<Rating name="stars" toName="case"/></View>"""


def answer(kind, name, value):
    return {"from_name": name, "to_name": "case", "type": kind, "value": value}


def task(number, *answers, **more):
    data = {"text": f"Case {number}", "id": f"game-{number}", "annotator": "model-a", "verdict": "not guilty"}
    given = {"id": number * 10, "completed_by": 7, "result": list(answers), **more}
    return {"id": number, "data": data, "annotations": [given] if answers else []}


guilty, stars = answer("choices", "verdict", {"choices": ["guilty"]}), answer("rating", "stars", {"rating": 3})
tasks = [
    task(1, guilty, stars, answer("choices", "marks", {"choices": ["fair"]})),
    task(2, stars, answer("choices", "marks", {"choices": ["fair", "late"]})),
    task(3, guilty, was_cancelled=True),
    task(4),
]
Path("tasks.json").write_text(json.dumps(tasks))
for form in ("CSV", "JSON_MIN"):
    Converter(QUESTIONS, ".", download_resources=False).convert("tasks.json", form, form, is_dir=False)
with Path("CSV/result.csv").open() as file:
    rows = list(csv.DictReader(file))
short = json.loads(Path("JSON_MIN/result.json").read_text())
for row, other in zip(rows, short, strict=True):
    print({name: row[name] for name in ("text", "annotator", "verdict", "marks", "stars")})
    print("  short JSON:", {name: other.get(name) for name in ("marks", "stars")})
assert [row["text"] for row in rows] == ["Case 1", "Case 2", "Case 4"], "it changed"
assert [row["marks"] for row in rows] == ["fair", '{"choices":["fair","late"]}', ""], "it changed"
assert [row.get("marks") for row in short] == ["fair", {"choices": ["fair", "late"]}, None], "it changed"
assert [row["verdict"] for row in rows] == ["guilty", "", ""] and [row["annotator"] for row in rows] == ["7", "7", ""], "it changed"
assert rows[0]["stars"] == '[{"rating":3}]' and short[0]["stars"] == [{"rating": 3}], "it changed"
PY
