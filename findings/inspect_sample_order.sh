#!/usr/bin/env bash
# inspect-ai 0.3.285 (writes and reads logs of evaluations), installed 2026-11.
# Guess: the samples of a log are read in the order in which they were written.
# Seen:  in another one, in both formats: sorted by id, ids that are texts as texts, so that "q10" comes before "q9". Whole
#        numbers are sorted as numbers.
# Why it matters: games or turns of an experiment change their order, and what is compared row by row with the source (a
#        table, a second log) is compared with other rows. Join by id, or use whole numbers.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check inspect-ai==0.3.285
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

EVAL = {"created": "2026-01-01T00:00:00+00:00", "task": "order", "dataset": {}, "model": "none/none", "config": {}}


def read(ids, kind):
    samples = [{"id": each, "epoch": 1, "input": "q", "target": "", "messages": []} for each in ids]
    log = {"status": "success", "eval": EVAL, "results": {"total_samples": len(ids)}, "samples": samples}
    write_eval_log(EvalLog.model_validate(log), f"log.{kind}")
    return [sample.id for sample in read_eval_log(f"log.{kind}").samples]


for kind in ("eval", "json"):
    texts, numbers = read(["q9", "q10", "q1"], kind), read([9, 10, 1], kind)
    print(f"{kind:5}", "written q9, q10, q1, read", texts, "written 9, 10, 1, read", numbers)
    assert texts == ["q1", "q10", "q9"], "the order of texts has changed"
    assert numbers == [1, 9, 10], "the order of numbers has changed"
PY
