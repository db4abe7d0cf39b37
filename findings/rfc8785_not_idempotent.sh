#!/usr/bin/env bash
# rfc8785 0.1.4 (PyPI) and canonicalize 5.1.0 (npm), the usual libraries for canonical JSON (RFC 8785), installed 2026-11.
# Guess: a canonical document can be read and made canonical again without a change, in either language, as hash chains
#        and signatures over JSON suppose.
# Seen:  Python writes the float 1e20 as 100000000000000000000. Python's own `json` reads that as an integer, and
#        rfc8785 then raises IntegerDomainError. npm's library gives the same bytes again. So a verifier in Python
#        refuses a document that a signer in Python or JavaScript made.
# Why it matters: keep numbers below 2^53 out of floats and large counts in strings, or read with parse_int=float.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rfc8785==0.1.4
(cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund canonicalize@5.1.0 >/dev/null)
cat > "$folder/again.mjs" <<'JS'
import canonicalize from "canonicalize";
process.stdout.write(canonicalize(JSON.parse(process.argv[2])));
JS
export AGAIN="$folder/again.mjs"
"$folder/venv/bin/python" - <<'PY'
import json
import os
import subprocess

import rfc8785

once = rfc8785.dumps({"weight": 1e20}).decode()
print("Python, once:", once)
assert once == '{"weight":100000000000000000000}'
again = subprocess.run(["node", os.environ["AGAIN"], once], capture_output=True, text=True, check=True).stdout
print("JavaScript, again:", again)
assert again == once
try:
    rfc8785.dumps(json.loads(once))
except rfc8785.IntegerDomainError as error:
    print("Python, again:", type(error).__name__, error)
else:
    raise AssertionError("Python now takes its own output")
assert rfc8785.dumps(json.loads(once, parse_int=float)).decode() == once
PY
