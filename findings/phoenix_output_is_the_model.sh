#!/usr/bin/env bash
# arize-phoenix 20.26.1 (shows traces of model calls), installed 2026-11.
# Guess: a span in the form of OpenTelemetry's conventions for generative AI, with `gen_ai.output.messages`, has the
#        model's reply as its output.
# Seen:  its output is {"model": "…"}, the value of `gen_ai.response.model`, which the conventions recommend for every
#        span. The reply is only in the list of messages. Without that attribute the span has no output at all.
# Why it matters: the list of spans, a search over outputs, and evaluators that take `output.value` see the same text for
#        every call. Set `output.value` in the span as well: Phoenix keeps what is there.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check arize-phoenix==20.26.1
cd "$folder"
PHOENIX_WORKING_DIR="$folder" venv/bin/python -W ignore - <<'PY'
import json

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from phoenix.trace.otel import decode_otlp_span

REPLY = [{"role": "assistant", "parts": [{"type": "text", "content": "An answer."}], "finish_reason": "stop"}]


def shown(**more):
    """What Phoenix stores of a span that it receives."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(REPLY), **more}
    span = Span(trace_id=b"1" * 16, span_id=b"1" * 8, name="chat", start_time_unix_nano=1, end_time_unix_nano=2)
    span.attributes.extend(KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in attributes.items())
    found = decode_otlp_span(span).attributes
    reply = found["llm"]["output_messages"][0]["message"]["content"]
    return found.get("output", {}).get("value"), reply


model = {"gen_ai.response.model": "small-1"}
plain, without, own = shown(**model), shown(), shown(**model, **{"output.value": "An answer."})
print("with the model's name: ", plain)
print("without it:            ", without)
print("with its own output:   ", own)
assert plain == ('{"model": "small-1"}', "An answer."), "the output is no longer the model's name"
assert without == (None, "An answer.")
assert own == ("An answer.", "An answer.")
PY
