#!/usr/bin/env bash
# litellm 1.110.2 (one interface to many providers), installed 2026-11: the messages that reach Anthropic's and Gemini's API.
# Guess: the provider receives the texts that were given, in that order; what its form cannot hold is refused by name.
# Seen:  texts that no participant wrote arrive: an empty reply in the history becomes "[System: Empty message content sanitised to
#        satisfy protocol]" (Anthropic), a system message in the middle is announced by a note of LiteLLM's own as the user's
#        text (Anthropic) or moves before the first message (Gemini), a system message alone gets the user text "."
#        (Gemini; refused for Anthropic). The `name` of a speaker is dropped by both, and a blank after the words that a
#        reply should begin with by Anthropic's. OpenAI's own form is handed on as it is.
# Why it matters: in a game of several speakers, who said what is lost and the model reads a sentence that is in no record;
#        the same experiment behind two providers has two prompts. Write names into the texts, put the system message first,
#        leave out empty messages, and keep what the proxy sent.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" -W ignore - 2> /dev/null <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

requests = []
ANTHROPIC = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}],
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 1}}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP", "index": 0}],
          "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1, "totalTokenCount": 4}}


class Provider(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        requests.append(request)
        reply = json.dumps(GEMINI if "contents" in request else ANTHROPIC).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
import litellm  # noqa: E402


def sent(model, *messages):
    requests.clear()
    litellm.completion(model=model, messages=list(messages), api_key="none", max_tokens=9, num_retries=0,
                       api_base=f"http://127.0.0.1:{server.server_port}/x")
    request = requests[0]
    if "contents" in request:
        found = [(each["role"], *(part["text"] for part in each["parts"])) for each in request["contents"]]
        before = request.get("system_instruction", {}).get("parts", [])
    else:
        found = [(each["role"], *(part["text"] for part in each["content"])) for each in request["messages"]]
        before = request.get("system", [])
    assert "kim" not in json.dumps(request)
    print(model.split("/")[0], "| system:", [part["text"] for part in before], "|", found)
    return found


CLAUDE, GOOGLE = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"
A, B = {"role": "user", "name": "kim", "content": "A"}, {"role": "user", "name": "lee", "content": "B"}
HOST = {"role": "system", "content": "The host: vote now."}
assert sent(CLAUDE, A, B) == sent(GOOGLE, A, B) == [("user", "A", "B")]
empty = sent(CLAUDE, A, {"role": "assistant", "content": ""}, B)
assert empty[1] == ("assistant", "[System: Empty message content sanitised to satisfy protocol]"), "it changed"
middle = sent(CLAUDE, A, HOST, B)
assert len(middle) == 1 and len(middle[0]) == 5 and middle[0][2].startswith("Operator note"), "it changed"
assert sent(GOOGLE, A, HOST, B) == [("user", "A", "B")], "it changed"
assert sent(GOOGLE, HOST) == [("user", ".")], "it changed"
begun = {"role": "assistant", "content": "My vote: "}
assert sent(CLAUDE, A, begun)[1] == ("assistant", "My vote:") and sent(GOOGLE, A, begun)[1] == ("model", "My vote: ")
PY
