#!/usr/bin/env bash
# opentelemetry-instrumentation-anthropic 0.62.4 (OpenLLMetry's traces of model calls), openinference-instrumentation-anthropic
# 3.1.0, anthropic 2.14.0, installed 2026-11: tokens of a streamed reply.
# Guess: both write the usage that the stream ends with: the API counts up, and each `message_delta` gives the total so far.
# Seen:  OpenInference does. OpenLLMetry adds all counts that pass by, the one of `message_start` included: a reply of 50 tokens
#        whose stream says 1, 40 and 50 has 91 output tokens, and the usual 1 and 5 make 6. Not streamed, both say 5. The
#        tokens of the prompt, cached ones included, are equal.
# Why it matters: costs and limits from traces count more than the bill, for streams alone, and the more often the usage is
#        reported on the way (tools of the server, long thinking) the more: an agent that streams looks dearer than
#        the same agent without.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-instrumentation-anthropic==0.62.4 \
    openinference-instrumentation-anthropic==3.1.0 anthropic==2.14.0 opentelemetry-sdk==1.45.2
cat > "$folder/traced.py" <<'PY'
import importlib
import json
import sys

import anthropic
import httpx2
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
    "content": [{"type": "text", "text": "Not guilty"}],
}


def usage(count):
    return {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000, "output_tokens": count}


def stream(counts):
    first, *others = counts
    yield {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None, "usage": usage(first)}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Not guilty"}}
    yield {"type": "content_block_stop", "index": 0}
    for count in others:
        yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage(count)}
    yield {"type": "message_stop"}


def tokens(counts, streamed):
    """What a span says of the prompt and of the reply."""
    def reply(request):
        if not streamed:
            return httpx2.Response(200, json={**MESSAGE, "usage": usage(counts[-1])})
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream(counts))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(reply)))
    question = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Your verdict?"}]}
    if streamed:
        with client.messages.stream(**question) as answer:
            assert answer.get_final_message().usage.output_tokens == counts[-1]
    else:
        client.messages.create(**question)
    [span] = exporter.get_finished_spans()
    exporter.clear()
    said = span.attributes
    return [
        said.get("gen_ai.usage.input_tokens", said.get("llm.token_count.prompt")),
        said.get("gen_ai.usage.output_tokens", said.get("llm.token_count.completion")),
    ]


exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
importlib.import_module(sys.argv[1]).AnthropicInstrumentor().instrument(tracer_provider=provider)
print(json.dumps([tokens([1, 5], False), tokens([1, 5], True), tokens([1, 40, 50], True)]))
PY
"$folder/venv/bin/python" - "$folder/traced.py" <<'PY'
import json
import subprocess
import sys

SEEN = {"openinference": [[3210, 5], [3210, 5], [3210, 50]], "opentelemetry": [[3210, 5], [3210, 6], [3210, 91]]}
for library, expected in SEEN.items():
    command = [sys.executable, "-W", "ignore", sys.argv[1], f"{library}.instrumentation.anthropic"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{library}: a reply of 5 {found[0]}, streamed {found[1]}, one of 50 in three counts {found[2]}")
    assert found == expected, "it changed"
PY
