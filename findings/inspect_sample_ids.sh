#!/usr/bin/env bash
# inspect-ai 0.3.285 (writes and reads logs of evaluations), installed 2026-11.
# Guess: a log with the samples 1 and "1" (its ids are whole numbers or texts) keeps both, or is refused; and both of its
#        formats, .eval and .json, give the same samples back.
# Seen:  .json keeps both. .eval keeps the last one alone, without a warning, while its header still counts two: the name
#        of a sample's file does not say what kind its id is.
# Why it matters: a dataset that was joined from two sources loses samples by the choice of the format. Write ids as texts
#        that differ.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

IDS = (1, "1")
log = {
    "status": "success",
    "eval": {"created": "2026-01-01T00:00:00+00:00", "task": "joined", "dataset": {}, "model": "none/none", "config": {}},
    "results": {"total_samples": 2, "completed_samples": 2},
    "samples": [
        {"id": identifier, "epoch": 1, "input": f"question {number}", "target": "", "messages": []}
        for number, identifier in enumerate(IDS, 1)
    ],
}
seen = {}
for kind in ("json", "eval"):
    write_eval_log(EvalLog.model_validate(log), f"log.{kind}")
    read = read_eval_log(f"log.{kind}")
    seen[kind] = [(sample.id, sample.input) for sample in read.samples]
    print(f"{kind:5}", "says", read.results.total_samples, "samples, has", seen[kind])
assert seen["json"] == [(1, "question 1"), ("1", "question 2")], seen
assert seen["eval"] == [("1", "question 2")], "the format .eval keeps both now"
PY
