#!/usr/bin/env bash
# openai 3.57.0 (PyPI) and 6.49.0 (npm), streamed chat completions, installed 2026-11.
# Guess: a stream that ends without a finish_reason and without [DONE] (a proxy or a server that restarts closes it
#        properly) raises when it is read, since the reply is not whole; the helper that returns the final completion does
#        so at the latest.
# Seen:  both loops end as after a whole reply: "I vote not guilty" is "I vote not". The helper `stream()` raises in
#        JavaScript ("missing finish_reason for choice 0"), and in Python returns the half reply as the final completion.
#        An event "error" with only a message is handed out by both as a chunk without choices; with {"error": …} Python
#        raises.
# Why it matters: half an argument, or a verdict turned into its opposite, is published as what a model said. Look at the
#        last finish_reason: None means that the reply was cut.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-0}" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.57.0
(cd "$folder" && npm install --silent --no-audit --no-fund openai@6.49.0)
cat > "$folder/server.py" <<'PY'
import http.server
import json
import sys


def piece(text, reason=None):
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": reason}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return "data: " + json.dumps(head | {"choices": [choice]}) + "\n\n"


ENDS = {
    "whole": piece("guilty", "stop") + "data: [DONE]\n\n",
    "cut": "",
    "error": 'event: error\ndata: {"message": "overloaded"}\n\n',
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = (piece("I vote ") + piece("not ") + ENDS[body["model"]]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(text), text))

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(f"http://127.0.0.1:{server.server_port}/v1\n")
server.serve_forever()
PY
"$folder/venv/bin/python" "$folder/server.py" "$folder/address" & server=$!
for _ in $(seq 600); do [ -s "$folder/address" ] && break; sleep 0.1; done
export ADDRESS; ADDRESS=$(cat "$folder/address")
cat > "$folder/read.mjs" <<'JS'
import OpenAI from "openai";
import assert from "node:assert";
const client = new OpenAI({ baseURL: process.env.ADDRESS, apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "Your vote?" }];
async function loop(model) {
  let text = "", reason = null, bare = 0;
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
    if (!chunk.choices) { bare += 1; continue; }
    text += chunk.choices[0].delta.content; reason = chunk.choices[0].finish_reason;
  }
  return [text, reason, bare];
}
const final = (model) => client.chat.completions.stream({ model, messages }).finalChatCompletion()
  .then((made) => made.choices[0].message.content, (error) => `raised: ${error.message}`);
for (const model of ["whole", "cut", "error"]) console.log("JavaScript", model, await loop(model), "| final:", await final(model));
assert.deepEqual(await loop("whole"), ["I vote not guilty", "stop", 0]);
assert.deepEqual(await loop("cut"), ["I vote not ", null, 0], "it changed");
assert.deepEqual(await loop("error"), ["I vote not ", null, 1], "it changed");
assert.match(await final("cut"), /missing finish_reason/);
JS
node "$folder/read.mjs"
"$folder/venv/bin/python" - <<'PY'
import os

import openai

client = openai.OpenAI(base_url=os.environ["ADDRESS"], api_key="none", max_retries=0)
MESSAGES = [{"role": "user", "content": "Your vote?"}]


def loop(model):
    text, reason, bare = "", None, 0
    for chunk in client.chat.completions.create(model=model, messages=MESSAGES, stream=True):
        if not chunk.choices:
            bare += 1
            continue
        text, reason = text + chunk.choices[0].delta.content, chunk.choices[0].finish_reason
    return text, reason, bare


def final(model):
    with client.chat.completions.stream(model=model, messages=MESSAGES) as stream:
        choice = stream.get_final_completion().choices[0]
    return choice.message.content, choice.finish_reason


for model in ("whole", "cut", "error"):
    print("Python", model, loop(model), "| final:", final(model) if model != "error" else "-")
assert loop("whole") == ("I vote not guilty", "stop", 0)
assert loop("cut") == ("I vote not ", None, 0), "it changed"
assert loop("error") == ("I vote not ", None, 1), "it changed"
assert final("cut") == ("I vote not ", None), "it changed"
PY
