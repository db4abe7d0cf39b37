#!/usr/bin/env bash
# jinja2 3.1.6 (set up as transformers does), minijinja 3.0.5 (PyPI; its Rust crate is in several model servers),
# @huggingface/jinja 0.5.11 (npm; transformers.js): the chat template of a model, installed 2026-11.
# Guess: a template that all three accept gives one prompt: all exist to render the templates that models are published with.
# Seen:  three prompts. In the list of tools minijinja writes <, >, & and ' as backslash-u escapes. @huggingface/jinja writes
#        1.0 as 1, changes whole numbers beyond 2^53, and prints the arguments of a call as JSON where Python prints a dict;
#        content that is null is "None" in two of them and empty in the third, also behind `default`; `unique` and
#        `capitalize` differ, and `length` counts UTF-16 units.
# Why it matters: one model answers otherwise in two servers, with the same weights, seed and messages. An experiment that
#        is repeated elsewhere needs the rendered prompt in its record, and descriptions of tools without & and <.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6 minijinja==3.0.5
(cd "$folder" && npm init --yes > /dev/null && npm install --silent --no-audit --no-fund @huggingface/jinja@0.5.11)
cat > "$folder/render.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { Template } from "@huggingface/jinja";
const { templates, values } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(Object.fromEntries(Object.entries(templates).map(([name, text]) => [name, new Template(text).render(values)]))));
JS
cd "$folder"
venv/bin/python - <<'PY'
import json
import subprocess

import minijinja
from jinja2.sandbox import ImmutableSandboxedEnvironment

VALUES = {
    "tools": [{"name": "look_up", "description": "Law & cases, don't guess", "limit": 1.0, "cap": 12345678901234567890}],
    "messages": [
        {"role": "user", "content": "배심원 👍"},
        {"role": "assistant", "content": None, "arguments": {"q": "lease"}},
    ],
}
TEMPLATES = {
    "description": "{{ tools[0].description | tojson }}",
    "limit": "{{ tools[0].limit | tojson }}",
    "cap": "{{ tools[0].cap | tojson }}",
    "arguments": "{{ messages[1].arguments }}",
    "null": "[{{ messages[1].content }}]",
    "null, default": "[{{ messages[1].content | default('x') }}]",
    "unique": "{{ ['A', 'a'] | unique | list | length }}",
    "capitalize": "{{ 'oLD kING' | capitalize }}",
    "length": "{{ '👍' | length }}",
    "loop": "{% for m in messages %}{{ loop.index }}:{{ m.role }} {% endfor %}",
}


def dumped(value, ensure_ascii=False, indent=None):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


python = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
python.filters["tojson"] = dumped
rust = minijinja.Environment(trim_blocks=True, lstrip_blocks=True)
node = json.loads(subprocess.run(["node", "render.mjs"], input=json.dumps({"templates": TEMPLATES, "values": VALUES}),
                                 capture_output=True, text=True, check=True).stdout)
seen = {name: (python.from_string(text).render(VALUES), rust.render_str(text, **VALUES), node[name])
        for name, text in TEMPLATES.items()}
for name, prompts in seen.items():
    print(f"{name:14}", *prompts, sep=" | ")
assert seen["loop"] == ("1:user 2:assistant ",) * 3
assert seen["description"] == ('"Law & cases, don\'t guess"', '"Law \\u0026 cases, don\\u0027t guess"', '"Law & cases, don\'t guess"')
assert seen["limit"] == ("1.0", "1.0", "1")
assert seen["cap"][:2] == ("12345678901234567890",) * 2 and seen["cap"][2] == "12345678901234567000"
assert seen["arguments"] == ("{'q': 'lease'}", "{'q': 'lease'}", '{"q": "lease"}')
assert seen["null"] == ("[None]", "[None]", "[]") and seen["null, default"] == ("[None]", "[None]", "[]")
assert seen["unique"] == ("1", "1", "2") and seen["length"] == ("1", "1", "2")
assert seen["capitalize"] == ("Old king", "Old king", "OLD kING")
PY
