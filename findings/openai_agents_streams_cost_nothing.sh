#!/usr/bin/env bash
# openai-agents 0.24.0 with openai (PyPI; runs agents against any server that has OpenAI's chat completions), installed 2026-12: tokens of a run.
# Guess: `usage` of a run says the same for `run` and `run_streamed` of one answer, as the library asks the server for what it needs; tokens that
#        are unknown are None, or the run says so.
# Seen:  streamed from a server of one's own, input and output are 0 tokens of 1 request, with the list of requests empty: the library does not
#        ask for the usage (`stream_options`) unless the address is OpenAI's. Not streamed, they are 120 and 7. With
#        `ModelSettings(include_usage=True)` both agree. Nothing is reported.
# Why it matters: the same agent costs nothing as soon as a page shows its words as they arrive, and a limit on its tokens never ends it. Set
#        `include_usage` wherever a model is served by somebody else.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai-agents==0.24.0
"$folder/venv/bin/python" - <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

ANSWER = {"id": "answer", "created": 1, "model": "local"}
USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}
asked = []


class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(request.get("stream_options"))
        if request.get("stream"):
            chunk = {**ANSWER, "object": "chat.completion.chunk"}
            parts = [({"role": "assistant", "content": "I vote "}, None), ({"content": "no."}, None), ({}, "stop")]
            chunks = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in parts]
            if (asked[-1] or {}).get("include_usage"):
                chunks.append({**chunk, "choices": [], "usage": USAGE})
            kind, body = "text/event-stream", "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": "I vote no."}, "finish_reason": "stop"}
            kind, body = "application/json", json.dumps({**ANSWER, "object": "chat.completion", "choices": [choice], "usage": USAGE})
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


async def used(settings, streamed, address):
    model = OpenAIChatCompletionsModel(model="local", openai_client=AsyncOpenAI(base_url=address, api_key="none"))
    agent = Agent(name="kim", model=model, model_settings=settings)
    if streamed:
        run = Runner.run_streamed(agent, "Vote.")
        async for _ in run.stream_events():
            pass
    else:
        run = await Runner.run(agent, "Vote.")
    assert run.final_output == "I vote no."
    usage = run.context_wrapper.usage
    found = (usage.requests, usage.input_tokens, usage.output_tokens, len(usage.request_usage_entries))
    print(f"streamed {streamed}, include_usage {settings.include_usage}: requests, input, output, entries {found}; asked {asked[-1]}")
    return found


async def main(address):
    set_tracing_disabled(True)
    right = (1, 120, 7, 1)
    assert await used(ModelSettings(), False, address) == right
    assert await used(ModelSettings(), True, address) == (1, 0, 0, 0) and asked[-1] is None, "it changed"
    assert await used(ModelSettings(include_usage=True), True, address) == right


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}/v1"))
PY
